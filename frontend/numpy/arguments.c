/* Arguments of NumPy's functions: bound to names, and read as known bools, ints, axes and texts. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

#include <string.h>

bool np_is_none(tracer *t, value *v) {
  return !v || (!np_is_array(v) && value_is_const(v) && np_known(t, v) == Py_None);
}

PyObject *np_known(tracer *t, value *v) {
  np_array *a = np_array_of(v);
  if (a) return a->storage->version == a->known_version ? a->known : NULL;
  PyObject *o = value_known(t, v);
  return o ? trace_keep(t, o) : NULL;
}

value *np_int(tracer *t, int64_t i) {
  PyObject *o = PyLong_FromLongLong(i);
  return o ? value_const(t, trace_keep(t, o)) : trace_raise_live(t);
}

const char *np_str_arg(tracer *t, value *v) {
  value *content = v ? np_scalar_of(t, v) : NULL;
  PyObject *o = v && !np_is_array(v) ? np_known(t, content ? content : v) : NULL;
  return o && PyUnicode_CheckExact(o) ? PyUnicode_AsUTF8(o) : NULL;
}

bool np_bool_arg(tracer *t, value *v, bool missing, bool *out) {
  *out = missing;
  if (!v) return true;
  PyObject *o = np_known(t, v);
  int huge = 0; /* for the C int that some functions make of it */
  long number = o && PyLong_CheckExact(o) ? PyLong_AsLongAndOverflow(o, &huge) : 0;
  huge |= number != (int)number;
  /* Of others, None and NumPy's own bools among them, some functions make no int. */
  if (o && !huge && (PyBool_Check(o) || PyLong_CheckExact(o))) {
    *out = PyObject_IsTrue(o) == 1;
    return true;
  }
  trace_break(t, BREAK_NUMPY_FUNCTION, "a flag that is not known");
  return false;
}

bool np_subok_arg(tracer *t, value *v) {
  bool ignored;
  return np_bool_arg(t, v, true, &ignored);
}

static bool arguments_object_int(PyObject *o, int64_t *out) {
  if (!o || !(PyLong_Check(o) || PyArray_IsScalar(o, Integer))) return false;
  PyObject *index = PyNumber_Index(o);
  *out = index ? PyLong_AsLongLong(index) : -1;
  Py_XDECREF(index);
  if (!PyErr_Occurred()) return true;
  error_drop();
  return false;
}

/* A bool is an integer for some functions of NumPy's and a TypeError for others: not followed. */
bool np_int_arg(tracer *t, value *v, int64_t *out) {
  if (value_type_of(t, v) == (PyObject *)&PyBool_Type) {
    if (!trace_pending(t)) trace_break(t, BREAK_NUMPY_FUNCTION, "a bool as an integer argument");
    return false;
  }
  if (np_is_array(v) ? arguments_object_int(np_known(t, v), out) : value_known_int(t, v, out))
    return size_from_int(t, *out);
  if (!trace_pending(t))
    trace_break(t, BREAK_NUMPY_FUNCTION, "an integer argument that is not known");
  return false;
}

static bool arguments_fits_c_int(tracer *t, int64_t number) {
  if (number == (int)number) return true;
  trace_break(t, BREAK_NUMPY_FUNCTION, "an integer that is too large for C");
  return false;
}

bool np_c_int_arg(tracer *t, value *v, int64_t *out) {
  return np_int_arg(t, v, out) && arguments_fits_c_int(t, *out);
}

bool np_ints_arg(tracer *t, value *v, int *count, int64_t *out) {
  PyObject *known = np_known(t, v);
  bool listed = value_is_sequence(v);
  np_array *array = np_array_of(v);
  if (array && array->type.rank == 0 && !array->scalar) { /* a number here, an error there */
    trace_break(t, BREAK_NUMPY_FUNCTION, "an array without dimensions for integers");
    return false;
  }
  if (!listed && !(known && PySequence_Check(known))) {
    *count = 1;
    return np_int_arg(t, v, out);
  }
  if (!listed && !PyTuple_Check(known) && !PyList_Check(known) && !PyRange_Check(known) &&
      !PyArray_Check(known)) { /* an empty text among them */
    trace_break(t, BREAK_NUMPY_FUNCTION, "a %s for integers", Py_TYPE(known)->tp_name);
    return false;
  }
  value *tuple = np_is_array(v) ? trace_to_tuple(t, trace_iter(t, v)) : trace_to_tuple(t, v);
  if (!tuple) return false;
  if (tuple->seq.count > LOOM_MAX_RANK) {
    trace_break(t, BREAK_NUMPY_FUNCTION, "more than %d dimensions", LOOM_MAX_RANK);
    return false;
  }
  *count = (int)tuple->seq.count;
  for (int i = 0; i < *count; i++)
    if (!np_int_arg(t, tuple->seq.items[i], &out[i])) return false;
  return true;
}

static PyObject *arguments_axis_error(void) {
  static PyObject *type;
  if (!type) {
    PyObject *module = PyImport_ImportModule("numpy.exceptions");
    type = module ? PyObject_GetAttrString(module, "AxisError") : NULL;
    Py_XDECREF(module);
    error_drop();
  }
  return type ? type : PyExc_ValueError;
}

