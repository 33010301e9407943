/* Constructors (int, str, list, ...), attributes and classes, operators as functions. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/library/internal.h"
#include "frontend/library/library.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

value *builtin_keyword(const builtin_args *a, const char *name) {
  for (Py_ssize_t i = 0; a->kwnames && i < PyTuple_GET_SIZE(a->kwnames); i++)
    if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(a->kwnames, i), name))
      return a->args[a->count + i];
  return NULL;
}

bool builtin_check(tracer *t, const builtin_args *a, Py_ssize_t least, Py_ssize_t most,
                   const char *const *keywords) {
  Py_ssize_t known = 0;
  for (; keywords && *keywords; keywords++)
    known += builtin_keyword(a, *keywords) != NULL;
  Py_ssize_t named = a->kwnames ? PyTuple_GET_SIZE(a->kwnames) : 0;
  if (named != known) {
    trace_break(t, BREAK_UNSUPPORTED_TYPE, "%s() with other keywords",
                a->name ? a->name : "function");
    return false;
  }
  if (a->count >= least && (most < 0 || a->count <= most)) return true;
  trace_raise(t, PyExc_TypeError, "%s() takes other arguments", a->name ? a->name : "function");
  return false;
}

#define CHECK(LEAST, MOST)                                                                         \
  if (!builtin_check(t, a, LEAST, MOST, NULL)) return NULL

/* ---- numbers -------------------------------------------------------------------------------- */

value *builtin_number(tracer *t, const builtin_args *a) {
  return call_real(t, a->callee, a->args, a->count, a->kwnames);
}

value *builtin_int(tracer *t, const builtin_args *a) {
  if (a->count == 1 && !a->kwnames) {
    value *v = a->args[0];
    if (value_is_number(v) && value_type_of(t, v) == (PyObject *)&PyLong_Type) return v;
    if (v->type->number) return v->type->number(t, v, &PyLong_Type);
    value *result = special_or_pass(t, v, "__int__", &PyLong_Type);
    if (result == t->constants.not_implemented)
      result = special_or_pass(t, v, "__index__", &PyLong_Type);
    if (result != t->constants.not_implemented) return result;
  }
  return builtin_number(t, a);
}

value *builtin_float(tracer *t, const builtin_args *a) {
  if (a->count == 1 && !a->kwnames) {
    if (value_is_number(a->args[0])) return number_to_float(t, a->args[0]);
    if (a->args[0]->type->number) return a->args[0]->type->number(t, a->args[0], &PyFloat_Type);
    value *result = special_or_pass(t, a->args[0], "__float__", &PyFloat_Type);
    if (result != t->constants.not_implemented) return result;
  }
  return builtin_number(t, a);
}

/* What a class's own __hash__ gives is taken as an int's hash is when it is too large. */
value *builtin_hash(tracer *t, const builtin_args *a) {
  CHECK(1, 1);
  value *v = a->args[0];
  if (!value_is_instance(v)) return call_real(t, a->callee, a->args, 1, NULL);
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  if (class_special(t, type, "__hash__") == Py_None)
    return trace_raise(t, PyExc_TypeError, "unhashable type: '%s'", type->tp_name);
  value *content = scalar_plain(t, v, "__hash__");
  if (content && object_is_nan(content->object))
    return t->constants.not_implemented; /* by its address */
  if (content) return call_real(t, a->callee, &content, 1, NULL);
  if (!type_runs_python(t, type, "__hash__")) return t->constants.not_implemented;
  value *result = special_or_pass(t, v, "__hash__", &PyLong_Type);
  if (!result || !value_is_const(result)) return result ? t->constants.not_implemented : NULL;
  Py_ssize_t hash = PyLong_AsSsize_t(result->object);
  if (hash == -1 && PyErr_Occurred()) {
    error_drop();
    hash = PyObject_Hash(result->object);
  }
  return value_int(t, hash == -1 ? -2 : hash);
}

