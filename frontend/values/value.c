/* Making values: of constants, of live objects (with the guards for what is read of them), of fresh
 * objects; and what is known of a value: its object, its identity. */
#include "frontend/core/value.h"
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/learnt.h"
#include "frontend/captured/objects.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/numbers.h"
#include "frontend/values/numbers_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/rolled.h"
#include "frontend/values/rolled_internal.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

#include <math.h>

value *value_new(tracer *t, const value_type *type) {
  value *v = trace_alloc(t, sizeof *v);
  if (!v) return NULL;
  v->type = type;
  v->aside = t->live.aside;
  v->born = t->live.values++;
  return v;
}

/* ---- constants ------------------------------------------------------------------------------ */

/* A constant tuple is a tuple like any other; the same object gives the same value. */
static value *const_tuple(tracer *t, PyObject *object) {
  value *v = pointer_map_get(&t->known.wrapped, object);
  if (v) return v;
  Py_ssize_t count = PyTuple_GET_SIZE(object);
  if (!(v = value_tuple(t, NULL, 0))) return NULL;
  for (Py_ssize_t i = 0; i < count; i++) {
    value *item = value_const(t, PyTuple_GET_ITEM(object, i));
    if (!item || !seq_append(t, v, item)) return NULL;
  }
  v->object = trace_keep(t, Py_NewRef(object));
  return v->object && trace_map_set(t, &t->known.wrapped, object, v) ? v : NULL;
}

value *value_const(tracer *t, PyObject *object) {
  if (object == Py_None && t->constants.none) return t->constants.none;
  if (object == Py_True && t->constants.true_value) return t->constants.true_value;
  if (object == Py_False && t->constants.false_value) return t->constants.false_value;
  if (PyFunction_Check(object))
    return value_wrap(t, object, trace_source(t, SOURCE_CONST, NULL, object, NULL, 0));
  if (PyTuple_CheckExact(object)) return const_tuple(t, object);
  value *v = value_new(t, &value_const_type);
  if (v) v->object = trace_keep(t, Py_NewRef(object));
  return v && v->object ? v : NULL;
}

bool trace_constants_init(trace_constants *c, tracer *t) {
  trace_constants made = {.none = value_const(t, Py_None),
                          .true_value = value_const(t, Py_True),
                          .false_value = value_const(t, Py_False),
                          .null = value_new(t, &value_null_type),
                          .not_implemented = value_new(t, &value_null_type)};
  *c = made;
  return made.none && made.true_value && made.false_value && made.null && made.not_implemented;
}

value *value_bool(tracer *t, bool truth) {
  return truth ? t->constants.true_value : t->constants.false_value;
}

value *value_int(tracer *t, int64_t number) {
  PyObject *object = PyLong_FromLongLong(number);
  return object ? value_made(t, object) : trace_fail(t);
}

value *value_str(tracer *t, const char *text) {
  PyObject *object = PyUnicode_FromString(text);
  return object ? value_made(t, object) : trace_fail(t);
}

/* Does not equal itself: a NaN, for which it matters whether two are one object. */
bool object_is_nan(PyObject *o) {
  if (PyFloat_CheckExact(o)) return isnan(PyFloat_AS_DOUBLE(o));
  if (!PyComplex_CheckExact(o)) return false;
  Py_complex c = ((PyComplexObject *)o)->cval;
  return isnan(c.real) || isnan(c.imag);
}

static bool small_singleton(PyObject *o) {
  return o == Py_None || PyBool_Check(o) || o == Py_Ellipsis || o == Py_NotImplemented;
}

/* The object that a lent value stands for, unless it is compared with None or a similar singleton.
 */
static value *identity_side(tracer *t, value *v, const value *other) {
  if (!v->lent || (value_is_const(other) && small_singleton(other->object))) return v;
  value *real = lent_real(t, v);
  return real ? real : v;
}

bool value_identical(tracer *t, value *l, value *r) {
  bool same;
  value *left = identity_side(t, l, r), *right = identity_side(t, r, l);
  if (trace_pending(t)) return false;
  l = left;
  r = right;
  if (l == r) return true;
  if ((l->lent && !value_is_const(r)) || (r->lent && !value_is_const(l)))
    return loom_loops->lent(t, l->lent ? l : r), false;
  if (l->type != r->type || !(value_is_const(l) || l->type->is_object)) return false;
  if (object_is_nan(l->object) && object_is_nan(r->object))
    return value_same(t, l, r, &same) && same;
  return l->object == r->object;
}

