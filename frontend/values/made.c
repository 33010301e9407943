/* Functions, bound methods, partials, generators and instances made inside, as results: real ones
 * are made of their parts, none of whose code runs. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

/* ---- functions ------------------------------------------------------------------------------- */

enum {
  PART_CODE,
  PART_GLOBALS,
  PART_CLOSURE,
  PART_DEFAULTS,
  PART_KWDEFAULTS,
  PART_ANNOTATIONS,
  PART_DICT,
  PART_OWN,
  PART_COUNT
};

static bool make_annotations(PyObject *function, PyObject *from) {
  if (PyDict_CheckExact(from)) return PyFunction_SetAnnotations(function, from) == 0;
  PyObject *dict = PyDict_New();
  bool good = dict && PyTuple_CheckExact(from);
  for (Py_ssize_t i = 0; good && i + 1 < PyTuple_GET_SIZE(from); i += 2)
    good = PyDict_SetItem(dict, PyTuple_GET_ITEM(from, i), PyTuple_GET_ITEM(from, i + 1)) == 0;
  good = good && PyFunction_SetAnnotations(function, dict) == 0;
  Py_XDECREF(dict);
  return good;
}

static bool make_closure(PyObject *function, PyObject *cells) {
  PyObject *tuple = PySequence_Tuple(cells);
  bool good = tuple && PyFunction_SetClosure(function, tuple) == 0;
  Py_XDECREF(tuple);
  return good;
}

static bool make_own(PyObject *function, PyObject *own) {
  PyObject *key, *item;
  for (Py_ssize_t pos = 0; PyDict_Next(own, &pos, &key, &item);)
    if (PyObject_GenericSetAttr(function, key, item)) return false;
  return true;
}

/* make_function(parts...): each may be None. */
static PyObject *make_function(PyObject *module, PyObject *const *parts, Py_ssize_t count) {
  if (count != PART_COUNT) return PyErr_BadArgument(), NULL;
  PyObject *made = PyFunction_New(parts[PART_CODE], parts[PART_GLOBALS]);
  bool good = made != NULL;
#define PART(PART, SET)                                                                            \
  if (good && parts[PART] != Py_None) good = SET
  PART(PART_CLOSURE, make_closure(made, parts[PART_CLOSURE]));
  PART(PART_DEFAULTS, PyFunction_SetDefaults(made, parts[PART_DEFAULTS]) == 0);
  PART(PART_KWDEFAULTS, PyFunction_SetKwDefaults(made, parts[PART_KWDEFAULTS]) == 0);
  PART(PART_ANNOTATIONS, make_annotations(made, parts[PART_ANNOTATIONS]));
  PART(PART_DICT, PyObject_GenericSetDict(made, parts[PART_DICT], NULL) == 0);
  PART(PART_OWN, make_own(made, parts[PART_OWN]));
#undef PART
  if (!good) Py_CLEAR(made);
  return made;
}

recipe *function_rebuild_made(tracer *t, value *v) {
  static PyMethodDef method = {"make_function", (PyCFunction)(void (*)(void))make_function,
                               METH_FASTCALL, NULL};
  const function_data *d = v->any.a;
  if (model_owns(d->globals))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a function of a model is returned");
  value *parts[PART_COUNT] = {value_const(t, (PyObject *)d->code),
                              value_const(t, d->globals),
                              d->closure,
                              d->defaults,
                              d->kwdefaults,
                              d->annotations,
                              d->attrs,
                              d->own};
  for (int i = 0; i < PART_COUNT; i++)
    if (!parts[i]) parts[i] = t->constants.none;
  if (trace_pending(t)) return NULL;
  return trace_rebuild_call(t, PyCFunction_New(&method, NULL), parts, PART_COUNT);
}

recipe *cell_rebuild_made(tracer *t, value *v) {
  if (v->cell.content && !shadow_fill(t, v)) return NULL;
  return trace_rebuild_call(t, Py_NewRef((PyObject *)&PyCell_Type), NULL, 0);
}

