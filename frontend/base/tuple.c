/* Tuples of numbers. */
#include "frontend/base/base.h"

PyObject *tuple_of_numbers(const int64_t *numbers, int count) {
  PyObject *tuple = PyTuple_New(count);
  for (int i = 0; tuple && i < count; i++) {
    PyObject *number = PyLong_FromLongLong(numbers[i]);
    if (!number) Py_CLEAR(tuple);
    if (number) PyTuple_SET_ITEM(tuple, i, number);
  }
  return tuple;
}
