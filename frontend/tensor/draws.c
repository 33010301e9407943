/* Calls that draw random numbers from a generator which the function makes: capture follows
 * _drawn_by() of _tensor_generator.py, where the generator's state is a tensor (_tensor_draws.py).
 */
#include "frontend/base/base.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/tensor/draws_internal.h"
#include "frontend/tensor/internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

static struct {
  PyObject *generator, *drawn_by; /* the model class, and the function */
  PyObject *real, *methods;       /* torch.Generator, and functions in place of its methods */
  PyObject *models;               /* the dictionary of the class's module */
} draws_python;

bool tensor_draws_init(void) {
  static const tensor_name names[] = {{"GENERATOR", &draws_python.generator},
                                      {"DRAWN_BY", &draws_python.drawn_by},
                                      {"METHODS", &draws_python.methods},
                                      {"MODELS", &draws_python.models}};
  static const tensor_name torch[] = {{"Generator", &draws_python.real}};
  return tensor_import("torch", torch, 1) &&
         tensor_import("frameloom._tensor_draws", names, sizeof names / sizeof *names) &&
         model_add_module(draws_python.models);
}

static bool draws_from(value *v) {
  return value_is_instance(v) && object_class(v) == draws_python.generator;
}

value *tensor_drawn(tracer *t, PyObject *function, value *const *args, Py_ssize_t count,
                    PyObject *kwnames) {
  Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0, at = 0;
  while (at < named && !draws_from(args[count + at]))
    at++;
  if (at == named) return NULL;
  if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, at), "generator"))
    return trace_break(t, BREAK_TENSOR, "a generator in place of another argument");
  value **all = trace_alloc(t, sizeof *all * (size_t)(count + named + 2));
  PyObject *names = PyTuple_New(named - 1);
  if (!all || !trace_keep(t, names)) return trace_fail(t);
  all[0] = value_const(t, function);
  all[1] = args[count + at];
  for (Py_ssize_t i = 0; i < count; i++)
    all[2 + i] = args[i];
  for (Py_ssize_t i = 0, to = 0; i < named; i++) {
    if (i == at) continue;
    PyTuple_SET_ITEM(names, to, Py_NewRef(PyTuple_GET_ITEM(kwnames, i)));
    all[2 + count + to++] = args[count + i];
  }
  value *followed = all[0] ? value_const(t, draws_python.drawn_by) : NULL;
  return followed ? trace_call(t, followed, all, count + 2, named > 1 ? names : NULL) : NULL;
}

/* The function in place of a method of generators, called with one that existed before the call.
 * Borrowed. */
static PyObject *draws_method(PyObject *callee, value *const *args, Py_ssize_t count) {
  if (!Py_IS_TYPE(callee, &PyMethodDescr_Type) || !count || !args[0]->object ||
      (PyObject *)PyDescr_TYPE(callee) != draws_python.real ||
      (PyObject *)Py_TYPE(args[0]->object) != draws_python.real)
    return NULL;
  PyObject *method = PyDict_GetItemWithError(draws_python.methods, PyDescr_NAME(callee));
  error_drop();
  return method;
}

bool tensor_is_generator_method(PyObject *callee, value *const *args, Py_ssize_t count) {
  return draws_method(callee, args, count) != NULL;
}

value *tensor_generator_method(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                               PyObject *kwnames) {
  if (kwnames || count > 2) return trace_break(t, BREAK_TENSOR, "such a call of a generator");
  value *made = tensor_call(t, draws_method(callee, args, count), args, count);
  bool seeds = !PyUnicode_CompareWithASCIIString(PyDescr_NAME(callee), "manual_seed");
  return made && seeds ? args[0] : made;
}