value *builtin_recursion_limit(tracer *t, const builtin_args *a) {
  CHECK(0, 0);
  const source *module = trace_source(t, SOURCE_CONST, NULL, PyImport_AddModule("sys"), NULL, 0);
  PyObject *key = trace_keep(t, PyUnicode_InternFromString("getrecursionlimit()"));
  const source *s = module && key ? trace_source(t, SOURCE_DERIVED, module, NULL, key, 0) : NULL;
  PyObject *limit = s ? trace_keep(t, PyLong_FromLong(Py_GetRecursionLimit())) : NULL;
  return limit ? value_wrap(t, limit, s) : NULL;
}

value *builtin_round(tracer *t, const builtin_args *a) {
  if (a->count && !a->kwnames && value_is_instance(a->args[0])) {
    value *result = trace_method(t, a->args[0], "__round__", a->args + 1, a->count - 1);
    return result || trace_pending(t) ? result : t->constants.not_implemented;
  }
  return builtin_number(t, a);
}

value *builtin_bool(tracer *t, const builtin_args *a) {
  CHECK(0, 1);
  loom_value condition = a->count ? trace_condition(t, a->args[0]) : LOOM_NO_VALUE;
  if (condition != LOOM_NO_VALUE) return trace_condition_value(t, condition);
  int truth = a->count ? trace_truth(t, a->args[0]) : 0;
  return truth < 0 ? NULL : value_bool(t, truth);
}

value *builtin_build_class(tracer *t, const builtin_args *a) {
  return class_build(t, a->args, a->count, a->kwnames);
}

value *builtin_descriptor(tracer *t, const builtin_args *a) {
  return class_descriptor(t, a->callee, a->args, a->count, a->kwnames);
}

value *builtin_copy(tracer *t, const builtin_args *a) {
  if (a->count != 1 || a->kwnames) return t->constants.not_implemented;
  return copy_shallow(t, a->args[0]);
}

value *builtin_deepcopy(tracer *t, const builtin_args *a) {
  value *given = a->count == 2 ? a->args[1] : builtin_keyword(a, "memo");
  if (a->count < 1 || a->count > 2 || (a->kwnames && (!given || PyTuple_GET_SIZE(a->kwnames) > 1)))
    return t->constants.not_implemented;
  return copy_deeply(t, a->args[0], given && !value_is_none(given) ? given : NULL);
}

value *builtin_abs(tracer *t, const builtin_args *a) {
  CHECK(1, 1);
  return trace_unary(t, UNOP_ABS, a->args[0]);
}

/* Numbers of a library may warn, in the user's name: that library has to see to it. */
static bool numbers_are_plain(const builtin_args *a) {
  for (Py_ssize_t i = 0; i < a->count; i++)
    if (a->args[i]->type->kinds & VALUE_IS_FOREIGN) return false;
  return true;
}

value *builtin_divmod(tracer *t, const builtin_args *a) {
  CHECK(2, 2);
  for (int i = 0; i < 2; i++) {
    if (!number_is_size(a->args[i]) || !value_is_whole(a->args[1 - i])) continue;
    value *parts[2] = {trace_binary(t, 2, a->args[0], a->args[1], false)};
    if (parts[0]) parts[1] = trace_binary(t, 6, a->args[0], a->args[1], false);
    return parts[0] && parts[1] ? value_tuple(t, parts, 2) : NULL;
  }
  return numbers_are_plain(a) ? builtin_number(t, a) : t->constants.not_implemented;
}

value *builtin_sqrt(tracer *t, const builtin_args *a) {
  value *known = a->count == 1 && !a->kwnames ? number_sqrt(t, a->args[0]) : NULL;
  return known || trace_pending(t) ? known : builtin_number(t, a);
}

/* math.prod(a.shape) */
value *builtin_prod(tracer *t, const builtin_args *a) {
  value *v = a->count == 1 && !a->kwnames ? a->args[0] : NULL, *product = NULL;
  bool sized = false;
  if (!v || !value_is_tuple(v)) return builtin_number(t, a);
  for (Py_ssize_t i = 0; i < v->seq.count; i++)
    sized |= number_is_size(v->seq.items[i]);
  for (Py_ssize_t i = 0; i < v->seq.count && sized; i++)
    sized = value_is_whole(v->seq.items[i]);
  if (!sized) return builtin_number(t, a);
  for (Py_ssize_t i = 0; i < v->seq.count; i++) {
    value *item = v->seq.items[i];
    product = product ? trace_binary(t, 5, product, item, false) : item;
    if (!product) return NULL;
  }
  return product;
}

