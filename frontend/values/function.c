/* Functions, bound methods, cells, super(): values that calls go through. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/live.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

value *value_lazy(tracer *t, PyObject *object, const source *s) {
  value *v = s ? value_new(t, &value_lazy_type) : NULL;
  if (!v) return NULL;
  v->source = s;
  v->object = trace_keep(t, Py_NewRef(object));
  return v;
}

static const source *function_own(tracer *t, const source *s, const char *name) {
  PyObject *key = trace_keep(t, PyUnicode_InternFromString(name));
  return key && s ? trace_source(t, SOURCE_ATTR, s, NULL, key, 0) : NULL;
}

static value *function_cell(tracer *t, const source *s, PyObject *cell, Py_ssize_t i) {
  value *v = pointer_map_get(&t->known.wrapped, cell);
  const source *closure = function_own(t, s, "__closure__"), *own = NULL;
  PyObject *key = closure ? trace_keep(t, PyLong_FromSsize_t(i)) : NULL;
  if (!key || !(own = trace_source(t, SOURCE_ITEM, closure, NULL, key, 0))) return NULL;
  if (v) { /* another function's, or the frame's own */
    const source *first = v->source ? v->source : v->any.b;
    if (first && first != own)
      trace_guard(t, (guard){.kind = GUARD_SAME, .source = first, .source2 = own, .number = 1});
    return v;
  }
  const source *at = trace_source(t, SOURCE_CELL, s, NULL, NULL, i);
  if (!at || !(v = value_new(t, &value_cell_type))) return NULL;
  v->object = trace_keep(t, Py_NewRef(cell));
  v->any.b = (void *)own;
  if (!trace_map_set(t, &t->known.wrapped, cell, v)) return NULL;
  if (PyCell_GET(cell))
    v->cell.content = value_lazy(t, PyCell_GET(cell), at);
  else
    guard_simple(t, GUARD_MISSING, at, NULL, 0);
  return v;
}

static bool function_closure(tracer *t, function_data *data, PyFunctionObject *f, const source *s) {
  if (!f->func_closure) return true;
  Py_ssize_t count = PyTuple_GET_SIZE(f->func_closure);
  data->closure = value_list(t, NULL, 0);
  for (Py_ssize_t i = 0; data->closure && i < count; i++) {
    value *cell = function_cell(t, s, PyTuple_GET_ITEM(f->func_closure, i), i);
    if (!cell || !seq_append(t, data->closure, cell)) return false;
  }
  return data->closure != NULL;
}

/* Defaults stay lazy: one that a call does not use is not guarded. Their number is, since it says
 * which is whose. */
static bool function_defaults(tracer *t, function_data *data, PyFunctionObject *f,
                              const source *s) {
  const source *all = function_own(t, s, "__defaults__");
  if (!all) return false;
  if (!f->func_defaults || !PyTuple_CheckExact(f->func_defaults)) {
    if (f->func_code && ((PyCodeObject *)f->func_code)->co_argcount)
      guard_simple(t, GUARD_IDENTITY, all, Py_None, 0);
    return true;
  }
  guard_simple(t, GUARD_LENGTH, all, NULL, PyTuple_GET_SIZE(f->func_defaults));
  data->defaults = value_list(t, NULL, 0);
  for (Py_ssize_t i = 0; data->defaults && i < PyTuple_GET_SIZE(f->func_defaults); i++) {
    value *item = value_lazy(t, PyTuple_GET_ITEM(f->func_defaults, i),
                             trace_source(t, SOURCE_DEFAULT, s, NULL, NULL, i));
    if (!item || !seq_append(t, data->defaults, item)) return false;
  }
  return data->defaults != NULL;
}

static bool function_kwdefaults(tracer *t, function_data *data, PyFunctionObject *f,
                                const source *s) {
  PyObject *key, *item;
  if (!f->func_kwdefaults || !PyDict_CheckExact(f->func_kwdefaults)) return true;
  if (!(data->kwdefaults = value_dict(t))) return false;
  for (Py_ssize_t pos = 0; PyDict_Next(f->func_kwdefaults, &pos, &key, &item);) {
    if (!PyUnicode_CheckExact(key)) continue;
    value *name = value_const(t, key);
    value *lazy =
        name ? value_lazy(t, item, trace_source(t, SOURCE_KWDEFAULT, s, NULL, key, 0)) : NULL;
    if (!lazy || !seq_append(t, data->kwdefaults, name) || !seq_append(t, data->kwdefaults, lazy))
      return false;
  }
  return true;
}

