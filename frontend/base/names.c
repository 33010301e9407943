/* Names that several floors need: of backends, of Python's comparisons. */
#include "frontend/base/base.h"

const char *const loom_backend_names[] = {"loom", "interpret", "eager", NULL};
const char *const compare_methods[6] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
const char *const compare_signs[6] = {"<", "<=", "==", "!=", ">", ">="};
const int compare_swapped[6] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