value *builtin_pow(tracer *t, const builtin_args *a) {
  if (a->count == 2 && !a->kwnames) return trace_binary(t, 8, a->args[0], a->args[1], false);
  return numbers_are_plain(a) ? builtin_number(t, a) : t->constants.not_implemented;
}

/* ---- text ----------------------------------------------------------------------------------- */

value *builtin_str(tracer *t, const builtin_args *a) {
  if (a->kwnames || a->count > 1) return builtin_number(t, a);
  return a->count ? trace_str(t, a->args[0]) : value_str(t, "");
}

value *builtin_repr(tracer *t, const builtin_args *a) {
  CHECK(1, 1);
  return trace_repr(t, a->args[0]);
}

value *builtin_print(tracer *t, const builtin_args *a) {
  return trace_break(t, BREAK_SIDE_EFFECT, "print()");
}

/* ---- containers ----------------------------------------------------------------------------- */

value *builtin_tuple(tracer *t, const builtin_args *a) {
  CHECK(0, 1);
  value *v = a->count ? trace_listed(t, a->args[0]) : value_tuple(t, NULL, 0);
  return v && tuple_class(v) ? value_tuple(t, v->seq.items, v->seq.count) : v;
}

value *builtin_list(tracer *t, const builtin_args *a) {
  CHECK(0, 1);
  value *items = a->count ? trace_listed(t, a->args[0]) : value_tuple(t, NULL, 0);
  return items ? value_list(t, items->seq.items, items->seq.count) : NULL;
}

value *builtin_dict(tracer *t, const builtin_args *a) {
  value *dict = value_dict(t);
  if (!dict) return NULL;
  if (a->count > 1) return trace_raise(t, PyExc_TypeError, "dict expected at most 1 argument");
  if (a->count && !dict_update(t, dict, a->args[0], false)) return NULL;
  for (Py_ssize_t i = 0; a->kwnames && i < PyTuple_GET_SIZE(a->kwnames); i++) {
    value *key = value_const(t, PyTuple_GET_ITEM(a->kwnames, i));
    if (!key || !dict_put(t, dict, key, a->args[a->count + i])) return NULL;
  }
  return dict;
}

static value *make_set(tracer *t, const builtin_args *a, bool frozen) {
  CHECK(0, 1);
  value *v = a->count ? a->args[0] : NULL;
  if (!v) return value_set(t, frozen);
  bool same =
      value_is_set(v) ? set_is_frozen(v) : value_is_const(v) && PyFrozenSet_CheckExact(v->object);
  return frozen && same ? v : set_from(t, v, frozen);
}

value *builtin_set(tracer *t, const builtin_args *a) { return make_set(t, a, false); }
value *builtin_frozenset(tracer *t, const builtin_args *a) { return make_set(t, a, true); }

value *builtin_slice(tracer *t, const builtin_args *a) {
  CHECK(1, 3);
  value *parts[3] = {t->constants.none, t->constants.none, t->constants.none};
  for (Py_ssize_t i = 0; i < a->count; i++)
    parts[a->count == 1 ? 1 : i] = a->args[i];
  value *v = value_tuple(t, parts, 3);
  if (v) v->type = &value_slice_type;
  return v;
}

/* range() of numbers of the graph, by a step that is known; NULL with nothing pending: it is none.
 */
static value *range_of_numbers(tracer *t, const builtin_args *a) {
  int64_t parts[3] = {0, 0, 1};
  bool any = false;
  if (a->kwnames || a->count < 1 || a->count > 3) return NULL;
  for (Py_ssize_t i = 0; i < a->count; i++) {
    int64_t *part = &parts[a->count == 1 ? 1 : i];
    if (!value_size_of(t, a->args[i], part) || size_is_late(t, *part)) return NULL;
    any |= LOOM_STRIDE_IS_SYM(*part);
  }
  if (!any || LOOM_STRIDE_IS_SYM(parts[2]) || !parts[2]) return NULL;
  return value_range_to(t, parts[0], parts[1], parts[2]);
}