recipe *method_rebuild_made(tracer *t, value *v) {
  value *function = v->method.function;
  bool compiled =
      value_is_const(function) && loom_callable_unwrap && loom_callable_unwrap(function->object);
  if ((!value_is_function(function) && !compiled) ||
      (function->object && model_owns(function->object)))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a method of a builtin type is returned");
  value *parts[2] = {function, v->method.self};
  return trace_rebuild_call(t, Py_NewRef((PyObject *)&PyMethod_Type), parts, 2);
}

/* ---- partial(function, *args, **keywords) ---- */

/* call(function, args, keywords) */
static PyObject *make_call(PyObject *module, PyObject *const *parts, Py_ssize_t count) {
  if (count != 3 || !PyTuple_CheckExact(parts[1]) || !PyDict_CheckExact(parts[2]))
    return PyErr_BadArgument(), NULL;
  return PyObject_Call(parts[0], parts[1], parts[2]);
}

static recipe *rebuild_by_call(tracer *t, value *callee, value *args, value *keywords) {
  static PyMethodDef method = {"make_call", (PyCFunction)(void (*)(void))make_call, METH_FASTCALL,
                               NULL};
  value *parts[3] = {callee, args, keywords};
  if (!callee || !args || !keywords) return NULL;
  return trace_rebuild_call(t, PyCFunction_New(&method, NULL), parts, 3);
}

recipe *partial_rebuild(tracer *t, value *v) {
  const partial_data *d = v->any.a;
  value *all[1] = {d->function}, *first = value_tuple(t, all, 1);
  value *args = first ? seq_concat(t, &value_tuple_type, first, d->args) : NULL;
  return rebuild_by_call(t, value_const(t, d->type), args, d->keywords);
}

/* ---- generators that have not begun ---- */

static bool generator_is_new(const frame *f) {
  return !f->finished && f->pc > 0 && f->code->instrs[f->pc - 1].op == BC_RETURN_GENERATOR;
}

/* The argument in a slot of a frame that has only been set up. */
static value *generator_argument(const frame *f, int i) {
  value *v = f->locals[i];
  return v && value_is_cell(v) && !v->object ? v->cell.content : v;
}

/* A generator has the names of its function, which may not be those of the code. */
static bool generator_is_renamed(const function_data *d) {
  const PyFunctionObject *f = (const PyFunctionObject *)d->live;
  if (!f) return d->own != NULL;
  return PyUnicode_Compare(f->func_name, d->code->co_name) ||
         PyUnicode_Compare(f->func_qualname, d->code->co_qualname);
}

