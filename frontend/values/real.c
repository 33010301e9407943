/* Calls of pure functions written in C with known arguments: the real one is called now. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/numbers.h"
#include "frontend/values/numbers_internal.h"
#include "frontend/values/values.h"

value *call_real(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                 PyObject *kwnames) {
  PyObject *stack[16] = {NULL}, *result = NULL;
  Py_ssize_t all = count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0), have = 0;
  if (all > 16) return trace_break(t, BREAK_UNKNOWN_CALL, "a call with more than 16 arguments");
  value *table = t->loops.looped && !kwnames ? series_call(t, callee, args, count) : NULL;
  if (!table && !kwnames && !trace_pending(t)) table = formula_call(t, callee, args, count);
  if (table || trace_pending(t)) return table;
  for (; have < all; have++)
    if (!(stack[have] = value_plain(t, args[have]))) break;
  bool called = have == all && !trace_pending(t);
  if (called) result = PyObject_Vectorcall(callee, stack, (size_t)count, kwnames);
  value *same = NULL; /* as the copy of a frozen set is that set */
  for (Py_ssize_t i = 0; i < have; i++) {
    if (result && stack[i] == result && args[i]->object == result) same = args[i];
    Py_DECREF(stack[i]);
  }
  if (same) return Py_DECREF(result), same;
  if (called) return value_made(t, result);
  return trace_pending(t) ? NULL : t->constants.not_implemented;
}