/* An argument of range(): a known int, or what has a known __index__. */
value *builtin_range(tracer *t, const builtin_args *a) {
  value *numbers = range_of_numbers(t, a);
  if (numbers || trace_pending(t)) return numbers;
  value *result = builtin_number(t, a);
  if (result != t->constants.not_implemented) return result;
  return trace_break(t, BREAK_DATA_DEPENDENT, "a range of numbers that are not known");
}

value *builtin_object(tracer *t, const builtin_args *a) {
  CHECK(0, 0);
  return value_object_new(t, (PyObject *)&PyBaseObject_Type);
}

/* ---- attributes ----------------------------------------------------------------------------- */

static bool caught(tracer *t, PyObject *type) {
  if (t->state != TRACE_RAISING || !exception_matches(t, t->raised, type)) return false;
  t->state = TRACE_GOING;
  t->raised = NULL;
  return true;
}

/* The name that getattr() and its like are given; NULL after a raise or break. */
static PyObject *attribute_name(tracer *t, value *given) {
  return value_name(t, given, "an attribute", "attribute name must be string");
}

value *builtin_getattr(tracer *t, const builtin_args *a) {
  CHECK(2, 3);
  PyObject *name = attribute_name(t, a->args[1]);
  if (!name) return NULL;
  value *item = trace_get_attr(t, a->args[0], name);
  return !item && a->count == 3 && caught(t, PyExc_AttributeError) ? a->args[2] : item;
}

value *builtin_hasattr(tracer *t, const builtin_args *a) {
  CHECK(2, 2);
  PyObject *name = attribute_name(t, a->args[1]);
  if (!name) return NULL;
  if (value_is_number(a->args[0])) /* floats, ints and bools have what their type has */
    return value_bool(t, _PyType_Lookup((PyTypeObject *)value_type_of(t, a->args[0]), name));
  if (trace_get_attr(t, a->args[0], name)) return t->constants.true_value;
  return caught(t, PyExc_AttributeError) ? t->constants.false_value : NULL;
}

value *builtin_setattr(tracer *t, const builtin_args *a) {
  CHECK(3, 3);
  PyObject *name = attribute_name(t, a->args[1]);
  return name && trace_set_attr(t, a->args[0], name, a->args[2]) ? t->constants.none : NULL;
}

/* vars(object): its dictionary. */
value *builtin_vars(tracer *t, const builtin_args *a) {
  if (a->count != 1 || a->kwnames || !value_is_instance(a->args[0]))
    return t->constants.not_implemented;
  PyObject *name = trace_keep(t, PyUnicode_InternFromString("__dict__"));
  return name ? trace_get_attr(t, a->args[0], name) : NULL;
}

value *builtin_delattr(tracer *t, const builtin_args *a) {
  CHECK(2, 2);
  PyObject *name = attribute_name(t, a->args[1]);
  return name && trace_set_attr(t, a->args[0], name, NULL) ? t->constants.none : NULL;
}

/* types.MethodType(function, self). */
value *builtin_bind(tracer *t, const builtin_args *a) {
  CHECK(2, 2);
  return value_method(t, a->args[0], a->args[1]);
}

/* types.SimpleNamespace(**attributes) */
value *builtin_namespace(tracer *t, const builtin_args *a) {
  value *v = a->count ? NULL : value_object_new(t, a->callee);
  if (!v || !(v->any.b = value_dict(t)))
    return trace_pending(t) ? NULL : t->constants.not_implemented;
  for (Py_ssize_t i = 0; a->kwnames && i < PyTuple_GET_SIZE(a->kwnames); i++) {
    value *key = value_const(t, PyTuple_GET_ITEM(a->kwnames, i));
    if (!key || !dict_put(t, v->any.b, key, a->args[i])) return NULL;
  }
  return v;
}

