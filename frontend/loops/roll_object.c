/* Object identity of numbers behind a loop that is captured once.
 *
 * A loop-carried float or int is a value of the graph, and each would be an object of its own
 * behind the loop. In Python `b = a` makes two names aliases of one object, and `c = x` keeps the
 * caller's object. So numbers that alias each other at the end of the hidden iteration alias each
 * other behind the loop, and an object that the iteration has not made stays that object.
 *
 * This has to be true of every iteration, not only of the hidden one. Numbers that existed before
 * the iteration (`previous = x`) may alias each other in some iterations only. So where two such
 * numbers are still held at the end of the iteration, they have to be two objects before it and
 * after it; then, by induction, they are two objects in every iteration. Items of lists that were
 * lent know which object they stand for (values/lent.c). */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/loops/internal.h"
#include "frontend/size/size.h"
#include "frontend/values/rolled.h"

const void *roll_object(const value *v) {
  if (value_is_number(v)) return v;
  if (!value_is_const(v)) return NULL;
  PyObject *o = v->object;
  if (PyFloat_CheckExact(o)) return o;
  int overflow = 0;
  long number = PyLong_CheckExact(o) ? PyLong_AsLongAndOverflow(o, &overflow) : 0;
  return PyLong_CheckExact(o) && (overflow || number < -5 || number > 256) ? o : NULL;
}

uint32_t roll_object_slot(roll_walk *w, const value *v) {
  const void *object = roll_object(v);
  for (; w->numbered < w->slot_count; w->numbered++) {
    const roll_slot *slot = &w->slots[w->numbered];
    const void *key = slot->holder ? roll_object(slot->held) : NULL;
    if (key && !pointer_map_get(&w->numbers, key) &&
        !trace_map_set(w->t, &w->numbers, key, (void *)(uintptr_t)(w->numbered + 1)))
      roll_refuse(w, "memory");
  }
  return object ? (uint32_t)(uintptr_t)pointer_map_get(&w->numbers, object) : 0;
}

/* The value that a slot had at the begin of the hidden iteration. */
static value *object_begin(const roll *r, uint32_t i) {
  const roll_slot *slot = &r->before->slots[i];
  return r->carried[i] ? slot->hidden : slot->held;
}

static bool object_equal(const value *a, const value *b) {
  const void *one = roll_object(a);
  return one && one == roll_object(b);
}

bool roll_objects_hold(tracer *t, const roll *r, roll_walk *now) {
  uint32_t *kept = trace_alloc(t, sizeof *kept * (now->slot_count + 1u)), count = 0;
  if (!kept) return false;
  for (uint32_t i = 0; i < now->slot_count; i++) {
    const roll_slot *slot = &r->before->slots[i];
    if (!slot->holder || slot->held->lent || !roll_object_slot(now, object_begin(r, i))) continue;
    if (r->carried[i] && slot->held->source) return false; /* of the caller's */
    kept[count++] = i;
  }
  for (uint32_t a = 0; a < count; a++)
    for (uint32_t b = 0; b < count && r->carried[kept[a]]; b++) {
      const uint32_t i = kept[a], j = kept[b];
      if (i != j && (object_equal(r->before->slots[i].held, r->before->slots[j].held) ||
                     object_equal(now->slots[i].held, now->slots[j].held)))
        return false;
    }
  return true;
}

/* What slot i holds behind the loop, when that is no result of it: an object that another slot
 * holds, or one that the loop has not made; else NULL. */
static value *object_known(const roll *r, roll_walk *now, uint32_t i) {
  roll_slot *slot = &now->slots[i];
  if (!slot->holder || slot->held->lent) return NULL;
  uint32_t first = roll_object_slot(now, slot->held);
  if (first && first - 1 < i) return *now->slots[first - 1].holder;
  bool made = !slot->held->source && (slot->whole || !value_is_const(slot->held));
  return made ? NULL : slot->held;
}

bool roll_objects_leave(tracer *t, const roll *r, roll_walk *now, const loom_value *results,
                        uint32_t *used) {
  for (uint32_t i = 0; i < now->slot_count; i++) {
    roll_slot *slot = &now->slots[i];
    int64_t number;
    if (!r->carried[i]) continue;
    loom_value result = slot->whole ? LOOM_NO_VALUE : results[(*used)++];
    value *known = object_known(r, now, i);
    if (known) {
      *slot->holder = known;
    } else if (!slot->whole) {
      if (!roll_put(t, slot, result)) return false;
    } else if (!size_at_iteration(t, r->bases[i], r->steps[i], r->count, &number) ||
               !roll_put_whole(t, slot, number)) {
      return false;
    }
  }
  return true;
}