/* A generator is made by a call of its function, which runs no code yet. */
recipe *generator_rebuild(tracer *t, value *v) {
  const frame *f = v->any.a;
  const PyCodeObject *code = f->code->object;
  int named = code->co_argcount + code->co_kwonlyargcount, at = named;
  if (!generator_is_new(f) || model_owns(f->function->globals) ||
      code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a generator that has begun is returned");
  if (generator_is_renamed(f->function))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a generator of a function with another name");
  t->capture->generators = true;
  value *args = value_tuple(t, NULL, 0), *keywords = value_dict(t), *item;
  for (int i = 0; args && keywords && i < named; i++) {
    if (!(item = generator_argument(f, i))) return NULL;
    value *name = value_const(t, PyTuple_GET_ITEM(code->co_localsplusnames, i));
    if (!name ||
        !(i < code->co_argcount ? seq_append(t, args, item) : dict_put(t, keywords, name, item)))
      return NULL;
  }
  if (args && code->co_flags & CO_VARARGS) {
    item = generator_argument(f, at++);
    args = item && value_is_tuple(item) ? seq_concat(t, &value_tuple_type, args, item) : NULL;
  }
  if (keywords && code->co_flags & CO_VARKEYWORDS) {
    item = generator_argument(f, at);
    if (!item || !dict_update(t, keywords, item, false)) return NULL;
  }
  return rebuild_by_call(t, function_new(t, f->function, NULL), args, keywords);
}

/* ---- instances of Python classes ---- */

/* Gives an object just made an attribute. None of the class's own code runs: what it has as a
 * property or another descriptor of that name is passed by. */
int object_give(PyObject *made, PyObject *name, PyObject *item) {
  PyObject *descr = _PyType_Lookup(Py_TYPE(made), name);
  bool passed = object_is_data_descriptor(descr) && !Py_IS_TYPE(descr, &PyMemberDescr_Type);
  if (!passed) return PyObject_GenericSetAttr(made, name, item);
  PyObject *dict = PyObject_GenericGetDict(made, NULL);
  int failed = dict ? PyDict_SetItem(dict, name, item) : -1;
  Py_XDECREF(dict);
  return failed;
}

/* make_object(cls, attributes): an instance as object.__new__ and object.__setattr__ make it. */
static PyObject *object_make_live(PyObject *module, PyObject *args) {
  PyObject *cls, *attributes, *key, *item, *none = PyTuple_New(0);
  if (!none || !PyArg_ParseTuple(args, "O!O!", &PyType_Type, &cls, &PyDict_Type, &attributes))
    return Py_XDECREF(none), NULL;
  newfunc make = type_is_namespace((PyTypeObject *)cls) ? ((PyTypeObject *)cls)->tp_new
                                                        : PyBaseObject_Type.tp_new;
  PyObject *made = make((PyTypeObject *)cls, none, NULL);
  Py_DECREF(none);
  for (Py_ssize_t pos = 0; made && PyDict_Next(attributes, &pos, &key, &item);)
    if (object_give(made, key, item)) Py_CLEAR(made);
  return made;
}

/* What an object made here holds, as a dictionary that only serves to make it. */
recipe *object_rebuild_attributes(tracer *t, value *v) {
  recipe *r = trace_recipe(t, RECIPE_DICT);
  return r ? trace_rebuild_items(t, r, v->any.b) : NULL;
}

static PyObject *object_read_dict(PyObject *module, PyObject *object) {
  return PyObject_GenericGetDict(object, NULL);
}

recipe *object_rebuild_dict(tracer *t, value *dict) {
  static PyMethodDef method = {"attributes", object_read_dict, METH_O, NULL};
  value *v = pointer_map_get(&t->known.contents, dict);
  if (!v || !value_is_instance(v) || v->any.b != dict) return NULL;
  return trace_rebuild_call(t, PyCFunction_New(&method, NULL), &v, 1);
}

static recipe *object_rebuild_new(tracer *t, value *v) {
  if (object_content(v) || scalar_content(v)) return container_rebuild(t, v);
  static PyMethodDef method = {"make_object", object_make_live, METH_VARARGS, NULL};
  recipe *attributes = object_rebuild_attributes(t, v),
         *r = attributes ? trace_recipe(t, RECIPE_CALL) : NULL;
  recipe *make = r ? trace_recipe(t, RECIPE_CONST) : NULL,
         *cls = make ? trace_recipe(t, RECIPE_CONST) : NULL;
  if (!cls) return NULL;
  make->object = PyCFunction_New(&method, NULL);
  cls->object = Py_NewRef(object_class(v));
  r->items = calloc(3, sizeof *r->items);
  if (!r->items || !make->object) return trace_fail(t);
  r->items[0] = make;
  r->items[1] = cls;
  r->items[2] = attributes;
  r->count = 3;
  return r;
}

recipe *object_rebuild(tracer *t, value *v) {
  if (class_is_made(t, object_class(v)))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an object of a class made inside is returned");
  if (!v->source && model_owns(object_class(v))) return model_rebuild(t, v);
  if (!v->source && object_is_virtual(v)) return object_rebuild_new(t, v);
  if (!v->source)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a new %s is returned",
                       ((PyTypeObject *)object_class(v))->tp_name);
  recipe *r = trace_recipe(t, RECIPE_SOURCE);
  if (r) r->source = v->source;
  return r;
}