/* Of functions, classes and modules, which are the same ones at each call. Other objects may be new
 * ones each time, and arrays have another object outside of the graph. */
value *builtin_id(tracer *t, const builtin_args *a) {
  CHECK(1, 1);
  value *v = a->args[0];
  bool stays = v->object && !class_is_made(t, v->object) && !model_owns(v->object) &&
               (PyFunction_Check(v->object) || PyCFunction_Check(v->object) ||
                PyType_Check(v->object) || PyModule_Check(v->object));
  PyObject *object = stays ? value_identity(t, v) : NULL;
  PyObject *id = object ? trace_keep(t, PyLong_FromVoidPtr(object)) : NULL;
  return id ? value_const(t, id) : t->constants.not_implemented;
}

value *builtin_callable(tracer *t, const builtin_args *a) {
  CHECK(1, 1);
  value *v = a->args[0];
  PyObject *type = value_type_of(t, v);
  if (!type) return NULL;
  class_special(t, (PyTypeObject *)type, "__call__"); /* its class may get one, or lose it */
  if (trace_pending(t)) return NULL;
  return value_bool(t, value_is_instance(v) || value_is_const(v)
                           ? ((PyTypeObject *)type)->tp_call != NULL
                           : v->type->call != NULL);
}

/* ---- classes -------------------------------------------------------------------------------- */

value *builtin_type(tracer *t, const builtin_args *a) {
  if (a->count != 1 || a->kwnames)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a class made inside");
  PyObject *type = value_type_of(t, a->args[0]);
  return type ? value_const(t, type) : NULL;
}

/* abc's own checks call a class's __subclasshook__; without one, or with the standard library's,
 * they run no user code. */
static bool known_abstract(tracer *t, PyTypeObject *cls) {
  PyObject *hook = class_special(t, cls, "__subclasshook__"),
           *own = class_special(t, &PyBaseObject_Type, "__subclasshook__");
  if (!strcmp(Py_TYPE(cls)->tp_name, "ABCMeta") && hook == own) return true;
  PyObject *module = PyDict_GetItemString(python_type_dict(cls), "__module__");
  return module && PyUnicode_CheckExact(module) &&
         (!PyUnicode_CompareWithASCIIString(module, "numbers") ||
          !PyUnicode_CompareWithASCIIString(module, "collections.abc") ||
          !PyUnicode_CompareWithASCIIString(module, "os"));
}

/* Guards the cache token of abc, which changes with every register(). */
static void guard_abstract(tracer *t, PyObject *cls) {
  PyObject *key = trace_keep(t, PyUnicode_InternFromString("abc.get_cache_token()"));
  const source *base = key ? trace_source(t, SOURCE_CONST, NULL, cls, NULL, 0) : NULL;
  const source *s = base ? trace_source(t, SOURCE_DERIVED, base, NULL, key, 0) : NULL;
  PyObject *now = s ? source_read(s, NULL) : NULL;
  if (now) guard_simple(t, GUARD_NUMBER, s, now, 0);
  Py_XDECREF(now);
}

/* A metaclass's own __instancecheck__, written in Python. */
static int check_instance(tracer *t, PyObject *cls, value *instance) {
  PyObject *name = trace_keep(t, PyUnicode_InternFromString("__instancecheck__"));
  value *self = name ? value_const(t, cls) : NULL;
  value *method = self ? type_attr(t, (PyObject *)Py_TYPE(cls), name, self, NULL) : NULL;
  value *result = method ? trace_call(t, method, &instance, 1, NULL) : NULL;
  return result ? trace_truth(t, result) : -1;
}

