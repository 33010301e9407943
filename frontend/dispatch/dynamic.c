/* What is learnt of sizes from a call that no version fits. If a version fails because of some
 * sizes alone, these sizes change from call to call: they become symbols of the next capture. */
#include "frontend/base/base.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/learnt.h"
#include "frontend/dispatch/callable_internal.h"

#include <inttypes.h>

/* An int that is compared by value, now another int. */
static bool dynamic_is_int(const guard *g, PyObject *object, int64_t *before, int64_t *now) {
  int overflow = 0, later = 0;
  if (g->kind != GUARD_NUMBER || !PyLong_CheckExact(g->object) || !PyLong_CheckExact(object))
    return false;
  *before = PyLong_AsLongLongAndOverflow(g->object, &overflow);
  *now = PyLong_AsLongLongAndOverflow(object, &later);
  return !overflow && !later;
}

/* A float or a library's number that is compared by value, now another one. Those of arguments are
 * miss.c's. */
static bool dynamic_is_float(const guard *g, PyObject *object) {
  if (g->kind == GUARD_CUSTOM) return g->adapter->number_differs(g->payload, object);
  return g->kind == GUARD_NUMBER && PyFloat_CheckExact(g->object) && PyFloat_CheckExact(object);
}

/* Does the guard fail for nothing but sizes? */
static bool dynamic_is_size(const guard *g, PyObject *const *slots) {
  uint32_t sizes, strides;
  int64_t before, now;
  if (g->kind == GUARD_SIZE) return true;
  if (!g->source || (g->kind != GUARD_ARRAY && g->kind != GUARD_NUMBER && g->kind != GUARD_CUSTOM))
    return false;
  PyObject *object = source_read(g->source, slots);
  bool is =
      object && (g->kind == GUARD_ARRAY
                     ? g->adapter->sizes_differ(object, g->payload, &sizes, &strides)
                     : dynamic_is_int(g, object, &before, &now) || dynamic_is_float(g, object));
  Py_XDECREF(object);
  return is;
}

static void dynamic_log(const callable *c, const size_fact *f) {
  static const char *const fields[] = {[SIZE_OF_DIM] = ".shape", [SIZE_OF_STRIDE] = ".strides"};
  char where[32] = "";
  if (!(loom_log_mask & LOOM_LOG_DYNAMIC)) return;
  if (f->field == SIZE_OF_FLOAT) {
    loom_log(LOOM_LOG_DYNAMIC, "%U: the float %s changes: compiled for all values",
             c->function->func_qualname, f->name);
    return;
  }
  if (f->field != SIZE_OF_INT) snprintf(where, sizeof where, "%s[%d]", fields[f->field], f->axis);
  PyObject *advice =
      f->field == SIZE_OF_DIM
          ? PyUnicode_FromFormat(
                "; frameloom.mark_dynamic(%s, %d) before the first call would have "
                "done so at once",
                f->name, (int)f->axis)
          : PyUnicode_FromString("; compile(..., dynamic=True) would have done so at once");
  if (advice)
    loom_log(LOOM_LOG_DYNAMIC, "%U: %s%s was %lld and is %lld: compiled for all values%U",
             c->function->func_qualname, f->name, where, (long long)f->before, (long long)f->now,
             advice);
  Py_XDECREF(advice);
  error_drop();
}

static void dynamic_mark(callable *c, const source *s, size_field field, int axis, int64_t before,
                         int64_t now) {
  size_fact *f = size_table_get(&c->numbers.sizes, s, field, axis);
  if (f && f->field == SIZE_OF_FLOAT && f->state == SIZE_PINNED) {
    f->state = SIZE_SYMBOL; /* what asks for its value breaks the graph from now on */
    f->apart = true;
  }
  if (!f || f->state != SIZE_STATIC || (field == SIZE_OF_DIM && now < 2)) return;
  f->state = SIZE_SYMBOL;
  f->before = before;
  f->now = now;
  for (uint32_t i = 0; i < c->numbers.sizes.count; i++) {
    const size_fact *g = &c->numbers.sizes.facts[i];
    if (g != f && g->state == SIZE_SYMBOL && g->field == field && !g->apart &&
        g->before == before && g->now == now)
      f->group = g->group;
  }
  dynamic_log(c, f);
}

static void dynamic_mark_array(callable *c, const guard *g, PyObject *object) {
  uint32_t sizes, strides;
  int64_t before[2], now;
  if (!g->adapter->sizes_differ(object, g->payload, &sizes, &strides)) return;
  for (int i = 0; i < LOOM_MAX_RANK; i++) {
    for (int k = 0; k < 2; k++) {
      size_field field = k ? SIZE_OF_STRIDE : SIZE_OF_DIM;
      if (!((k ? strides : sizes) >> i & 1) || !g->adapter->size(object, field, i, &now)) continue;
      before[k] = g->adapter->guarded_size(g->payload, field, i);
      dynamic_mark(c, g->source, field, i, before[k], now);
    }
  }
}

static void dynamic_mark_guard(callable *c, const guard *g, PyObject *const *slots) {
  int64_t before, now;
  PyObject *object = g->source ? source_read(g->source, slots) : NULL;
  if (object && g->kind == GUARD_ARRAY) dynamic_mark_array(c, g, object);
  if (object && dynamic_is_int(g, object, &before, &now))
    dynamic_mark(c, g->source, SIZE_OF_INT, 0, before, now);
  if (object && dynamic_is_float(g, object) && g->source->kind != SOURCE_ARG)
    dynamic_mark(c, g->source, SIZE_OF_FLOAT, 0, 0, 0);
  Py_XDECREF(object);
}

/* Does this version fail for sizes alone? Then they are marked. */
static bool dynamic_learn_from(callable *c, const capture *old, PyObject *const *slots) {
  int64_t symbols[LOOM_MAX_SYMBOLS] = {0};
  uint32_t from = 0;
  const guard *g;
  while ((g = guard_next_failure(old, slots, symbols, &from)))
    if (!dynamic_is_size(g, slots)) return false;
  for (from = 0; (g = guard_next_failure(old, slots, symbols, &from));)
    dynamic_mark_guard(c, g, slots);
  return true;
}

void dynamic_learn(callable *c, PyObject *const *slots) {
  for (uint32_t i = 0; c->entries && i < c->entries->count; i++)
    if (dynamic_learn_from(c, c->entries->items[i]->captured, slots)) return;
}