function_data *function_get(tracer *t, value *v) {
  if (v->any.a) return v->any.a;
  PyFunctionObject *f = (PyFunctionObject *)v->object;
  const source *s = value_source(t, v);
  function_data *data = trace_alloc(t, sizeof *data);
  if (!s || !data) return NULL;
  data->code = (PyCodeObject *)f->func_code;
  data->globals = f->func_globals;
  data->live = v->object;
  bool fresh = s->kind == SOURCE_ARG || s->kind == SOURCE_ITEM || s->kind == SOURCE_CELL ||
               s->kind == SOURCE_DERIVED;
  guard_simple(t, GUARD_IDENTITY, function_own(t, s, "__code__"), f->func_code, 0);
  if (fresh) /* likely to be made anew for each call */
    guard_simple(t, GUARD_IDENTITY, function_own(t, s, "__globals__"), f->func_globals, 0);
  else if (s->kind != SOURCE_FUNCTION && s->kind != SOURCE_CONST)
    guard_simple(t, GUARD_IDENTITY, s, v->object, 0);
  bool root = s->kind == SOURCE_FUNCTION; /* its arguments come bound */
  if (root) return function_closure(t, data, f, s) ? (v->any.a = data) : NULL;
  if (!function_closure(t, data, f, s) || !function_defaults(t, data, f, s) ||
      !function_kwdefaults(t, data, f, s))
    return trace_pending(t)
               ? NULL
               : trace_break(t, BREAK_UNSUPPORTED_TYPE, "a function that cannot be read");
  return v->any.a = data;
}

value *function_new(tracer *t, function_data *data, value *name) {
  value *v = value_new(t, &value_function_type);
  if (!v) return NULL;
  v->any.a = data;
  v->any.b = name;
  return v;
}

static value *function_call(tracer *t, value *v, value *const *args, Py_ssize_t count,
                            PyObject *kwnames) {
  function_data *data = function_get(t, v);
  return data ? loom_eval->call(t, data, args, count, kwnames) : NULL;
}

/* Attributes that every function has, besides those of its dictionary. */
static bool function_own_name(const char *name) {
  static const char *const names[] = {"__name__", "__qualname__", "__module__", "__doc__",
                                      "__annotations__"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(name, names[i])) return true;
  return PYTHON_HAS_TYPE_PARAMETERS && !strcmp(name, "__type_params__");
}

/* f.__get__(object, type): the method, or the function itself. */
static value *function_bind(tracer *t, value *v, value *const *args, Py_ssize_t count,
                            PyObject *kwnames) {
  if (!args_check(t, "__get__", count, 1, 2, kwnames)) return NULL;
  if (!value_is_none(args[0])) return value_method(t, v, args[0]);
  if (count == 2 && !value_is_none(args[1])) return v;
  return trace_raise(t, PyExc_TypeError, "__get__(None, None) is invalid");
}

static value *builtin_method_of(tracer *t, const builtin_method *row, value *self);

static value *function_missing(tracer *t, value *v, PyObject *name) {
  static const builtin_method bind = {"__get__", function_bind};
  if (!PyUnicode_CompareWithASCIIString(name, "__get__")) return builtin_method_of(t, &bind, v);
  if (_PyType_Lookup(&PyFunction_Type, name))
    return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a function", PyUnicode_AsUTF8(name));
  return trace_raise(t, PyExc_AttributeError, "'function' object has no attribute '%s'",
                     PyUnicode_AsUTF8(name));
}

static value *function_live_attr(tracer *t, value *v, PyObject *name) {
  const source *s = value_source(t, v),
               *at = s ? trace_source(t, SOURCE_ATTR, s, NULL, name, 0) : NULL;
  PyObject *const args[1] = {NULL};
  const source here = {.kind = SOURCE_CONST, .object = v->object},
               like = {.kind = SOURCE_ATTR, .base = &here, .key = name};
  if (!at) return NULL;
  const overlay *changes = overlay_of(t, v->object, true);
  const overlay_slot *changed = overlay_find(changes, name);
  if (changed) return changed->item;
  if (changes && !PyUnicode_CompareWithASCIIString(name, "__dict__"))
    return trace_break(t, BREAK_SIDE_EFFECT, "the __dict__ of a function that has changed");
  PyObject *item = source_read(&like, args);
  if (item) return value_wrap(t, trace_keep(t, item), at);
  guard_simple(t, GUARD_MISSING, at, NULL, 0);
  return function_missing(t, v, name);
}

