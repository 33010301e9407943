/* Types and functions of the standard library that are written in C and that capture follows in
 * Python: python/frameloom/_models.py says what they mean. A call of the original is a call of the
 * model; an object of a model class says that it is one of the original's. */
#include "frontend/builtins.h"

#define MODEL_MAX 64

static PyObject *model_module;
static struct {
  PyObject *model, *real;
} model_types[MODEL_MAX];
static int model_count;

static bool model_remember(PyObject *model, PyObject *real) {
  for (int i = 0; i < model_count; i++)
    if (model_types[i].model == model) return true;
  if (model_count == MODEL_MAX) return false;
  model_types[model_count].model = Py_NewRef(model);
  model_types[model_count++].real = Py_NewRef(real);
  return true;
}

PyObject *model_real(PyObject *cls) {
  for (int i = 0; i < model_count; i++)
    if (model_types[i].model == cls) return model_types[i].real;
  return cls;
}

static PyObject *model_globals(void) {
  return model_module ? PyModule_GetDict(model_module) : NULL;
}

bool model_owns(PyObject *object) {
  PyObject *globals = model_globals();
  if (!globals || !object) return false;
  if (object == globals) return true;
  if (PyFunction_Check(object)) return ((PyFunctionObject *)object)->func_globals == globals;
  if (!PyType_Check(object) || !PyType_HasFeature((PyTypeObject *)object, Py_TPFLAGS_HEAPTYPE))
    return false;
  PyObject *name = PyDict_GetItemString(python_type_dict((PyTypeObject *)object), "__module__");
  PyObject *own = PyDict_GetItemString(globals, "__name__");
  return name && own && PyUnicode_Check(name) && PyUnicode_Compare(name, own) == 0;
}

bool model_is_private(tracer *t, PyObject *cls, PyObject *name) {
  if (!model_owns(cls) || (t->frame && t->frame->function->globals == model_globals()))
    return false;
  return PyUnicode_GET_LENGTH(name) > 0 && PyUnicode_READ_CHAR(name, 0) == '_';
}

value *builtin_model(tracer *t, const builtin_args *a) {
  if (!model_module && !(model_module = PyImport_ImportModule("frameloom._models")))
    return trace_fail(t);
  PyObject *model = PyDict_GetItemString(model_globals(), a->name);
  if (!model || (PyType_Check(model) && !model_remember(model, a->callee)))
    return t->not_implemented;
  const source *s = trace_source(t, SOURCE_CONST, NULL, model, NULL, 0);
  value *callee = s ? value_wrap(t, model, s) : NULL;
  return callee ? trace_call(t, callee, a->args, a->count, a->kwnames) : NULL;
}

/* real(*model.__model__()). */
recipe *model_rebuild(tracer *t, value *v) {
  PyObject *real = model_real(object_class(v));
  value *made = real == object_class(v) ? NULL : trace_method(t, v, "__model__", NULL, 0);
  value *args = made ? trace_to_tuple(t, made) : NULL;
  if (!args)
    return trace_pending(t) ? NULL
                            : trace_break(t, BREAK_UNSUPPORTED_TYPE, "a %s is returned",
                                          ((PyTypeObject *)real)->tp_name);
  recipe *r = trace_recipe(t, RECIPE_CALL), *cls = r ? trace_recipe(t, RECIPE_CONST) : NULL;
  if (!cls) return NULL;
  cls->object = Py_NewRef(real);
  r->items = calloc((size_t)args->seq.count + 1, sizeof *r->items);
  if (!r->items) return trace_fail(t);
  r->items[r->count++] = cls;
  for (Py_ssize_t i = 0; i < args->seq.count; i++)
    if (!(r->items[r->count++] = trace_rebuild(t, args->seq.items[i]))) return NULL;
  return r;
}
