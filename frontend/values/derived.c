/* Instances of Python classes over set, frozenset, deque, defaultdict and OrderedDict: their
 * content is a set value, or an object of the model of the type in C (model.c). As in container.c,
 * operations that the class does not override are applied to the content. */
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

static bool derived_is_model(const value *content) { return value_is_instance(content); }

/* A live set's or frozen set's items. A frozen one is a value of its own: it does not change, and
 * what comes of it is no instance of the class. */
static value *derived_set_of_live(tracer *t, PyObject *object, const source *s) {
  bool frozen = PyFrozenSet_Check(object);
  value *content = set_of_live(t, object, s, frozen);
  if (content && frozen) content->source = NULL;
  return content;
}

value *derived_of_live(tracer *t, PyObject *object, const source *s, PyTypeObject *base) {
  if (base == &PySet_Type || base == &PyFrozenSet_Type) return derived_set_of_live(t, object, s);
  return model_of_live(t, object, s, base);
}

value *derived_new(tracer *t, PyTypeObject *base) {
  if (base == &PySet_Type || base == &PyFrozenSet_Type)
    return value_set(t, base == &PyFrozenSet_Type);
  value *type = value_const(t, (PyObject *)base);
  return type ? trace_call(t, type, NULL, 0, NULL) : NULL;
}

/* ---- the builtin type's own methods --------------------------------------------------------- */

static value *derived_own(value *v) {
  value *content = object_content(v);
  return content && (value_is_set(content) || derived_is_model(content)) ? content : v;
}

static bool derived_among(const char *name, const char *const *names) {
  for (; *names; names++)
    if (!strcmp(name, *names)) return true;
  return false;
}

static value *derived_set_operator(tracer *t, const char *name, value *v, value *content,
                                   value *other) {
  static const struct {
    const char *name;
    int op;
  } rows[] = {{"and__", 1}, {"or__", 7}, {"sub__", 10}, {"xor__", 12}};
  bool set = value_is_any_set(other);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bool own = !strcmp(name + 2, rows[i].name) || !strcmp(name + 3, rows[i].name);
    if (own && !set) return value_const(t, Py_NotImplemented);
    if (!strcmp(name + 2, rows[i].name)) return trace_binary(t, rows[i].op, content, other, false);
    if (strcmp(name + 3, rows[i].name) != 0) continue;
    if (name[2] == 'r') return trace_binary(t, rows[i].op, other, content, false);
    value *result = name[2] == 'i' ? trace_binary(t, rows[i].op, content, other, true) : NULL;
    return result ? v : NULL;
  }
  return NULL;
}

/* Methods of the models that do to an instance of a class over the type what the type does. */
static bool derived_follows(tracer *t, value *v, PyTypeObject *base, const char *name) {
  static const char *const of_deques[] = {
      "append",       "appendleft",   "extend",      "extendleft",  "pop",
      "popleft",      "clear",        "count",       "rotate",      "reverse",
      "remove",       "insert",       "index",       "__len__",     "__getitem__",
      "__iter__",     "__contains__", "__setitem__", "__delitem__", "__iadd__",
      "__reversed__", "__init__",     NULL};
  static const char *const of_dicts[] = {"__getitem__",  "__setitem__", "__delitem__",  "__len__",
                                         "__contains__", "__iter__",    "__reversed__", "__init__",
                                         "keys",         "values",      "items",        "get",
                                         "clear",        NULL};
  static const char *const more[] = {"pop", "popitem", "setdefault", "update", "__missing__", NULL};
  static const char *const hooks[] = {"__getitem__", "__setitem__", "__delitem__", "__contains__"};
  if (!PyType_IsSubtype(base, &PyDict_Type)) return derived_among(name, of_deques);
  if (PyType_IsSubtype(base, &PyODict_Type)) {
    if (!strcmp(name, "move_to_end")) return true;
    /* OrderedDict calls what the class overrides. */
    bool calls = derived_among(name, more) || !strcmp(name, "__init__");
    for (int i = 0; calls && i < 4; i++)
      if (!container_keeps(t, v, hooks[i])) return false;
  }
  return derived_among(name, of_dicts) || derived_among(name, more);
}

static value *derived_missing(tracer *t, value *v, value *content, value *key) {
  value *inner = model_part(t, content, "_dict");
  value *item = inner ? dict_get(t, inner, key) : NULL;
  if (item || trace_pending(t)) return item;
  value *hook = trace_special(t, v, "__missing__");
  return hook ? trace_call1(t, hook, key) : trace_pending(t) ? NULL : trace_raise_key(t, key);
}

static value *derived_model_call(tracer *t, PyObject *descr, const char *name, value *v,
                                 value *const *args, Py_ssize_t count, PyObject *kwnames) {
  value *content = object_content(v);
  PyTypeObject *base = container_base((PyTypeObject *)object_class(v));
  bool nothing = !strcmp(name, "__init__") && !count && !kwnames;
  /* dict's own method of an OrderedDict leaves the order as it is. */
  if (_PyType_Lookup(base, PyDescr_NAME(descr)) != descr) return t->constants.not_implemented;
  if (!nothing && !derived_follows(t, v, base, name)) return t->constants.not_implemented;
  if (PyType_IsSubtype(base, &PyDict_Type) && !strcmp(name, "__getitem__") && count == 1)
    return derived_missing(t, v, content, args[0]);
  value *method = type_attr(t, object_class(content), PyDescr_NAME(descr), content, NULL);
  value *result = method ? trace_call(t, method, args, count, kwnames) : NULL;
  if (result && value_is_const(result) && result->object == Py_NotImplemented)
    return t->constants.not_implemented;
  return result == content ? v : result;
}

