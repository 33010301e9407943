/* Code that is followed now and runs later, as the backward() of a torch.autograd.Function does: it
 * may change nothing that was there before it, since the change would come too early. What it has
 * read may not change behind it either: later it would read something else. */
#include "frontend/base/base.h"
#include "frontend/captured/objects.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/live.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/values.h"

bool aside_begin(tracer *t) {
  if (t->kept->never_aside) return false;
  t->live.asides++;
  t->live.aside++;
  return true;
}

void aside_end(tracer *t) { t->live.aside--; }

/* Was it there before the code that is followed for later? */
static bool aside_is_older(const tracer *t, const value *v) {
  return v->source || v->aside < t->live.aside || (v->object && !value_is_iterator(v));
}

static void aside_keep(tracer *t, value *v) {
  trace_live *live = &t->live;
  if (v->source || value_is_tuple(v) || !(value_is_container(v) || value_is_instance(v))) return;
  live->aside_made =
      trace_more(t, live->aside_made, live->aside_made_count, &live->aside_made_room, sizeof v);
  if (!live->aside_made) return (void)trace_fail(t);
  live->aside_made[live->aside_made_count++] = v;
}

static void aside_see_all(tracer *t, value *v) {
  if (!v || v->seen_aside || !trace_goes_deeper(t)) return;
  v->seen_aside = true;
  aside_keep(t, v);
  if (value_is_container(v) && !(value_is_dict(v) && dict_live(v)))
    for (Py_ssize_t i = 0; i < v->seq.count; i++)
      aside_see_all(t, v->seq.items[i]);
  if (value_is_instance(v)) aside_see_all(t, object_attributes(v));
  if (v->type->kinds & VALUE_IS_BOUND) aside_see_all(t, v->method.self);
  if (value_is_cell(v)) aside_see_all(t, v->cell.content);
}

void aside_see(tracer *t, value *v) {
  if (!v || !t->live.aside || !aside_is_older(t, v)) return;
  trace_read_aside(t, v->source);
  if (value_is_cell(v) && v->cell.content) trace_read_aside(t, v->cell.content->source);
  aside_see_all(t, v);
}

value *aside_seen(tracer *t, value *v) { return aside_see(t, v), v; }

void aside_see_variable(tracer *t, PyObject *name) {
  if (t->live.aside) trace_map_set(t, &t->live.aside_names, name, name);
}

/* Capture starts again, and follows no code for later. Always false. */
static bool aside_refused(tracer *t) {
  t->kept->never_aside = true;
  if (t->state == TRACE_GOING) t->state = TRACE_RESTART;
  return false;
}

static bool aside_changes(tracer *t) {
  return trace_break(t, BREAK_SIDE_EFFECT,
                     "code that runs later, as a backward() does, changes an "
                     "object that it has not made") != NULL;
}

/* ---- code whose changes are watched ---- */

struct live_span {
  struct live_span *around;
  uint64_t changes;   /* trace_live.changes where it began */
  uint32_t values;    /* trace_live.values there */
  bool changes_older; /* it has changed something that the function had made before */
};

bool live_span_begin(tracer *t) {
  struct live_span *span = trace_alloc(t, sizeof *span);
  if (!span) return trace_fail(t), false;
  *span = (struct live_span){
      .around = t->live.spans, .changes = t->live.changes, .values = t->live.values};
  t->live.spans = span;
  return true;
}

bool live_span_end(tracer *t) {
  const struct live_span *span = t->live.spans;
  t->live.spans = span->around;
  return span->changes_older || span->changes != t->live.changes;
}

static void spans_see_change(tracer *t, const value *v) {
  for (struct live_span *span = t->live.spans; span; span = span->around)
    if (v->born < span->values) span->changes_older = true;
}

/* ---- what is asked before a change ---- */

bool aside_may_change(tracer *t, const value *v) {
  spans_see_change(t, v);
  if (!t->live.asides) return true;
  if (v->seen_aside && !t->live.aside) return aside_refused(t);
  return !t->live.aside || !(v->seen_aside || aside_is_older(t, v)) || aside_changes(t);
}

bool aside_may_assign(tracer *t, PyObject *object, PyObject *name, bool attribute) {
  if (!t->live.asides) return true;
  if (t->live.aside) return aside_changes(t);
  const value *v = attribute ? pointer_map_get(&t->known.wrapped, object) : NULL;
  bool seen = attribute ? PyType_Check(object) || (v && v->seen_aside)
                        : pointer_map_get(&t->live.aside_names, name) != NULL;
  return !seen || aside_refused(t);
}

bool aside_stays(tracer *t) {
  for (uint32_t i = 0; i < t->live.aside_made_count; i++)
    if (pointer_map_get(&t->known.rebuilt, t->live.aside_made[i])) return aside_refused(t);
  return true;
}