bool value_is_none(const value *v) { return value_is_const(v) && v->object == Py_None; }

PyObject *value_str_object(value *v) {
  return value_is_const(v) && PyUnicode_CheckExact(v->object) ? v->object : NULL;
}

PyObject *value_name(tracer *t, value *v, const char *what, const char *message) {
  PyObject *name = value_str_object(v);
  PyTypeObject *type = name ? NULL : (PyTypeObject *)value_type_of(t, v);
  if (type && PyType_IsSubtype(type, &PyUnicode_Type))
    trace_break(t, BREAK_UNSUPPORTED_TYPE, "a name of %s that is not known", what);
  else if (type)
    trace_raise(t, PyExc_TypeError, "%s", message);
  return name;
}

/* ---- live objects --------------------------------------------------------------------------- */

static value *wrap_const(tracer *t, PyObject *object, const source *s, guard_kind kind) {
  value *v = value_new(t, &value_const_type);
  if (!v) return NULL;
  guard_simple(t, kind, s, kind == GUARD_TYPE ? (PyObject *)Py_TYPE(object) : object, 0);
  v->source = s;
  v->object = trace_keep(t, Py_NewRef(object));
  v->any.i = kind == GUARD_TYPE; /* opaque: nothing but its type is guarded */
  return v;
}

/* A number or string is compared by value: a fresh equal one on the next call is as good. */
static value *wrap_scalar(tracer *t, PyObject *object, const source *s) {
  bool singleton = object == Py_None || PyBool_Check(object) || object == Py_Ellipsis ||
                   object == Py_NotImplemented;
  return wrap_const(t, object, s, singleton ? GUARD_IDENTITY : GUARD_NUMBER);
}

static value *wrap_item(tracer *t, const source *s, Py_ssize_t i, PyObject *object) {
  PyObject *key = trace_keep(t, PyLong_FromSsize_t(i));
  const source *item = key ? trace_source(t, SOURCE_ITEM, s, NULL, key, 0) : NULL;
  return item ? value_wrap(t, object, item) : NULL;
}

value *seq_of_live(tracer *t, PyObject *object, const source *s) {
  bool tuple = PyTuple_Check(object);
  Py_ssize_t count = Py_SIZE(object);
  guard_simple(t, GUARD_TYPE, s, (PyObject *)Py_TYPE(object), 0);
  value *rows = PyList_CheckExact(object) ? gather_live(t, object, s) : NULL;
  if (rows || trace_pending(t)) return rows;
  guard_simple(t, GUARD_LENGTH, s, NULL, count);
  if (count > WRAP_MAX_ITEMS)
    return trace_break(t, BREAK_LIMIT, "a %s of %zd items", Py_TYPE(object)->tp_name, count);
  if ((t->live.items += count) > WRAP_MAX_ALL)
    return trace_break(t, BREAK_LIMIT, "lists and tuples of more than %d items", WRAP_MAX_ALL);
  value *v = value_new(t, tuple ? &value_tuple_type : &value_list_type);
  value **items = v ? trace_alloc(t, (size_t)(count ? count : 1) * sizeof *items) : NULL;
  if (!items) return NULL;
  v->source = s;
  v->object = trace_keep(t, Py_NewRef(object));
  v->seq.items = items;
  v->seq.count = v->seq.capacity = count;
  if (tuple) tuple_set_class(v, trace_keep(t, Py_NewRef((PyObject *)Py_TYPE(object))));
  if (!pointer_map_get(&t->known.wrapped, object)) /* before the items: a list may hold itself */
    trace_map_set(t, &t->known.wrapped, object, v);
  for (Py_ssize_t i = 0; i < count; i++) {
    items[i] = t->constants.none;
    PyObject *item = tuple ? PyTuple_GET_ITEM(object, i) : PyList_GET_ITEM(object, i);
    if (!(items[i] = wrap_item(t, s, i, item))) return NULL;
  }
  return v;
}

static value *wrap_dict(tracer *t, PyObject *object, const source *s) {
  guard_simple(t, GUARD_TYPE, s, (PyObject *)&PyDict_Type, 0);
  return live_new(t, object, s, NULL);
}