static value *function_made_default(tracer *t, function_data *data, const char *name) {
  PyObject *consts = data->code->co_consts;
  if (!strcmp(name, "__name__")) return value_const(t, data->code->co_name);
  if (!strcmp(name, "__qualname__")) return value_const(t, data->code->co_qualname);
  if (!strcmp(name, "__doc__")) {
    PyObject *doc = PyTuple_GET_SIZE(consts) ? PyTuple_GET_ITEM(consts, 0) : Py_None;
    return value_const(t, PyUnicode_CheckExact(doc) ? doc : Py_None);
  }
  if (!strcmp(name, "__module__")) {
    PyObject *module = PyDict_GetItemString(data->globals, "__name__");
    return value_const(t, module && PyUnicode_CheckExact(module) ? module : Py_None);
  }
  if (!strcmp(name, "__type_params__")) return value_tuple(t, NULL, 0);
  value *key = value_str(t, name), *all = value_dict(t), *from = data->annotations;
  if (data->annotated && (!from || !value_is_tuple(from)))
    return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a function", name);
  for (Py_ssize_t i = 0; all && data->annotated && i + 1 < from->seq.count; i += 2)
    if (!dict_put(t, all, from->seq.items[i], from->seq.items[i + 1])) return NULL;
  if (!data->own) data->own = value_dict(t);
  return key && all && data->own && dict_put(t, data->own, key, all) ? all : NULL;
}

static value *function_made_attr(tracer *t, value *v, function_data *data, PyObject *name) {
  const char *text = PyUnicode_AsUTF8(name);
  bool own = function_own_name(text);
  value *dict = own ? data->own : data->attrs, *key = value_const(t, name);
  if (!strcmp(text, "__defaults__")) return data->defaults ? data->defaults : t->constants.none;
  if (!strcmp(text, "__kwdefaults__"))
    return data->kwdefaults ? data->kwdefaults : t->constants.none;
  if (!strcmp(text, "__closure__")) return data->closure ? data->closure : t->constants.none;
  if (!strcmp(text, "__dict__")) return data->attrs ? data->attrs : (data->attrs = value_dict(t));
  value *item = dict && key ? dict_get(t, dict, key) : NULL;
  if (item || trace_pending(t)) return item;
  return own ? function_made_default(t, data, text) : function_missing(t, v, name);
}

static value *function_get_attr(tracer *t, value *v, PyObject *name) {
  function_data *data = function_get(t, v);
  if (!data) return NULL;
  if (!PyUnicode_CompareWithASCIIString(name, "__code__"))
    return value_const(t, (PyObject *)data->code);
  return v->object ? function_live_attr(t, v, name) : function_made_attr(t, v, data, name);
}

static bool function_set_attr(tracer *t, value *v, PyObject *name, value *item) {
  const char *text = PyUnicode_AsUTF8(name);
  bool own = function_own_name(text);
  if (v->object && item && !own && !_PyType_Lookup(&PyFunction_Type, name)) {
    overlay *o = overlay_open(t, v->object, value_source(t, v), true);
    return o && overlay_put(t, o, name, item);
  }
  if (v->object || !item || (!own && _PyType_Lookup(&PyFunction_Type, name))) {
    trace_break(t, BREAK_SIDE_EFFECT, "assignment to '%s' of a function", text);
    return false;
  }
  function_data *data = v->any.a;
  value **dict = own ? &data->own : &data->attrs, *key = value_const(t, name);
  if (!*dict && !(*dict = value_dict(t))) return false;
  return key && dict_put(t, *dict, key, item);
}

static PyObject *function_python_type(tracer *t, value *v) { return (PyObject *)&PyFunction_Type; }

static recipe *function_rebuild(tracer *t, value *v) {
  if (!v->source) return v->object ? NULL : function_rebuild_made(t, v);
  recipe *r = trace_recipe(t, RECIPE_SOURCE);
  if (r) r->source = v->source;
  return r;
}

