/* Classes made inside the captured function.
 *
 * The body is evaluated with a dictionary value for its names. Then a real class is made, for the
 * capture alone: lookups along its method resolution order, slots and flags are CPython's own. What
 * the body made and capture only knows as a value (functions, arrays, instances) has an object in
 * the class that stands for it, and that leads back to the value when it is looked up. The class
 * never leaves the capture: each call would have to make another one. */
#include "frontend/base/base.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/values.h"

/* ---- objects that stand for values ---------------------------------------------------------- */

static PyObject *stand_in_new(tracer *t, value *v) {
  if (value_is_function(v) && v->any.a) {
    function_data *data = v->any.a;
    return PyFunction_New((PyObject *)data->code, data->globals);
  }
  if (!value_is_instance(v) || !object_is_virtual(v))
    return PyObject_CallNoArgs((PyObject *)&PyBaseObject_Type);
  PyTypeObject *cls = (PyTypeObject *)object_class(v), *base = container_base(cls);
  if (!base) base = scalar_base(cls);
  if (!base) base = &PyBaseObject_Type;
  PyObject *none = PyTuple_New(0), *made = none ? base->tp_new(cls, none, NULL) : NULL;
  Py_XDECREF(none);
  return made;
}

static PyObject *class_stand_in(tracer *t, value *v) {
  if (value_is_const(v) || (v->object && value_is_function(v))) return v->object;
  PyObject *known = pointer_map_get(&t->known.stand_ins, v);
  if (known) return known;
  if (value_is_tuple(v) && (known = value_plain(t, v))) return trace_keep(t, known);
  if (trace_pending(t)) return NULL;
  PyObject *made = stand_in_new(t, v);
  if (!made) return trace_fail(t);
  if (!trace_keep(t, made) || !trace_map_set(t, &t->known.stand_ins, v, made) ||
      !trace_map_set(t, &t->known.wrapped, made, v) || !trace_map_set(t, &t->known.made, made, v))
    return NULL;
  return made;
}

/* property(f), staticmethod(f), classmethod(f), x.setter(f): real ones, of what stands for f. */
value *class_descriptor(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                        PyObject *kwnames) {
  PyObject *items[4];
  if (count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0) > 4) return t->constants.not_implemented;
  for (Py_ssize_t i = 0; i < count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0); i++) {
    bool function = value_is_function(args[i]) || value_is_const(args[i]);
    if (!function) return t->constants.not_implemented;
    if (!(items[i] = class_stand_in(t, args[i]))) return NULL;
  }
  PyObject *made = PyObject_Vectorcall(callee, items, (size_t)count, kwnames);
  if (!made) return trace_raise_live(t);
  value *v = value_const(t, trace_keep(t, made));
  return v && trace_map_set(t, &t->known.made, made, v) ? v : NULL;
}

/* ---- making the class ----------------------------------------------------------------------- */

/* Bases whose own classes are `type` and that take no part in making a subclass. An
 * __init_subclass__ written in C may call others: that of typing.Generic does from 3.12 on. */
static PyObject *body_bases(tracer *t, value *const *bases, Py_ssize_t count) {
  PyObject *tuple = PyTuple_New(count ? count : 0);
  for (Py_ssize_t i = 0; tuple && i < count; i++) {
    PyObject *base = value_is_const(bases[i]) ? bases[i]->object : NULL;
    if (!base || !Py_IS_TYPE(base, &PyType_Type) ||
        !type_keeps_default(t, (PyTypeObject *)base, "__init_subclass__")) {
      Py_DECREF(tuple);
      return trace_break(t, BREAK_UNSUPPORTED_TYPE,
                         "a class with a base that makes its subclasses");
    }
    PyTuple_SET_ITEM(tuple, i, Py_NewRef(base));
  }
  return tuple;
}

/* Instances may have a __set_name__, which is not to run now: they come into the class later. */
static bool body_comes_later(value *v) { return value_is_instance(v); }

static PyObject *body_namespace(tracer *t, value *names) {
  PyObject *dict = PyDict_New();
  for (Py_ssize_t i = 0; dict && i < names->seq.count; i += 2) {
    value *item = names->seq.items[i + 1];
    PyObject *key = value_str_object(names->seq.items[i]), *object = Py_None;
    if (value_is_cell(item)) continue; /* __classcell__ */
    if (!body_comes_later(item)) object = class_stand_in(t, item);
    if (!key || !object || PyDict_SetItem(dict, key, object) < 0) Py_CLEAR(dict);
  }
  return dict;
}

/* What came later, in order, and the calls of __set_name__. */
static bool body_complete(tracer *t, value *cls, value *names) {
  for (Py_ssize_t i = 0; i < names->seq.count; i += 2) {
    value *item = names->seq.items[i + 1];
    if (!body_comes_later(item)) continue;
    PyObject *object = class_stand_in(t, item), *key = value_str_object(names->seq.items[i]);
    if (!object || PyDict_SetItem(python_type_dict((PyTypeObject *)cls->object), key, object) < 0)
      return false;
    PyType_Modified((PyTypeObject *)cls->object);
  }
  for (Py_ssize_t i = 0; i < names->seq.count; i += 2) {
    value *item = names->seq.items[i + 1], *args[2] = {cls, names->seq.items[i]};
    if (!body_comes_later(item)) continue;
    value *hook = trace_special(t, item, "__set_name__");
    if (trace_pending(t) || (hook && !trace_call(t, hook, args, 2, NULL))) return false;
  }
  return true;
}

static value *body_run(tracer *t, value *function, value *names, value **cell) {
  function_data *data = function_get(t, function);
  frame *f = data ? loom_eval->frame_new(t, data) : NULL;
  bool yielded = false;
  if (!f) return NULL;
  f->names = names;
  *cell = loom_eval->run(t, f, &yielded);
  return *cell ? names : NULL;
}

static value *body_class(tracer *t, value *name, value *const *bases, Py_ssize_t count,
                         value *names) {
  PyObject *tuple = body_bases(t, bases, count);
  PyObject *dict = tuple ? body_namespace(t, names) : NULL, *cls = NULL;
  if (dict)
    cls = PyObject_CallFunctionObjArgs((PyObject *)&PyType_Type, name->object, tuple, dict, NULL);
  /* The function's own class comes later: its bases are not to list this one. */
  for (Py_ssize_t i = 0; cls && i < PyTuple_GET_SIZE(tuple); i++)
    if (!python_type_unlist((PyTypeObject *)PyTuple_GET_ITEM(tuple, i), cls)) error_drop();
  Py_XDECREF(tuple);
  Py_XDECREF(dict);
  if (!cls) return trace_pending(t) ? NULL : trace_raise_live(t);
  trace_keep(t, cls);
  if (!Py_IS_TYPE(cls, &PyType_Type))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a class with a metaclass");
  value *v = value_const(t, cls);
  return v && trace_map_set(t, &t->known.made, cls, v) ? v : NULL;
}

/* __build_class__(function, name, *bases). */
value *class_build(tracer *t, value *const *args, Py_ssize_t count, PyObject *kwnames) {
  value *names = value_dict(t), *cell = NULL;
  if (count < 2 || kwnames || !value_is_function(args[0]) || !value_str_object(args[1]))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a class with keywords");
  if (!names || !body_run(t, args[0], names, &cell)) return NULL;
  value *cls = body_class(t, args[1], args + 2, count - 2, names);
  if (!cls) return NULL;
  if (value_is_cell(cell)) cell->cell.content = cls;
  return body_complete(t, cls, names) ? cls : NULL;
}
