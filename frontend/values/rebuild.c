/* How a value becomes a result: its recipe. When a value is needed twice, both are one object: the
 * recipe is shared from then on. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/rolled.h"
#include "frontend/values/rolled_internal.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

/* The recipe of a value that is being rebuilt right now: it holds itself. */
static const char rebuild_busy;

recipe *trace_share(tracer *t, recipe *r) {
  capture *c = t->capture;
  uint32_t i = 0;
  while (i < c->shared_count && c->shared[i] != r)
    i++;
  if (i == c->shared_count) {
    if (!trace_grow(t, &c->shared, c->shared_count, &t->tables->shared_capacity, sizeof *c->shared))
      return NULL;
    c->shared[c->shared_count++] = r;
  }
  recipe *again = trace_recipe(t, RECIPE_SHARED);
  if (again) again->number = i;
  return again;
}

recipe *trace_rebuild(tracer *t, value *v) {
  if (trace_pending(t) || !trace_goes_deeper(t)) return NULL;
  recipe *real = v->lent ? lent_rebuild(t, v) : NULL;
  if (real || trace_pending(t)) return trace_pending(t) ? NULL : real;
  if (v->lent && loom_loops->lent(t, v)) return NULL;
  if (!(v = value_looked_at(t, v))) return NULL;
  recipe *r = pointer_map_get(&t->known.rebuilt, v);
  if (r == (const void *)&rebuild_busy)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a result that holds itself");
  if (r && (r->kind == RECIPE_CONST || r->kind == RECIPE_SOURCE)) return r;
  if (r) return trace_share(t, r);
  if (!v->type->rebuild)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a %s is returned", v->type->name);
  if (!trace_map_set(t, &t->known.rebuilt, v, (void *)&rebuild_busy)) return NULL;
  r = v->type->rebuild(t, v);
  if (!r && !trace_pending(t))
    trace_break(t, BREAK_UNSUPPORTED_TYPE, "a %s is returned", v->type->name);
  return r && trace_map_set(t, &t->known.rebuilt, v, r) && !trace_pending(t) ? r : NULL;
}

recipe *trace_rebuild_items(tracer *t, recipe *r, value *v) {
  r->items = calloc((size_t)v->seq.count + 1, sizeof *r->items);
  if (!r->items) return trace_fail(t);
  for (Py_ssize_t i = 0; i < v->seq.count; i++) {
    if (!(r->items[i] = trace_rebuild(t, v->seq.items[i]))) return NULL;
    r->number |= r->items[i]->kind == RECIPE_ROWS;
    r->count++;
  }
  return r;
}

recipe *trace_rebuild_const(tracer *t, PyObject *object) {
  recipe *r = object ? trace_recipe(t, RECIPE_CONST) : NULL;
  if (r)
    r->object = object;
  else
    Py_XDECREF(object);
  return r ? r : trace_pending(t) ? NULL : trace_fail(t);
}

recipe *trace_rebuild_call(tracer *t, PyObject *function, value *const *args, Py_ssize_t count) {
  recipe *called = trace_rebuild_const(t, function),
         *r = called ? trace_recipe(t, RECIPE_CALL) : NULL;
  if (!r || !(r->items = calloc((size_t)count + 1, sizeof *r->items))) return trace_fail(t);
  r->items[r->count++] = called;
  for (Py_ssize_t i = 0; i < count; i++) {
    recipe *item = trace_rebuild(t, args[i]);
    if (!item) return NULL;
    r->items[r->count++] = item;
  }
  return r;
}