/* ---- operands that are instances themselves: what the type in C reads without asking their class
 */

/* A deque iterates over whatever it is given, itself but as a list; NULL after a break. */
static value *derived_for_deque(tracer *t, const char *name, value *v, value *arg) {
  bool iterates =
      !strncmp(name, "extend", 6) || !strcmp(name, "__iadd__") || !strcmp(name, "__init__");
  if (arg != v || !iterates) return arg;
  if (container_keeps(t, v, "__iter__")) return object_content(v);
  return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a deque by its own __iter__", name);
}

/* A dict takes the items of another as they are, unless that iterates in a way of its own. An
 * OrderedDict asks the class. */
static value *derived_for_dict(tracer *t, PyTypeObject *base, const char *name, value *arg) {
  value *content = object_content(arg);
  bool reads = !strcmp(name, "update") || !strcmp(name, "__init__");
  if (!content || !reads || PyType_IsSubtype(base, &PyODict_Type)) return arg;
  bool dict = PyType_IsSubtype((PyTypeObject *)object_class(arg), &PyDict_Type);
  return dict && container_keeps(t, arg, "__iter__") ? content : arg;
}

static value *derived_operand(tracer *t, const char *name, value *v, value *arg) {
  PyTypeObject *base = container_base((PyTypeObject *)object_class(v));
  if (PyType_IsSubtype(base, &PyDict_Type)) return derived_for_dict(t, base, name, arg);
  if (derived_is_model(object_content(v))) return derived_for_deque(t, name, v, arg);
  value *content = object_content(arg);
  return content && value_is_set(content) ? content : arg;
}

value *derived_call(tracer *t, PyObject *descr, value *const *args, Py_ssize_t count,
                    PyObject *kwnames) {
  const char *name = PyUnicode_AsUTF8(PyDescr_NAME(descr));
  value *v = args[0], *content = derived_own(v);
  if (content == v) return t->constants.not_implemented;
  Py_ssize_t total = count - 1 + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  value **rest = trace_alloc(t, sizeof *rest * (size_t)(total + 1));
  for (Py_ssize_t i = 0; rest && i < total; i++)
    if (!(rest[i] = derived_operand(t, name, v, args[1 + i]))) return NULL;
  if (!rest) return NULL;
  if (derived_is_model(content))
    return derived_model_call(t, descr, name, v, rest, count - 1, kwnames);
  if (!strcmp(name, "__init__") && !kwnames && !set_is_frozen(content)) {
    if (!args_check(t, "set", count - 1, 0, 1, kwnames)) return NULL;
    if (content->source || content->seq.count)
      return t->constants.not_implemented; /* it is emptied */
    if (count == 1) return t->constants.none;
    PyObject *key = trace_keep(t, PyUnicode_InternFromString("update"));
    value *update = key ? trace_get_attr(t, content, key) : NULL;
    return update ? trace_call(t, update, rest, count - 1, NULL) : NULL;
  }
  if (!strcmp(name, "__init__") && set_is_frozen(content)) return t->constants.none;
  value *result =
      count == 2 && !kwnames ? derived_set_operator(t, name, v, content, rest[0]) : NULL;
  return result || trace_pending(t) ? result : t->constants.not_implemented;
}

/* ---- attributes and results ----------------------------------------------------------------- */

value *derived_attr(tracer *t, value *v, PyObject *name, PyObject *descr) {
  value *content = object_content(v);
  bool own = content && derived_is_model(content) &&
             (Py_IS_TYPE(descr, &PyGetSetDescr_Type) || Py_IS_TYPE(descr, &PyMemberDescr_Type)) &&
             PyDescr_TYPE(descr) == container_base((PyTypeObject *)object_class(v));
  return own ? model_part(t, content, PyUnicode_AsUTF8(name)) : NULL;
}

static int derived_fill_ordered(PyObject *made, PyObject *content) {
  PyObject *items = PyObject_CallMethod(content, "items", NULL), *pair, *iterator;
  iterator = items ? PyObject_GetIter(items) : NULL;
  Py_XDECREF(items);
  int failed = iterator ? 0 : -1;
  while (!failed && (pair = PyIter_Next(iterator))) {
    failed = PyODict_SetItem(made, PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1));
    Py_DECREF(pair);
  }
  Py_XDECREF(iterator);
  return failed || PyErr_Occurred() ? -1 : 0;
}

/* Fills an instance just made with what the object of the builtin type holds. */
int derived_fill(PyObject *made, PyTypeObject *base, PyObject *content) {
  if (PyType_IsSubtype(base, &PyODict_Type)) return derived_fill_ordered(made, content);
  if (PyAnySet_Check(made)) return set_table_give(made, content, NULL) ? 0 : -1;
  PyObject *other = PyObject_GetAttrString(content, model_setting(content));
  PyObject *args = !other ? NULL
                          : PyTuple_Pack(2, PyDict_Check(content) ? other : content,
                                         PyDict_Check(content) ? content : other);
  int failed = args ? base->tp_init(made, args, NULL) : -1;
  Py_XDECREF(other);
  Py_XDECREF(args);
  return failed;
}

/* cls(iterable) of a class over frozenset, whose items are given to __new__. */
value *derived_make_frozen(tracer *t, PyObject *cls, value *const *args, Py_ssize_t count,
                           PyObject *kwnames) {
  if (count > 1 || kwnames) return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a new frozen set");
  value *v = object_allocate(t, cls);
  value *content = v && count ? set_from(t, args[0], true) : v ? object_content(v) : NULL;
  if (content) v->any.n = (Py_ssize_t)(intptr_t)content;
  return content ? v : NULL;
}
