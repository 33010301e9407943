/* The evaluator's whole state in the canonical form of values/walk.c: what the code behind a loop's
 * head can see. */
#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/loops/internal.h"
#include "frontend/values/live.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"

/* The locals that the code behind this place can see; NULL: all. A caller goes on behind its call,
 * or in a handler for it. */
static const bool *walk_live(const roll_walk *w, const frame *f) {
  if (!w->head) return NULL;
  return f == w->head ? w->live : live_of(w->t, f->code, f->pc - 1);
}

static void walk_frames(roll_walk *w, const frame *f) {
  for (; f; f = f->back) {
    value *names = f->names, *kwnames = f->kwnames;
    const bool *live = walk_live(w, f);
    if (f->generator || f->thrown || f->handled) roll_refuse(w, "a generator");
    roll_pointer(w, f->code);
    roll_token(w, (uint64_t)f->pc << 32 | (uint32_t)f->sp);
    for (int32_t i = 0; i < f->code->locals; i++) {
      if (live && !live[i])
        roll_token(w, WALK_DEAD);
      else
        roll_value(w, &f->locals[i]);
    }
    for (int32_t i = 0; i < f->sp; i++)
      roll_value(w, &f->stack[i]);
    roll_value(w, &names);
    roll_value(w, &kwnames);
  }
}

void roll_walk_state(roll_walk *w) {
  tracer *t = w->t;
  walk_frames(w, t->frame);
  if (t->raised || (t->handled && value_is_made_exception(t->handled)))
    roll_refuse(w, "an exception being handled");
  roll_pointer(w, t->handled ? t->handled->object : NULL);
  if (t->known.made.count) roll_refuse(w, "a class made in the function");
  if (context_is_set(t)) roll_refuse(w, "a context variable that is set");
  shadow_walk(w, t);
  roll_token(w, t->flags.ignored);
  roll_token(w, t->late.symbols);
  roll_token(w, t->late.count);
  for (const loom_adapter *const *a = loom_adapters(); *a; a++)
    if ((*a)->walk) (*a)->walk(t, w);
  roll_walk_tails(w);
}
