/* From tensors to numbers of Python: item(), tolist(), float() and int(). A number that is not
 * known at capture is one that the plan computes. */
#include "frontend/values/numbers.h"
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/tensor/emit_internal.h"
#include "frontend/tensor/internal.h"
#include "frontend/values/containers.h"
#include "frontend/values/values.h"

#include <string.h>

#define NUMBERS_MOST 64 /* elements of a tensor that tolist() makes numbers of */

static bool numbers_have(loom_dtype dtype) {
  return dtype != LOOM_U64 && !loom_dtype_is_complex(dtype);
}

/* The single element. */
static value *numbers_element(tracer *t, np_array *a) {
  value *v = np_view_reshape(t, a, 0, a->type.dims, a->strides);
  return v ? np_python_number(t, np_read(t, np_layout_of(v))) : NULL;
}

static value *numbers_list(tracer *t, np_array *a) {
  if (!a->type.rank) return numbers_element(t, a);
  int64_t starts[LOOM_MAX_RANK] = {0}, steps[LOOM_MAX_RANK], sizes[LOOM_MAX_RANK];
  value *list = value_list(t, NULL, 0);
  for (int i = 0; i < a->type.rank; i++) {
    sizes[i] = a->type.dims[i];
    steps[i] = 1;
  }
  sizes[0] = 1;
  for (; list && starts[0] < a->type.dims[0]; starts[0]++) {
    value *row = np_view_slice(t, a, starts, sizes, steps);
    if (row)
      row =
          np_view_reshape(t, np_layout_of(row), a->type.rank - 1, a->type.dims + 1, a->strides + 1);
    value *item = row ? numbers_list(t, np_layout_of(row)) : NULL;
    if (!item || !seq_append(t, list, item)) return NULL;
  }
  return list;
}

/* What a function of Python gives of a tensor whose elements are known; NULL with nothing pending:
 * they are not, or it raises. */
static value *numbers_known(tracer *t, PyObject *function, value *v) {
  PyObject *real = tensor_elements(t, v);
  PyObject *made = real ? PyObject_CallOneArg(function, real) : NULL;
  error_drop(); /* the call raises behind a break */
  return made ? value_made(t, made) : NULL;
}

value *tensor_numbers(tracer *t, PyObject *function, const char *name, value *v) {
  bool item = !strcmp(name, "item"), list = !strcmp(name, "tolist");
  if (!item && !list) return NULL;
  value *known = numbers_known(t, function, v);
  np_array *a = np_layout_of(v);
  if (known || trace_pending(t) || !numbers_have(a->type.dtype)) return known;
  int64_t count = 1;
  for (int i = 0; i < a->type.rank; i++) {
    if (LOOM_DIM_IS_SYM(a->type.dims[i])) return NULL;
    count *= a->type.dims[i];
    if (count > NUMBERS_MOST) return NULL;
  }
  if (list) return numbers_list(t, a);
  return count == 1 ? numbers_element(t, a) : NULL;
}

static PyObject *numbers_warn; /* of _tensor_calls.py */

bool tensor_numbers_init(void) {
  static const tensor_name names[] = {{"warn_of_number", &numbers_warn}};
  return tensor_import("frameloom._tensor_calls", names, 1);
}

/* Warns as float() of a tensor that requires a gradient does. */
static bool numbers_have_warned(tracer *t, value *v) {
  const np_array *a = np_layout_of(v);
  PyObject *meta = tensor_meta(t, v);
  bool live = a->kind == VIEW_ROOT && a->storage->live;
  if (!meta) return false;
  if (!(live ? tensor_requires(t, a->storage->live, a->storage->source) : tensor_is_recorded(meta)))
    return !trace_pending(t);
  loom_location at = trace_innermost_location(t);
  PyObject *done = PyObject_CallFunction(numbers_warn, "((si))", at.file, (int)at.line);
  Py_XDECREF(done);
  return done || trace_raise_live(t);
}

value *tensor_number(tracer *t, value *v, PyTypeObject *to) {
  np_array *a = np_layout_of(v);
  if (to == &PyFloat_Type && !numbers_have_warned(t, v)) return NULL;
  value *known = numbers_known(t, (PyObject *)to, v);
  if (known || trace_pending(t)) return known;
  /* An int of a float may be too large, or raise. */
  bool has =
      numbers_have(a->type.dtype) && (to == &PyFloat_Type || !loom_dtype_is_float(a->type.dtype));
  for (int i = 0; i < a->type.rank; i++)
    has &= a->type.dims[i] == 1;
  if (!has) return trace_break(t, BREAK_DATA_DEPENDENT, "%s() of such a tensor", to->tp_name);
  value *number = numbers_element(t, a);
  return number && to == &PyFloat_Type ? number_to_float(t, number) : number;
}
