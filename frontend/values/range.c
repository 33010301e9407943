/* Iterators over ranges, and ranges with a symbolic begin, end or step.
 *
 * The iterator of a constant range has the next index in any.i. That of a symbolic range has its
 * numbers in any.a: only a loop that is captured once (roll.c) can use it without knowing how many
 * items there are. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/live.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"

#define RANGE_FINISHED PY_SSIZE_T_MAX /* in place of any.i: behind a loop in the graph */

typedef struct range_numbers {
  int64_t start, step, count; /* numbers; the step is known */
} range_numbers;

static void *range_know(tracer *t, const range_numbers *r) {
  size_know(t, r->start);
  size_know(t, r->count);
  return NULL;
}

static value *range_next_number(tracer *t, value *v) {
  int64_t left = iter_left(t, v);
  if (trace_pending(t)) return NULL;
  if (LOOM_STRIDE_IS_SYM(left)) return range_know(t, v->any.a);
  value *item = left > 0 ? iter_ahead(t, v, 0) : NULL;
  return item && iter_step(t, v, 1) ? item : NULL;
}

static value *range_next(tracer *t, value *v) {
  if (v->any.i == RANGE_FINISHED) return NULL;
  if (v->any.a) return range_next_number(t, v);
  Py_ssize_t length = PyObject_Size(v->object);
  if (length < 0) return error_drop(), trace_break(t, BREAK_LIMIT, "a range of too many numbers");
  if (v->any.i >= length) return NULL;
  PyObject *item = PySequence_GetItem(v->object, v->any.i++);
  return item ? value_made(t, item) : trace_raise_live(t);
}

static PyObject *range_python_type(tracer *t, value *v) { return (PyObject *)&PyRangeIter_Type; }

static recipe *range_rebuild(tracer *t, value *v) {
  if (v->any.a) return range_know(t, v->any.a);
  value *range = value_const(t, v->object);
  Py_ssize_t at = v->any.i == RANGE_FINISHED ? PyObject_Size(v->object) : v->any.i;
  return range ? iter_recipe(t, range, at, false) : NULL;
}

static void range_walk(roll_walk *w, value *v) {
  roll_pointer(w, v->object);
  roll_token(w, (uint64_t)v->any.i);
  roll_pointer(w, v->any.a);
}

/* ---- loops that are captured once (roll.c) -------------------------------------------------- */

static bool range_part(PyObject *range, const char *name, int64_t *out) {
  PyObject *number = PyObject_GetAttrString(range, name);
  int overflow = 0;
  *out = number ? PyLong_AsLongLongAndOverflow(number, &overflow) : 0;
  Py_XDECREF(number);
  error_drop();
  return number && !overflow && *out > -(1ll << 52) && *out < 1ll << 52;
}

static int64_t range_left(tracer *t, value *v) {
  int64_t start, step, left;
  const range_numbers *r = v->any.a;
  if (v->any.i == RANGE_FINISHED) return 0;
  if (r) return size_minus(t, r->count, v->any.i, &left) ? left : -1;
  Py_ssize_t length = PyObject_Size(v->object);
  if (length < 0) error_drop();
  if (length >= 1ll << 52 || !range_part(v->object, "start", &start) ||
      !range_part(v->object, "step", &step))
    return -1;
  return length < 0 ? -1 : length - v->any.i;
}

static value *range_ahead(tracer *t, value *v, int64_t ahead) {
  int64_t start, step, at;
  const range_numbers *r = v->any.a;
  if (r) {
    start = r->start;
    step = r->step;
  } else if (!range_part(v->object, "start", &start) || !range_part(v->object, "step", &step))
    return trace_break(t, BREAK_LIMIT, "a range of large numbers");
  return size_op(t, LOOM_EXPR_ADD, ahead, v->any.i, &at) &&
                 size_at_iteration(t, start, step, at, &at)
             ? value_size(t, at)
             : NULL;
}

static bool range_step(tracer *t, value *v, int64_t by) {
  int64_t at;
  if (!size_op(t, LOOM_EXPR_ADD, v->any.i, by, &at)) return false;
  v->any.i = at;
  return true;
}

static void range_finish(value *v) { v->any.i = RANGE_FINISHED; }
static void range_walk_bases(roll_walk *w, value *v) {}

static const loop_slots range_loop = {.left = range_left,
                                      .ahead = range_ahead,
                                      .step = range_step,
                                      .finish = range_finish,
                                      .walk_bases = range_walk_bases,
                                      .far = true};

const value_type value_range_type = {.name = "range iterator",
                                     .rebuild = range_rebuild,
                                     .iter = iter_self,
                                     .next = range_next,
                                     .get_attr = iterator_get_attr,
                                     .python_type = range_python_type,
                                     .walk = range_walk,
                                     .loop = &range_loop};

/* ---- ranges over numbers of the graph -------------------------------------------------------- */

static const value_type value_range_to_type;

/* A range of which a part is a number of the graph. */
value *value_range_to(tracer *t, int64_t start, int64_t stop, int64_t step) {
  value *v = value_new(t, &value_range_to_type);
  range_numbers *r = v ? trace_alloc(t, sizeof *r) : NULL;
  int64_t by = llabs(step), span;
  if (!r || (step > 0 ? !size_minus(t, stop, start, &span) : !size_minus(t, start, stop, &span)) ||
      !size_op(t, LOOM_EXPR_ADD, span, by - 1, &span))
    return NULL;
  *r = (range_numbers){.start = start, .step = step};
  if (!size_op(t, LOOM_EXPR_FLOORDIV, span, by, &r->count)) return NULL;
  v->any.a = r;
  return v;
}

static value *range_to_iter(tracer *t, value *v) {
  value *iterator = value_new(t, &value_range_type);
  if (iterator) iterator->any.a = v->any.a;
  return iterator;
}

static void *range_to_know(tracer *t, value *v) { return range_know(t, v->any.a); }
static value *range_to_item(tracer *t, value *v, value *key) { return range_to_know(t, v); }
static value *range_to_attr(tracer *t, value *v, PyObject *name) { return range_to_know(t, v); }
static value *range_to_length(tracer *t, value *v) { return range_to_know(t, v); }
static value *range_to_side(value *l, value *r) { return l->type == &value_range_to_type ? l : r; }
static recipe *range_to_rebuild(tracer *t, value *v) { return range_to_know(t, v); }
static int range_to_truth(tracer *t, value *v) { return range_to_know(t, v), -1; }
static int range_to_contains(tracer *t, value *v, value *item) { return range_to_know(t, v), -1; }
static value *range_to_compare(tracer *t, int op, value *l, value *r) {
  return range_to_know(t, range_to_side(l, r));
}
static value *range_to_binary(tracer *t, int op, value *l, value *r, bool inplace) {
  return range_to_know(t, range_to_side(l, r));
}
static PyObject *range_to_python_type(tracer *t, value *v) { return (PyObject *)&PyRange_Type; }

static const value_type value_range_to_type = {.name = "range",
                                               .kinds = VALUE_IS_FIXED,
                                               .iter = range_to_iter,
                                               .get_item = range_to_item,
                                               .get_attr = range_to_attr,
                                               .length = range_to_length,
                                               .truth = range_to_truth,
                                               .contains = range_to_contains,
                                               .compare = range_to_compare,
                                               .binary = range_to_binary,
                                               .rebuild = range_to_rebuild,
                                               .python_type = range_to_python_type,
                                               .walk = range_walk};
