/* The evaluator's state in a canonical form.
 *
 * The walk visits everything that the code behind a loop's head may read, in an order that depends
 * only on the shape of the state. It refuses a state with objects in which something could change
 * unseen: such a loop is unrolled. */
#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/objects.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/numbers.h"
#include "frontend/values/rolled.h"
#include "frontend/values/rolled_internal.h"

#include <string.h>

/* ---- for value types and adapters (value.h) -------------------------------------------------- */

void roll_refuse(roll_walk *w, const char *what) {
  if (!w->refused) w->refused = what;
}

loom_value roll_scrub(const roll_walk *w) { return w->scrub; }

static void walk_counted(tracer *t, void *owner) {}

void roll_is_lent(roll_walk *w, const value *v) {
  lent_item *item = v->from;
  w->lent |= v->lent != 0;
  roll_token(w, v->lent);
  if (!v->lent || !item) return;
  for (; item->whole; item = item->whole)
    roll_token(w, (uint64_t)item->at);
  roll_pointer(w, item->of);
  roll_pointer(w, item->list);
  if (!roll_seen(w, item)) roll_whole(w, &item->index, item, walk_counted);
}

static void *walk_grow(roll_walk *w, void *array, uint32_t count, uint32_t *capacity, size_t size) {
  if (count < *capacity) return array;
  uint32_t bigger = *capacity ? 2 * *capacity : 256;
  void *grown = trace_alloc(w->t, bigger * size);
  if (!grown) return roll_refuse(w, "memory"), NULL;
  if (count) memcpy(grown, array, count * size);
  *capacity = bigger;
  return grown;
}

void roll_token(roll_walk *w, uint64_t token) {
  w->tokens = walk_grow(w, w->tokens, w->token_count, &w->token_capacity, sizeof *w->tokens);
  if (w->tokens) w->tokens[w->token_count++] = token;
}

void roll_pointer(roll_walk *w, const void *p) { roll_token(w, (uintptr_t)p); }

bool roll_seen(roll_walk *w, const void *object) {
  uintptr_t known = (uintptr_t)pointer_map_get(&w->seen, object);
  roll_token(w, known);
  if (known) return true;
  if (!trace_map_set(w->t, &w->seen, object, (void *)(uintptr_t)(w->seen.count + 1)))
    roll_refuse(w, "memory");
  return false;
}

static void walk_slot(roll_walk *w, roll_slot slot) {
  w->slots = walk_grow(w, w->slots, w->slot_count, &w->slot_capacity, sizeof *w->slots);
  if (slot.holder) slot.held = *slot.holder;
  if (w->slots) w->slots[w->slot_count++] = slot;
}

static void walk_type(roll_walk *w, const loom_type *type) {
  roll_token(w, (uint64_t)type->dtype << 8 | (uint64_t)type->rank);
  for (int i = 0; i < type->rank; i++)
    roll_token(w, (uint64_t)type->dims[i]);
}

void roll_node(roll_walk *w, loom_value *at, void *owner, void (*changed)(tracer *t, void *owner)) {
  roll_token(w, *at == LOOM_NO_VALUE);
  if (*at == LOOM_NO_VALUE) return;
  walk_type(w, loom_graph_type(trace_graph(w->t), *at));
  walk_slot(w, (roll_slot){.at = at, .owner = owner, .changed = changed, .node = *at});
}

/* ---- values ---------------------------------------------------------------------------------- */

static void walk_whole(roll_walk *w, roll_slot slot) {
  w->looped |= size_is_looped(w->t, slot.size);
  if (w->exact) return roll_token(w, (uint64_t)slot.size);
  roll_token(w, WALK_INT);
  slot.whole = true;
  walk_slot(w, slot);
}

void roll_whole(roll_walk *w, int64_t *number, void *owner,
                void (*changed)(tracer *t, void *owner)) {
  walk_whole(w, (roll_slot){.number = number, .owner = owner, .changed = changed, .size = *number});
}

void roll_exactly(roll_walk *w, value **holder) {
  w->exact++;
  roll_value(w, holder);
  w->exact--;
}

/* A known number of a library's may be another one after the next iteration: from here on it is one
 * of the graph. */
static bool walk_library_number(roll_walk *w, value **holder) {
  PyObject *o = (*holder)->object;
  for (const loom_adapter *const *a = loom_adapters(); *a; a++) {
    value *v = !object_is_scalar(o) && (*a)->walk_scalar ? (*a)->walk_scalar(w->t, o) : NULL;
    if (!v) continue;
    *holder = v;
    roll_value(w, holder);
    return true;
  }
  return false;
}

void roll_walk_const(roll_walk *w, value **holder) {
  value *v = *holder;
  PyObject *o = v->object;
  if (walk_library_number(w, holder)) return;
  if (PyFloat_CheckExact(o)) {
    roll_slot slot = {.holder = holder, .node = LOOM_NO_VALUE};
    double number = PyFloat_AS_DOUBLE(o);
    memcpy(&slot.bits, &number, sizeof number);
    roll_token(w, WALK_FLOAT);
    walk_slot(w, slot);
    return;
  }
  int overflow = 0;
  long long number = PyLong_CheckExact(o) ? PyLong_AsLongLongAndOverflow(o, &overflow) : 0;
  if (PyLong_CheckExact(o) && !overflow && !LOOM_STRIDE_IS_SYM(number))
    return walk_whole(w, (roll_slot){.holder = holder, .size = number});
  roll_pointer(w, v->type);
  roll_pointer(w, o);
}

/* A Python number that is known only when run. */
void roll_walk_number(roll_walk *w, value **holder) {
  value *v = *holder;
  if (number_is_size(v))
    return walk_whole(w, (roll_slot){.holder = holder, .size = v->number.size});
  loom_dtype dtype = loom_graph_type(trace_graph(w->t), v->number.node)->dtype;
  if (dtype == LOOM_F64) {
    roll_token(w, WALK_FLOAT);
  } else if (dtype == LOOM_I64 && w->merges && !w->exact) {
    roll_token(w, WALK_INT);
  } else {
    roll_pointer(w, v->type);
    roll_token(w, dtype);
  }
  walk_slot(w, (roll_slot){.holder = holder, .node = v->number.node});
}

void roll_value(roll_walk *w, value **holder) {
  value *v = *holder;
  if (w->refused) return;
  if (!v) return roll_token(w, WALK_NONE);
  if (v == w->own) {
    roll_token(w, WALK_OWN);
    if (w->own_seen++) return roll_refuse(w, "its iterator is used elsewhere too");
    return iter_walk_bases(w, v);
  }
  if (v->lent && !pointer_map_get(&w->seen, v)) roll_is_lent(w, v);
  if (v->type->walk_place) return v->type->walk_place(w, holder);
  roll_pointer(w, v->type);
  if (roll_seen(w, v)) return;
  roll_pointer(w, v->source);
  if (!v->type->walk) return roll_refuse(w, v->type->name);
  v->type->walk(w, v);
}

void roll_walk_any_list(roll_walk *w, value *v) { loom_loops->walk_list(w, v); }