static value *function_compare(tracer *t, int op, value *l, value *r) {
  bool same;
  if (op != Py_EQ && op != Py_NE) return trace_not_implemented(t);
  if (l->type != r->type) return trace_not_implemented(t);
  return value_same(t, l, r, &same) ? value_bool(t, same == (op == Py_EQ)) : NULL;
}

static int always_true(tracer *t, value *v) { return 1; }

static void function_walk(roll_walk *w, value *v) {
  function_data *d = v->any.a;
  roll_pointer(w, v->object);
  roll_pointer(w, v->any.b);
  roll_pointer(w, d);
  if (!d) return;
  roll_pointer(w, d->code);
  roll_pointer(w, d->globals);
  roll_token(w, d->annotated);
  value **parts[] = {&d->defaults, &d->kwdefaults, &d->closure,
                     &d->attrs,    &d->own,        &d->annotations};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    roll_value(w, parts[i]);
}

static bool function_key(tracer *t, value *v) { return true; }

const value_type value_function_type = {.name = "function",
                                        .compare = function_compare,
                                        .truth = always_true,
                                        .get_attr = function_get_attr,
                                        .set_attr = function_set_attr,
                                        .call = function_call,
                                        .python_type = function_python_type,
                                        .rebuild = function_rebuild,
                                        .walk = function_walk,
                                        .known = value_known_object,
                                        .key = function_key,
                                        .copy = copy_same};

/* ---- bound methods -------------------------------------------------------------------------- */

static const value_type value_method_type;

value *value_method(tracer *t, value *function, value *self) {
  value *v = value_new(t, &value_method_type);
  if (!v) return NULL;
  v->method.function = function;
  v->method.self = self;
  return v;
}

static value *method_call(tracer *t, value *v, value *const *args, Py_ssize_t count,
                          PyObject *kwnames) {
  Py_ssize_t all = count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  value **with_self = trace_alloc(t, (size_t)(all + 1) * sizeof *with_self);
  if (!with_self) return NULL;
  with_self[0] = v->method.self;
  if (all) memcpy(with_self + 1, args, (size_t)all * sizeof *args);
  return trace_call(t, v->method.function, with_self, count + 1, kwnames);
}

static value *method_get_attr(tracer *t, value *v, PyObject *name) {
  if (!PyUnicode_CompareWithASCIIString(name, "__self__")) return v->method.self;
  if (!PyUnicode_CompareWithASCIIString(name, "__func__")) return v->method.function;
  return trace_get_attr(t, v->method.function, name);
}

static PyObject *method_python_type(tracer *t, value *v) {
  bool python = value_is_function(v->method.function);
  return (PyObject *)(python ? &PyMethod_Type : &PyCFunction_Type);
}

static recipe *method_rebuild(tracer *t, value *v) {
  if (!v->source) return method_rebuild_made(t, v);
  recipe *r = trace_recipe(t, RECIPE_SOURCE);
  if (r) r->source = v->source;
  return r;
}

/* Equal with one function and one self, though each access makes another object. */
static value *method_compare(tracer *t, int op, value *l, value *r) {
  bool same = false;
  if ((op != Py_EQ && op != Py_NE) || l->type != r->type) return trace_not_implemented(t);
  if (!value_same(t, l->method.self, r->method.self, &same)) return NULL;
  if (same && !value_same(t, l->method.function, r->method.function, &same)) return NULL;
  return value_bool(t, same == (op == Py_EQ));
}

static value *unknown_compare(tracer *t, int op, value *l, value *r) {
  if (l->type != r->type || (op != Py_EQ && op != Py_NE)) return trace_not_implemented(t);
  return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a comparison of a %s", l->type->name);
}

static void method_walk(roll_walk *w, value *v) {
  roll_pointer(w, v->object);
  roll_value(w, &v->method.function);
  roll_value(w, &v->method.self);
}

static const value_type value_method_type = {.name = "method",
                                             .kinds = VALUE_IS_FRESH | VALUE_IS_BOUND,
                                             .compare = method_compare,
                                             .truth = always_true,
                                             .get_attr = method_get_attr,
                                             .call = method_call,
                                             .python_type = method_python_type,
                                             .rebuild = method_rebuild,
                                             .walk = method_walk};

static recipe *cell_rebuild(tracer *t, value *v) {
  const source *s = v->source ? v->source : v->object ? v->any.b : NULL;
  if (v->object && !s) return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a cell of a function");
  if (!s) return cell_rebuild_made(t, v);
  recipe *r = trace_recipe(t, RECIPE_SOURCE);
  if (r) r->source = s;
  return r;
}