/* `instance`: of the type, where it is asked for one; or NULL. */
static int is_subclass(tracer *t, PyObject *type, PyObject *cls, value *instance) {
  PyTypeObject *meta = Py_TYPE(cls);
  type = model_real(type);
  cls = model_real(cls);
  if (type == cls && (instance || meta == &PyType_Type)) return 1;
  guard_mro(t, (PyTypeObject *)type);
  bool own = !type_keeps_of_type(t, meta, instance ? "__instancecheck__" : "__subclasscheck__");
  if (!own && !type_runs_python(t, meta, "__subclasscheck__") &&
      !type_runs_python(t, meta, "__instancecheck__"))
    return PyType_IsSubtype((PyTypeObject *)type, (PyTypeObject *)cls);
  /* ByteString has checks of its own, which warn. */
  if (known_abstract(t, (PyTypeObject *)cls) && !strcmp(meta->tp_name, "ABCMeta")) {
    int result = PyObject_IsSubclass(type, cls);
    if (result < 0) trace_raise_live(t);
    guard_abstract(t, cls);
    return result;
  }
  if (instance && type_runs_python(t, meta, "__instancecheck__"))
    return check_instance(t, cls, instance);
  trace_break(t, BREAK_UNSUPPORTED_TYPE, "a check against the class %s, which has its own way",
              ((PyTypeObject *)cls)->tp_name);
  return -1;
}

static int check_classes(tracer *t, PyObject *type, value *classes, value *instance) {
  if (value_is_tuple(classes)) {
    for (Py_ssize_t i = 0; i < classes->seq.count; i++) {
      int result = check_classes(t, type, classes->seq.items[i], instance);
      if (result) return result;
    }
    return 0;
  }
  PyObject *cls = value_known(t, classes);
  if (!cls || !PyType_Check(cls)) {
    Py_XDECREF(cls);
    if (!trace_pending(t))
      trace_break(t, BREAK_UNSUPPORTED_TYPE, "a check against a %s", classes->type->name);
    return -1;
  }
  int result = is_subclass(t, type, cls, instance);
  Py_DECREF(cls);
  return result;
}

int trace_isinstance(tracer *t, value *v, value *types) {
  PyObject *type = value_type_of(t, v);
  if (!type) return -1;
  if (!type_keeps_default(t, (PyTypeObject *)type, "__class__") ||
      type_runs_python(t, (PyTypeObject *)type, "__getattribute__")) {
    trace_break(t, BREAK_UNSUPPORTED_TYPE, "a check of a %s, which says itself what its class is",
                ((PyTypeObject *)type)->tp_name);
    return -1;
  }
  return check_classes(t, type, types, v);
}

/* type.__instancecheck__(cls, v): what isinstance() does without a metaclass's own way. */
value *trace_type_check(tracer *t, PyObject *cls, value *v) {
  PyObject *type = value_type_of(t, v);
  if (!type) return NULL;
  if (!type_keeps_default(t, (PyTypeObject *)type, "__class__"))
    return t->constants.not_implemented;
  guard_mro(t, (PyTypeObject *)type);
  return value_bool(t, PyType_IsSubtype((PyTypeObject *)type, (PyTypeObject *)cls));
}

value *builtin_isinstance(tracer *t, const builtin_args *a) {
  CHECK(2, 2);
  int result = trace_isinstance(t, a->args[0], a->args[1]);
  return result < 0 ? NULL : value_bool(t, result);
}

value *builtin_issubclass(tracer *t, const builtin_args *a) {
  CHECK(2, 2);
  PyObject *type = value_known(t, a->args[0]);
  if (!type || !PyType_Check(type)) {
    /* list[int], say, has bases. */
    bool other = !type || !(object_is_scalar(type) || object_is_immutable(type));
    Py_XDECREF(type);
    if (other && !trace_pending(t))
      return trace_break(t, BREAK_UNSUPPORTED_TYPE, "issubclass() of what is no class");
    return trace_pending(t) ? NULL
                            : trace_raise(t, PyExc_TypeError, "issubclass() arg 1 must be a class");
  }
  trace_keep(t, type);
  int result = check_classes(t, type, a->args[1], NULL);
  return result < 0 ? NULL : value_bool(t, result);
}