/* A set of numbers, strings and classes: its length and each item are guarded. Another set that is
 * equal may have another order, which is guarded only when somebody asks for it. */
value *set_of_live(tracer *t, PyObject *object, const source *s, bool frozen) {
  PyObject *key;
  Py_hash_t hash;
  guard_simple(t, GUARD_LENGTH, s, NULL, PySet_GET_SIZE(object));
  if (PySet_GET_SIZE(object) > WRAP_MAX_SET)
    return trace_break(t, BREAK_LIMIT, "a set of many items");
  value *v = value_set(t, frozen);
  if (!v) return NULL;
  for (Py_ssize_t pos = 0; _PySet_NextEntry(object, &pos, &key, &hash);) {
    bool plain = object_is_scalar(key) || Py_IS_TYPE(key, &PyType_Type); /* hashed by C code */
    if (!plain) return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a set of objects");
    const source *at = trace_source(t, SOURCE_ITEM, s, NULL, key, 0);
    value *item = at ? value_wrap(t, key, at) : NULL;
    if (!item || !set_add(t, v, item)) return NULL;
  }
  v->source = s;
  order_live(t, v, s, object);
  return trace_pending(t) ? NULL : v;
}

static value *wrap_set(tracer *t, PyObject *object, const source *s) {
  guard_simple(t, GUARD_TYPE, s, (PyObject *)&PySet_Type, 0);
  return set_of_live(t, object, s, false);
}

static value *wrap_method(tracer *t, PyObject *object, const source *s) {
  guard_simple(t, GUARD_TYPE, s, (PyObject *)&PyMethod_Type, 0);
  const source *self = trace_source(t, SOURCE_SELF, s, NULL, NULL, 0);
  const source *func = trace_source(t, SOURCE_FUNC, s, NULL, NULL, 0);
  if (!self || !func) return NULL;
  value *f = value_wrap(t, PyMethod_GET_FUNCTION(object), func);
  value *v = f ? value_wrap(t, PyMethod_GET_SELF(object), self) : NULL;
  value *method = v ? value_method(t, f, v) : NULL;
  if (method) method->source = s;
  return method;
}

static value *wrap_function(tracer *t, PyObject *object, const source *s) {
  value *v = value_new(t, &value_function_type);
  if (!v) return NULL;
  if (s->kind != SOURCE_FUNCTION && s->kind != SOURCE_CONST)
    guard_simple(t, GUARD_TYPE, s, (PyObject *)&PyFunction_Type, 0);
  v->source = s;
  v->object = trace_keep(t, Py_NewRef(object));
  return v;
}

static value *wrap_slice(tracer *t, PyObject *object, const source *s) {
  static const char *const names[3] = {"start", "stop", "step"};
  PySliceObject *slice = (PySliceObject *)object;
  PyObject *parts[3] = {slice->start, slice->stop, slice->step};
  guard_simple(t, GUARD_TYPE, s, (PyObject *)&PySlice_Type, 0);
  value *v = value_new(t, &value_slice_type);
  value **items = v ? trace_alloc(t, sizeof *items * 3) : NULL;
  if (!items) return NULL;
  for (int i = 0; i < 3; i++) {
    PyObject *name = trace_keep(t, PyUnicode_InternFromString(names[i]));
    const source *at = name ? trace_source(t, SOURCE_ATTR, s, NULL, name, 0) : NULL;
    if (!at || !(items[i] = value_wrap(t, parts[i], at))) return NULL;
  }
  v->seq.items = items;
  v->seq.count = v->seq.capacity = 3;
  v->source = s;
  return v;
}

bool object_is_immutable(PyObject *object) {
  for (const loom_adapter *const *a = loom_adapters(); *a; a++)
    if ((*a)->immutable && (*a)->immutable(object)) return true;
  return false;
}

/* Objects that stand for themselves: a guard by identity says all about them that capture uses. */
static bool wrap_by_identity(PyObject *o) {
  return PyModule_Check(o) || PyType_Check(o) || PyCFunction_Check(o) || PyCode_Check(o) ||
         Py_IS_TYPE(o, &PyMethodDescr_Type) || Py_IS_TYPE(o, &PyWrapperDescr_Type) ||
         Py_IS_TYPE(o, &PyGetSetDescr_Type) || Py_IS_TYPE(o, &PyMemberDescr_Type) ||
         Py_IS_TYPE(o, &PyProperty_Type) || Py_IS_TYPE(o, &PyStaticMethod_Type) ||
         Py_IS_TYPE(o, &PyClassMethod_Type) || PyFrozenSet_CheckExact(o) || PyRange_Check(o) ||
         object_is_cached(o) || (loom_callable_unwrap && loom_callable_unwrap(o)) ||
         object_is_immutable(o);
}