static void cell_walk(roll_walk *w, value *v) {
  roll_pointer(w, v->object);
  roll_value(w, &v->cell.content);
}

const value_type value_cell_type = {
    .name = "cell", .compare = unknown_compare, .rebuild = cell_rebuild, .walk = cell_walk};

/* ---- methods of our own values -------------------------------------------------------------- */

static value *builtin_method_of(tracer *t, const builtin_method *row, value *self) {
  value *v = value_new(t, &value_builtin_method_type);
  if (!v) return NULL;
  v->any.a = (void *)row;
  v->any.b = self;
  return v;
}

value *builtin_method_find(tracer *t, const builtin_method *table, value *self, PyObject *name) {
  const builtin_method *m = table;
  while (m->name && PyUnicode_CompareWithASCIIString(name, m->name))
    m++;
  PyObject *type = value_type_of(t, self);
  if (!type) return NULL;
  bool known = m->name || _PyType_Lookup((PyTypeObject *)type, name);
  if (known && !m->name) m = special_find(self, PyUnicode_AsUTF8(name));
  if (known && m) return builtin_method_of(t, m, self);
  if (known)
    return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a %s", PyUnicode_AsUTF8(name),
                       self->type->name);
  return trace_raise(t, PyExc_AttributeError, "'%s' object has no attribute '%s'",
                     ((PyTypeObject *)type)->tp_name, PyUnicode_AsUTF8(name));
}

static value *builtin_method_call(tracer *t, value *v, value *const *args, Py_ssize_t count,
                                  PyObject *kwnames) {
  const builtin_method *m = v->any.a;
  value *self = v->any.b;
  if (list_is_rolled(self) && strcmp(m->name, "append") && !list_settle(t, self)) return NULL;
  return m->call(t, self, args, count, kwnames);
}

static PyObject *builtin_method_python_type(tracer *t, value *v) {
  return (PyObject *)&PyCFunction_Type;
}

static value *builtin_method_get_attr(tracer *t, value *v, PyObject *name) {
  if (!PyUnicode_CompareWithASCIIString(name, "__self__")) return v->any.b;
  if (!PyUnicode_CompareWithASCIIString(name, "__name__"))
    return value_str(t, ((const builtin_method *)v->any.a)->name);
  return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a method", PyUnicode_AsUTF8(name));
}

static void builtin_method_walk(roll_walk *w, value *v) {
  value *self = v->any.b;
  roll_pointer(w, v->object);
  roll_pointer(w, v->any.a);
  roll_value(w, &self);
}

const value_type value_builtin_method_type = {.name = "builtin method",
                                              .kinds = VALUE_IS_BOUND,
                                              .compare = unknown_compare,
                                              .truth = always_true,
                                              .get_attr = builtin_method_get_attr,
                                              .call = builtin_method_call,
                                              .python_type = builtin_method_python_type,
                                              .walk = builtin_method_walk};

/* ---- super() -------------------------------------------------------------------------------- */

static value *super_get_attr(tracer *t, value *v, PyObject *name) {
  value *after = v->any.a, *self = v->any.b;
  bool of_class = value_is_const(self) && PyType_Check(self->object) &&
                  PyType_IsSubtype((PyTypeObject *)self->object, (PyTypeObject *)after->object);
  PyObject *type = of_class ? self->object : value_type_of(t, self);
  if (!type) return NULL;
  guard_mro(t, (PyTypeObject *)type);
  value *item = type_attr(t, type, name, of_class ? NULL : self, after->object);
  if (item || trace_pending(t)) return item;
  return trace_raise(t, PyExc_AttributeError, "'super' object has no attribute '%s'",
                     PyUnicode_AsUTF8(name));
}

static PyObject *super_python_type(tracer *t, value *v) { return (PyObject *)&PySuper_Type; }

static void super_walk(roll_walk *w, value *v) {
  value *after = v->any.a, *self = v->any.b;
  roll_pointer(w, v->object);
  roll_value(w, &after);
  roll_value(w, &self);
}

const value_type value_super_type = {.name = "super",
                                     .get_attr = super_get_attr,
                                     .python_type = super_python_type,
                                     .walk = super_walk};
