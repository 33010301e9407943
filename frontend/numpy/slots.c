/* Special methods of arrays called by name: a.__truediv__(b) is the operator. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/index_internal.h"
#include "frontend/values/values.h"

#include <opcode.h>
#include <string.h>

#undef UNARY_INVERT /* CPython 3.11 has instructions of these names: ours are meant */
#undef UNARY_NOT

static const struct {
  const char *name;
  int op;
} slots_binary[] = {{"add", NB_ADD},
                    {"sub", NB_SUBTRACT},
                    {"mul", NB_MULTIPLY},
                    {"truediv", NB_TRUE_DIVIDE},
                    {"floordiv", NB_FLOOR_DIVIDE},
                    {"mod", NB_REMAINDER},
                    {"pow", NB_POWER},
                    {"matmul", NB_MATRIX_MULTIPLY},
                    {"and", NB_AND},
                    {"or", NB_OR},
                    {"xor", NB_XOR},
                    {"lshift", NB_LSHIFT},
                    {"rshift", NB_RSHIFT}},
  slots_unary[] = {{"__neg__", UNOP_NEG},
                   {"__pos__", UNOP_POS},
                   {"__abs__", UNOP_ABS},
                   {"__invert__", UNOP_INVERT}},
  slots_compare[] = {{"__lt__", Py_LT}, {"__le__", Py_LE}, {"__eq__", Py_EQ},
                     {"__ne__", Py_NE}, {"__gt__", Py_GT}, {"__ge__", Py_GE}};

/* The operator of __add__, __radd__ (reflected) or __iadd__ (in place), or -1. */
static int slots_operator(const char *name, bool *reflected, bool *inplace) {
  size_t length = strlen(name);
  if (length < 5 || strncmp(name, "__", 2) != 0 || strcmp(name + length - 2, "__") != 0) return -1;
  for (int prefix = 0; prefix < 2; prefix++) {
    const char *middle = name + 2 + prefix;
    *reflected = prefix && name[2] == 'r';
    *inplace = prefix && name[2] == 'i';
    if (prefix && !*reflected && !*inplace) return -1;
    for (size_t i = 0; i < sizeof slots_binary / sizeof *slots_binary; i++)
      if (strlen(slots_binary[i].name) == length - 4 - (size_t)prefix &&
          strncmp(middle, slots_binary[i].name, strlen(slots_binary[i].name)) == 0)
        return slots_binary[i].op;
  }
  return -1;
}

/* Only operands for which the operator never answers NotImplemented, as a scalar does to one of
 * another type that has room for it. */
static bool slots_plain(tracer *t, value *self, value *v) {
  const np_array *a = np_array_of(self), *b = np_array_of(v);
  if (a && b) return !a->scalar || (b->scalar && a->type.dtype == b->type.dtype);
  if (b || value_is_number(v)) return true;
  PyObject *o = np_known(t, v);
  return o && (PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyBool_Check(o));
}

value *np_slot_call(tracer *t, const char *name, value *const *args, Py_ssize_t count) {
  bool reflected, inplace;
  int op = slots_operator(name, &reflected, &inplace);
  if (count == 2 && op >= 0 && slots_plain(t, args[0], args[1]))
    return trace_binary(t, op, args[reflected], args[!reflected], inplace);
  for (size_t i = 0; count == 1 && i < sizeof slots_unary / sizeof *slots_unary; i++)
    if (strcmp(slots_unary[i].name, name) == 0) return trace_unary(t, slots_unary[i].op, args[0]);
  for (size_t i = 0; count == 2 && i < sizeof slots_compare / sizeof *slots_compare; i++)
    if (strcmp(slots_compare[i].name, name) == 0 && slots_plain(t, args[0], args[1]))
      return trace_compare(t, slots_compare[i].op, args[0], args[1]);
  if (count == 2 && strcmp(name, "__getitem__") == 0) return np_get_item(t, args[0], args[1]);
  if (count == 3 && strcmp(name, "__setitem__") == 0)
    return np_set_item(t, args[0], args[1], args[2]) ? value_const(t, Py_None) : NULL;
  if (count == 1 && strcmp(name, "__len__") == 0) return np_array_value_type.length(t, args[0]);
  if (count == 1 && strcmp(name, "__iter__") == 0) return trace_iter(t, args[0]);
  return trace_break(t, BREAK_NUMPY_FUNCTION, "the method %s", name);
}