static value *wrap_adapters(tracer *t, PyObject *object, const source *s) {
  for (const loom_adapter *const *a = loom_adapters(); *a; a++) {
    value *v = (*a)->wrap ? (*a)->wrap(t, object, s) : NULL;
    if (v || trace_pending(t)) return v;
  }
  return NULL;
}

static value *wrap_instance(tracer *t, PyObject *object, const source *s) {
  guard_simple(t, GUARD_TYPE, s, (PyObject *)Py_TYPE(object), 0);
  value *v = value_object_new(t, (PyObject *)Py_TYPE(object));
  if (!v) return NULL;
  v->source = s;
  v->object = trace_keep(t, Py_NewRef(object));
  return v->object && container_wrap(t, v) && scalar_wrap(t, v) ? v : NULL;
}

/* Objects whose attributes and special methods are followed. */
static bool wrap_is_instance(PyObject *o) {
  if (type_is_namespace(Py_TYPE(o))) return true;
  if (python_type_is_builtin(Py_TYPE(o))) return false;
  if (PyList_Check(o) || PyDict_Check(o) || PyAnySet_Check(o))
    return container_base(Py_TYPE(o)) != NULL;
  if (PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o) || PyUnicode_Check(o) ||
      PyBytes_Check(o))
    return scalar_base(Py_TYPE(o)) != NULL;
  return !PyTuple_Check(o) && !PyExceptionInstance_Check(o);
}

static value *wrap_new(tracer *t, PyObject *object, const source *s) {
  if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) return seq_of_live(t, object, s);
  if (PyDict_CheckExact(object)) return wrap_dict(t, object, s);
  if (PyTuple_Check(object) && tuple_class_known(t, Py_TYPE(object)))
    return seq_of_live(t, object, s);
  if (PySet_CheckExact(object)) return wrap_set(t, object, s);
  if (PyFunction_Check(object)) return wrap_function(t, object, s);
  if (Py_IS_TYPE(object, &PyMethod_Type)) return wrap_method(t, object, s);
  if (PySlice_Check(object)) return wrap_slice(t, object, s);
  if (object_is_modelled(object)) return model_wrap(t, object, s);
  value *v = live_iter_wrap(t, object, s);
  if (v || trace_pending(t) || (v = wrap_adapters(t, object, s)) || trace_pending(t)) return v;
  if (wrap_by_identity(object)) return wrap_const(t, object, s, GUARD_IDENTITY);
  if (wrap_is_instance(object)) return wrap_instance(t, object, s);
  return wrap_const(t, object, s, GUARD_TYPE);
}

/* A second way to an object that has been met: either both ways are guarded to lead to one object,
 * or the second one is guarded by identity like the first. */
static value *wrap_again(tracer *t, value *v, PyObject *object, const source *s) {
  if (v->source == s) return v;
  if (!v->source || wrap_by_identity(object))
    guard_simple(t, GUARD_IDENTITY, s, object, 0);
  else
    trace_guard(t, (guard){.kind = GUARD_SAME, .source = v->source, .source2 = s, .number = 1});
  return v;
}

bool trace_symbolic(const tracer *t, const source *s) {
  return s && s->kind == SOURCE_ARG && s->index < t->call.count &&
         t->kept->numbers[s->index] != NUMBER_KNOWN;
}

static bool wrap_symbolic(tracer *t, PyObject *object, const source *s) {
  return PyFloat_CheckExact(object) && (trace_symbolic(t, s) || size_float_changes(t, s));
}