value *builtin_super(tracer *t, const builtin_args *a) {
  if (a->count != 2 || !value_is_const(a->args[0]) || !PyType_Check(a->args[0]->object))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "super() with these arguments");
  PyObject *type = value_type_of(t, a->args[1]), *own = a->args[0]->object;
  bool of_class = value_is_const(a->args[1]) && PyType_Check(a->args[1]->object);
  if (of_class && PyType_IsSubtype((PyTypeObject *)a->args[1]->object, (PyTypeObject *)own))
    type = a->args[1]->object;
  if (type && !PyType_IsSubtype((PyTypeObject *)type, (PyTypeObject *)own))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "super() of an object of another class");
  value *v = type ? value_new(t, &value_super_type) : NULL;
  if (!v) return NULL;
  v->any.a = a->args[0];
  v->any.b = a->args[1];
  return v;
}

/* ---- operator ------------------------------------------------------------------------------- */

value *builtin_binary(tracer *t, const builtin_args *a) {
  CHECK(2, 2);
  return trace_binary(t, a->op, a->args[0], a->args[1], false);
}

/* operator.concat(): of sequences alone. */
value *builtin_concat(tracer *t, const builtin_args *a) {
  CHECK(2, 2);
  for (int i = 0; i < 2; i++) {
    const value *v = a->args[i];
    bool text =
        value_is_const(v) && (PyUnicode_CheckExact(v->object) || PyBytes_CheckExact(v->object));
    if (!text && !value_is_sequence(v)) return t->constants.not_implemented;
  }
  return trace_binary(t, a->op, a->args[0], a->args[1], false);
}

value *builtin_inplace(tracer *t, const builtin_args *a) {
  CHECK(2, 2);
  return trace_binary(t, a->op, a->args[0], a->args[1], true);
}

value *builtin_compare(tracer *t, const builtin_args *a) {
  CHECK(2, 2);
  return trace_compare(t, a->op, a->args[0], a->args[1]);
}

value *builtin_unary(tracer *t, const builtin_args *a) {
  CHECK(1, 1);
  return trace_unary(t, a->op, a->args[0]);
}

value *builtin_truth(tracer *t, const builtin_args *a) {
  CHECK(1, 1);
  int truth = trace_truth(t, a->args[0]);
  return truth < 0 ? NULL : value_bool(t, truth == a->op);
}

value *builtin_is(tracer *t, const builtin_args *a) {
  bool same;
  CHECK(2, 2);
  return value_same(t, a->args[0], a->args[1], &same) ? value_bool(t, same == a->op) : NULL;
}

value *builtin_contains(tracer *t, const builtin_args *a) {
  CHECK(2, 2);
  int found = trace_contains(t, a->args[0], a->args[1]);
  return found < 0 ? NULL : value_bool(t, found);
}

value *builtin_getitem(tracer *t, const builtin_args *a) {
  CHECK(2, 2);
  return trace_get_item(t, a->args[0], a->args[1]);
}

value *builtin_setitem(tracer *t, const builtin_args *a) {
  CHECK(3, 3);
  return trace_set_item(t, a->args[0], a->args[1], a->args[2]) ? t->constants.none : NULL;
}

/* An int as it is, or that an instance of a class over int is (whose own __index__ is not asked).
 * False with nothing pending: it is something else. */
static bool index_known(value *v, value **out) {
  *out = v;
  if ((value_is_const(v) && PyLong_CheckExact(v->object)) || number_is_size(v)) return true;
  *out = scalar_content(v);
  return *out && PyLong_CheckExact((*out)->object);
}

value *value_whole(tracer *t, value *v) {
  value *known;
  if (index_known(v, &known)) return known;
  if (value_is_const(v) && PyBool_Check(v->object)) return value_int(t, v->object == Py_True);
  return trace_break(t, BREAK_UNKNOWN_CALL, "a %s in place of an int", v->type->name);
}

value *builtin_index(tracer *t, const builtin_args *a) {
  CHECK(1, 1);
  value *known;
  if (index_known(a->args[0], &known)) return known;
  value *result = special_or_pass(t, a->args[0], "__index__", &PyLong_Type);
  if (result != t->constants.not_implemented) return result;
  if (value_is_sequence(a->args[0]))
    return trace_raise(t, PyExc_TypeError, "the object cannot be interpreted as an integer");
  return builtin_number(t, a);
}