bool np_axis(tracer *t, int64_t axis, int rank, int *out) {
  if (!arguments_fits_c_int(t, axis)) return false; /* an error of another kind */
  if (axis < -rank || axis >= rank) {
    trace_raise(t, arguments_axis_error(), "axis %lld is out of bounds for array of dimension %d",
                (long long)axis, rank);
    return false;
  }
  *out = (int)(axis < 0 ? axis + rank : axis);
  return true;
}

bool np_axes_arg(tracer *t, value *v, int rank, uint32_t *mask) {
  int64_t axes[LOOM_MAX_RANK];
  int n, axis;
  *mask = 0;
  if (np_is_none(t, v)) {
    *mask = (1u << rank) - 1;
    return true;
  }
  PyTypeObject *type = (PyTypeObject *)value_type_of(t, v);
  if (type == &PyList_Type || type == &PyRange_Type) {
    trace_raise(t, PyExc_TypeError, "'%s' object cannot be interpreted as an integer",
                type->tp_name);
    return false;
  }
  if (np_is_array(v) && np_array_of(v)->type.rank > 0) {
    trace_break(t, BREAK_RAISES, "an array as axis");
    return false;
  }
  if (!np_ints_arg(t, v, &n, axes)) return false;
  for (int i = 0; i < n; i++) {
    if (rank == 0 && n == 1 && !value_is_tuple(v) && (axes[i] == 0 || axes[i] == -1)) return true;
    if (!np_axis(t, axes[i], rank, &axis)) return false;
    if (*mask >> axis & 1) {
      trace_raise(t, PyExc_ValueError, "duplicate value in 'axis'");
      return false;
    }
    *mask |= 1u << axis;
  }
  return true;
}

value *np_unsupported(tracer *t, const np_call *c, const char *what) {
  if (c->opaque)
    return trace_break(t, BREAK_CUSTOM_OP, "%s: %s", c->name,
                       !strcmp(what, "with such results")
                           ? "its results are no arrays or numbers of their own"
                           : "it takes no array, or what is neither an array nor a plain constant");
  return trace_break(t, BREAK_NUMPY_FUNCTION, "%s%s%s", c->name, *what ? ": " : "", what);
}

static PyObject *arguments_no_value; /* numpy._NoValue: an argument that was not given */

bool np_is_no_value(const PyObject *object) { return object == arguments_no_value; }

/* Number of the parameter called `name`, or -1; parameters in front of a slash have no name for
 * callers. The bar says where optional parameters begin. */
static int arguments_parameter(const char *names, const char *name, size_t length) {
  int i = 0, found = -1;
  for (const char *p = names; *p;) {
    size_t n = strcspn(p, " ");
    if (*p == '/') {
      found = -1;
    } else if (*p != '|') {
      if (n == length && strncmp(p, name, n) == 0) found = i;
      i++;
    }
    p += n + strspn(p + n, " ");
  }
  return found;
}

/* The library's own exception is raised, with its own words. */
static bool arguments_refused(tracer *t, const np_call *c) {
  trace_break(t, BREAK_RAISES, "%s() of arguments that its signature refuses", c->name);
  return false;
}

/* A method of a NumPy number gives a number beside what it writes into out=, and the functions of
 * these names call the method. */
static bool arguments_out_is_given_back(tracer *t, const np_call *c, value *self, const char *names,
                                        value *const *args) {
  int k = arguments_parameter(names, "out", 3);
  bool given = k > 0 && args[k] && !np_is_none(t, args[k]) && np_is_array(self);
  if (trace_pending(t)) return false;
  if (given && np_array_of(self)->scalar)
    return np_unsupported(t, c, "out= beside a NumPy number"), false;
  return true;
}

bool np_parse(tracer *t, const np_call *c, const char *names, value **out) {
  int total = 0, required = -1;
  for (const char *p = names; *p;) {
    if (*p == '|')
      required = total;
    else if (*p != '/')
      out[total++] = NULL;
    p += strcspn(p, " ");
    p += strspn(p, " ");
  }
  if (required < 0) required = total;
  if (c->count > total) return arguments_refused(t, c);
  for (Py_ssize_t i = 0; i < c->count; i++)
    out[i] = c->args[i];
  for (Py_ssize_t i = 0; c->kwnames && i < PyTuple_GET_SIZE(c->kwnames); i++) {
    Py_ssize_t length;
    const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GET_ITEM(c->kwnames, i), &length);
    int k = arguments_parameter(names, name, (size_t)length);
    if (k < 0 || out[k]) return arguments_refused(t, c);
    out[k] = c->args[c->count + i];
  }
  for (int i = 0; i < total; i++)
    if (out[i] && out[i]->object == arguments_no_value) out[i] = NULL;
  for (int i = 0; i < required; i++)
    if (!out[i]) return arguments_refused(t, c);
  return arguments_out_is_given_back(t, c, total ? out[0] : NULL, names, out);
}

bool np_arguments_init(void) {
  return (arguments_no_value = np_lookup("numpy", "_NoValue")) != NULL;
}