/* An int: by value, or a number of the graph. */
static value *wrap_int(tracer *t, PyObject *object, const source *s) {
  int overflow;
  int64_t now = PyLong_AsLongLongAndOverflow(object, &overflow), number = now;
  if (overflow || LOOM_STRIDE_IS_SYM(now)) return wrap_scalar(t, object, s); /* reads as a symbol */
  if (!size_read(t, s, SIZE_OF_INT, 0, now, &number)) return NULL;
  if (!LOOM_STRIDE_IS_SYM(number)) return wrap_scalar(t, object, s);
  guard_simple(t, GUARD_TYPE, s, (PyObject *)&PyLong_Type, 0);
  value *v = value_size(t, number);
  if (v) v->source = s;
  return v;
}

static value *wrap_number(tracer *t, PyObject *object, const source *s) {
  loom_type type = {.dtype = LOOM_F64};
  guard_simple(t, GUARD_TYPE, s, (PyObject *)Py_TYPE(object), 0);
  value *v = value_new(t, &value_number_type);
  if (!v) return NULL;
  v->source = s;
  v->number.node = trace_input(t, LOOM_INPUT_SCALAR, &type, NULL, s, NULL);
  return v->number.node == LOOM_NO_VALUE ? NULL : v;
}

value *value_wrap(tracer *t, PyObject *object, const source *s) {
  if (!s) return value_const(t, object);
  value *v = pointer_map_get(&t->known.by_source, s);
  if (v || !trace_goes_deeper(t)) return v;
  if (wrap_symbolic(t, object, s)) {
    v = wrap_number(t, object, s);
  } else if (PyLong_CheckExact(object)) {
    v = wrap_int(t, object, s);
  } else if (object_is_scalar(object)) {
    v = wrap_scalar(t, object, s);
  } else if ((v = pointer_map_get(&t->known.wrapped, object))) {
    v = wrap_again(t, v, object, s);
  } else if ((v = wrap_new(t, object, s)) && shadow_catch_up(t, v, object)) {
    trace_keep(t, Py_NewRef(object)); /* its address is a key */
    trace_map_set(t, &t->known.wrapped, object, v);
  }
  if (v) trace_map_set(t, &t->known.by_source, s, v);
  return v && !trace_pending(t) ? v : NULL;
}

/* ---- fresh objects -------------------------------------------------------------------------- */

static value *made_sequence(tracer *t, PyObject *object) {
  Py_ssize_t count = Py_SIZE(object);
  bool tuple = PyTuple_CheckExact(object);
  value **items = trace_alloc(t, (size_t)(count ? count : 1) * sizeof *items);
  if (!items) return NULL;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *item = tuple ? PyTuple_GET_ITEM(object, i) : PyList_GET_ITEM(object, i);
    if (!(items[i] = value_made(t, Py_NewRef(item)))) return NULL;
  }
  return tuple ? value_tuple(t, items, count) : value_list(t, items, count);
}

static value *made_dict(tracer *t, PyObject *object) {
  value *dict = value_dict(t);
  PyObject *key, *item;
  for (Py_ssize_t pos = 0; dict && PyDict_Next(object, &pos, &key, &item);) {
    value *k = value_made(t, Py_NewRef(key)), *v = k ? value_made(t, Py_NewRef(item)) : NULL;
    if (!v || !dict_put(t, dict, k, v)) return NULL;
  }
  return dict;
}

static value *made_set(tracer *t, PyObject *object) {
  value *set = value_set(t, PyFrozenSet_CheckExact(object));
  PyObject *key;
  Py_hash_t hash;
  for (Py_ssize_t pos = 0; set && _PySet_NextEntry(object, &pos, &key, &hash);) {
    value *k = value_made(t, Py_NewRef(key));
    if (!k || !set_add(t, set, k)) return NULL;
  }
  if (set) order_twin(t, set, object);
  return set;
}

value *value_made(tracer *t, PyObject *object) {
  if (!object) return trace_raise_live(t);
  value *v = NULL;
  if (!trace_goes_deeper(t)) return Py_DECREF(object), NULL;
  if (PyTuple_CheckExact(object) || PyList_CheckExact(object))
    v = made_sequence(t, object);
  else if (PyDict_CheckExact(object))
    v = made_dict(t, object);
  else if (PyAnySet_CheckExact(object))
    v = made_set(t, object);
  else if (object_is_scalar(object) || PyRange_Check(object) || wrap_by_identity(object))
    v = value_const(t, object);
  else if (!(v = wrap_adapters(t, object, NULL)) && !trace_pending(t))
    trace_break(t, BREAK_UNSUPPORTED_TYPE, "a new %s", Py_TYPE(object)->tp_name);
  Py_DECREF(object);
  return v;
}

/* ---- what is known of a value --------------------------------------------------------------- */

const source *value_source(tracer *t, value *v) {
  if (v->source) return v->source;
  return v->object ? trace_source(t, SOURCE_CONST, NULL, v->object, NULL, 0) : NULL;
}

PyObject *value_identity(tracer *t, value *v) {
  if (!v->object) return NULL;
  if (v->source && !(value_is_const(v) && object_is_scalar(v->object)))
    guard_simple(t, GUARD_IDENTITY, v->source, v->object, 0);
  return v->object;
}

PyObject *value_known_object(tracer *t, value *v, bool plain) {
  return plain ? NULL : Py_XNewRef(value_identity(t, v));
}

static PyObject *value_object_of(tracer *t, value *v, bool plain) {
  if (trace_pending(t) || !trace_goes_deeper(t)) return NULL;
  return v->type->known ? v->type->known(t, v, plain) : NULL;
}

#define VALUE_DEPTH 8

static bool value_has_data_below(const value *v, int depth) {
  if (value_is_number(v)) return !number_is_size(v);
  if (!value_is_sequence(v)) return false;
  for (Py_ssize_t i = 0; depth && i < v->seq.count; i++)
    if (value_has_data_below(v->seq.items[i], depth - 1)) return true;
  return false;
}

bool value_has_data(const value *v) { return value_has_data_below(v, VALUE_DEPTH); }

PyObject *value_known(tracer *t, value *v) { return value_object_of(t, v, false); }

PyObject *value_plain(tracer *t, value *v) { return value_object_of(t, v, true); }

bool value_known_int(tracer *t, value *v, int64_t *out) {
  return v->type->known_int && v->type->known_int(t, v, out);
}

PyObject *value_type_of(tracer *t, value *v) {
  if (v->type->python_type) return v->type->python_type(t, v);
  return trace_break(t, BREAK_UNSUPPORTED_TYPE, "the type of a %s", v->type->name);
}

/* `is` on numbers and strings depends on how the interpreter shares them: with a source, on this
 * very object. */
bool value_same(tracer *t, value *l, value *r, bool *same) {
  value *left = identity_side(t, l, r), *right = identity_side(t, r, l);
  if (trace_pending(t)) return false;
  l = left;
  r = right;
  *same = l == r;
  if (l == r) return true;
  if (l->type == r->type && l->type->is_object) return *same = l->object == r->object, true;
  if ((l->type->is_object && value_is_instance(r)) || (r->type->is_object && value_is_instance(l)))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "the identity of an object of the library's");
  if ((l->lent && !value_is_const(r)) || (r->lent && !value_is_const(l)))
    return loom_loops->lent(t, l->lent ? l : r), false;
  if ((l->chosen || r->chosen) && l->type == r->type) {
    t->kept->never_choose = true;
    if (t->state == TRACE_GOING) t->state = TRACE_RESTART;
    return false;
  }
  if (value_is_const(l) && value_is_const(r)) {
    *same = l->object == r->object;
    if (small_singleton(l->object) || small_singleton(r->object)) return true;
    if (object_is_scalar(l->object) && object_is_scalar(r->object)) {
      guard_simple(t, GUARD_IDENTITY, l->source, l->object, 0);
      guard_simple(t, GUARD_IDENTITY, r->source, r->object, 0);
      return true;
    }
  }
  if ((l->type->kinds | r->type->kinds) & VALUE_IS_FRESH) return true;
  if (l->type == r->type && l->type->same && (!l->type->same(t, l, r, same) || *same))
    return !trace_pending(t);
  if (value_is_number(l) || value_is_number(r)) {
    value *other = value_is_number(l) ? r : l;
    value *number = other == l ? r : l;
    bool truth = value_is_const(other) && PyBool_Check(other->object) &&
                 value_type_of(t, number) == (PyObject *)&PyBool_Type;
    if (!truth && value_is_const(other) && small_singleton(other->object)) return true;
    trace_break(t, BREAK_DATA_DEPENDENT, "the identity of a number");
    return false;
  }
  if (l->source && r->source)
    trace_guard(
        t, (guard){.kind = GUARD_SAME, .source = l->source, .source2 = r->source, .number = 0});
  return true;
}
