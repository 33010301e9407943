/* Instances of Python classes over dict and list: attributes like any object's, and besides them
 * the dict or list value that the instance holds. Methods and operators that the class does not
 * override are those of the builtin type, applied to that value. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/live.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

PyTypeObject *container_base(PyTypeObject *type) {
  PyTypeObject *base = type;
  while (base && !python_type_is_builtin(base))
    base = base->tp_base;
  if (base == type) return NULL;
  bool known = base == &PyDict_Type || base == &PyList_Type || base == &PySet_Type ||
               base == &PyFrozenSet_Type || (base && model_is_of(base));
  return known ? base : NULL;
}

value *object_content(value *v) {
  value *content = value_is_instance(v) ? (value *)(intptr_t)v->any.n : NULL;
  return content && !value_is_const(content) ? content : NULL;
}

bool container_wrap(tracer *t, value *v) {
  PyTypeObject *base = container_base(Py_TYPE(v->object));
  if (!base || !trace_map_set(t, &t->known.wrapped, v->object, v)) return !base;
  value *content = base == &PyDict_Type   ? live_new(t, v->object, v->source, NULL)
                   : base == &PyList_Type ? seq_of_live(t, v->object, v->source)
                                          : derived_of_live(t, v->object, v->source, base);
  v->any.n = (Py_ssize_t)(intptr_t)content;
  return content != NULL;
}

bool container_fill(tracer *t, value *v) {
  PyTypeObject *base = container_base((PyTypeObject *)object_class(v));
  value *content = !base                  ? NULL
                   : base == &PyDict_Type ? value_dict(t)
                   : base == &PyList_Type ? value_list(t, NULL, 0)
                                          : derived_new(t, base);
  v->any.n = (Py_ssize_t)(intptr_t)content;
  return !base || (content && trace_map_set(t, &t->known.contents, content, v));
}

bool container_holds(tracer *t, value *content) {
  if (!content || !pointer_map_get(&t->known.contents, content)) return false;
  trace_break(t, BREAK_UNSUPPORTED_TYPE, "a view of an instance of a class over dict or list");
  return true;
}

bool container_keeps(tracer *t, value *v, const char *name) {
  PyTypeObject *type = (PyTypeObject *)object_class(v), *base = container_base(type);
  PyObject *key = base ? PyUnicode_InternFromString(name) : NULL;
  bool keeps = key && class_lookup(t, type, key) == _PyType_Lookup(base, key);
  Py_XDECREF(key);
  return keeps;
}

/* ---- the builtin type's own methods --------------------------------------------------------- */

static value *container_missing(tracer *t, value *v, value *key) {
  value *hook = trace_special(t, v, "__missing__");
  if (hook) return trace_call1(t, hook, key);
  return trace_pending(t) ? NULL : trace_raise_key(t, key);
}

static value *container_get(tracer *t, value *v, value *content, value *key) {
  if (!value_is_dict(content)) return trace_get_item(t, content, key);
  value *item = dict_get(t, content, key);
  return item || trace_pending(t) ? item : container_missing(t, v, key);
}

static value *container_init(tracer *t, value *content, value *const *args, Py_ssize_t count,
                             PyObject *kwnames) {
  if (!list_settle(t, content)) return NULL;
  if (value_is_list(content)) {
    if (count > 1 || kwnames)
      return trace_raise(t, PyExc_TypeError, "list expected at most 1 argument");
    if (!value_mutable(t, content) || !list_empty(t, content)) return NULL;
    return !count || list_extend(t, content, args[0]) ? t->constants.none : NULL;
  }
  PyObject *name = trace_keep(t, PyUnicode_InternFromString("update"));
  value *update = name ? trace_get_attr(t, content, name) : NULL;
  return update ? trace_call(t, update, args, count, kwnames) : NULL;
}

/* What the builtin type's operator asks of the other operand. */
static bool container_takes(const value *content, const char *name, const value *other) {
  if (!strcmp(name, "__mul__") || !strcmp(name, "__imul__"))
    return value_is_number(other) || (value_is_const(other) && PyLong_Check(other->object));
  if (other->type == content->type) return true;
  if (strcmp(name, "__iadd__") != 0 && strcmp(name, "__ior__") != 0) return false;
  return !other->type->binary || value_is_container(other);
}

/* What adds an instance of a class to a dict or list asks it for its items if it iterates in a way
 * of its own. */
static bool container_asks(tracer *t, const char *name, const value *content, value *other) {
  bool direct = value_is_list(content) && strcmp(name, "__iadd__") != 0;
  return object_content(other) && !direct && !container_keeps(t, other, "__iter__");
}

/* Does the method copy a dictionary by iterating over it, where the class has an __iter__ of its
 * own? */
static bool container_copies(tracer *t, value *v, const char *name) {
  return value_is_dict(object_content(v)) && !container_keeps(t, v, "__iter__") &&
         (!strcmp(name, "copy") || !strcmp(name, "__or__"));
}

static value *container_binary(tracer *t, const char *name, value *v, value *content,
                               value *other) {
  static const struct {
    const char *name;
    int op;
    bool inplace;
  } rows[] = {{"__add__", 0, false}, {"__iadd__", 0, true}, {"__mul__", 5, false},
              {"__imul__", 5, true}, {"__or__", 7, false},  {"__ior__", 7, true}};
  value *mine = object_content(other);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].name, name) != 0) continue;
    if (!container_takes(content, name, mine ? mine : other) || container_copies(t, v, name) ||
        container_asks(t, name, content, other))
      return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an operator of a class over dict or list");
    value *result = trace_binary(t, rows[i].op, content, mine ? mine : other, rows[i].inplace);
    return rows[i].inplace && result ? v : result;
  }
  return NULL;
}

/* Deques are compared by iterating over both. */
static bool container_iterates(tracer *t, value *content, value *v, value *other) {
  bool deque = value_is_instance(content) && model_items(t, content);
  return deque && (!container_keeps(t, v, "__iter__") ||
                   (object_content(other) && !container_keeps(t, other, "__iter__")));
}

static value *container_compare(tracer *t, const char *name, value *v, value *other) {
  value *content = object_content(v), *mine = object_content(other) ? object_content(other) : other;
  if (value_is_set(content) && value_is_const(mine) && PyFrozenSet_CheckExact(mine->object) &&
      !(mine = set_from(t, mine, true)))
    return NULL;
  for (int op = 0; op < 6; op++) {
    if (strcmp(compare_methods[op], name) != 0) continue;
    if (container_iterates(t, content, v, other))
      return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a deque by an __iter__ of its own", name);
    bool ordered = op == Py_EQ || op == Py_NE || !value_is_dict(content);
    bool model = value_is_instance(mine) && model_owns(object_class(mine));
    if (!model && (mine->type != content->type || !ordered))
      return value_const(t, Py_NotImplemented);
    return trace_compare(t, op, content, mine);
  }
  return NULL;
}

static value *container_special(tracer *t, const char *name, value *v, value *content,
                                value *const *args, Py_ssize_t count) {
  if (count == 1 && !strcmp(name, "__getitem__")) return container_get(t, v, content, args[0]);
  if (count == 2 && !strcmp(name, "__setitem__"))
    return trace_set_item(t, content, args[0], args[1]) ? t->constants.none : NULL;
  if (count == 1 && !strcmp(name, "__delitem__"))
    return trace_set_item(t, content, args[0], NULL) ? t->constants.none : NULL;
  if (count == 0 && !strcmp(name, "__len__")) return trace_length(t, content);
  if (count == 0 && !strcmp(name, "__iter__")) return trace_iter(t, content);
  if (count == 1 && !strcmp(name, "__contains__")) {
    int found = trace_contains(t, content, args[0]);
    return found < 0 ? NULL : value_bool(t, found);
  }
  value *result = count == 1 ? container_binary(t, name, v, content, args[0]) : NULL;
  if (!result && !trace_pending(t) && count == 1) result = container_compare(t, name, v, args[0]);
  return result;
}

value *container_call(tracer *t, PyObject *descr, value *const *args, Py_ssize_t count,
                      PyObject *kwnames) {
  const char *name = PyUnicode_AsUTF8(PyDescr_NAME(descr));
  value *content = object_content(args[0]);
  value *own = derived_call(t, descr, args, count, kwnames);
  if (own != t->constants.not_implemented) return own;
  bool plain = value_is_dict(content) || value_is_any_list(content);
  if (container_copies(t, args[0], name))
    return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a class with an __iter__ of its own", name);
  if (!plain && (!value_is_set(content) || !strcmp(name, "__init__")))
    return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a class over a container", name);
  if (!strcmp(name, "__init__")) return container_init(t, content, args + 1, count - 1, kwnames);
  if (strncmp(name, "__", 2) != 0) {
    value *method = trace_get_attr(t, content, PyDescr_NAME(descr));
    return method ? trace_call(t, method, args + 1, count - 1, kwnames) : NULL;
  }
  value *result =
      kwnames ? NULL : container_special(t, name, args[0], content, args + 1, count - 1);
  if (result || trace_pending(t)) return result;
  return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a class over %s", name, content->type->name);
}

/* ---- as a result ---------------------------------------------------------------------------- */

/* One by one, which lays the table out as it was there. */
static bool container_fill_dict(PyObject *made, PyObject *content) {
  PyObject *key, *item;
  bool good = PyDict_Check(content);
  for (Py_ssize_t pos = 0; good && PyDict_Next(content, &pos, &key, &item);)
    good = PyDict_SetItem(made, key, item) == 0;
  return good;
}

/* make_container(cls, attributes, content): none of the class's own code runs. */
static PyObject *container_make_live(PyObject *module, PyObject *args) {
  PyObject *cls, *attributes, *content, *key, *item, *none = PyTuple_New(0);
  if (!none ||
      !PyArg_ParseTuple(args, "O!O!O", &PyType_Type, &cls, &PyDict_Type, &attributes, &content))
    return Py_XDECREF(none), NULL;
  PyTypeObject *scalar = scalar_base((PyTypeObject *)cls);
  PyTypeObject *base = scalar ? scalar : container_base((PyTypeObject *)cls);
  if (scalar) Py_SETREF(none, PyTuple_Pack(1, content));
  PyObject *made = base && none ? base->tp_new((PyTypeObject *)cls, none, NULL) : NULL;
  Py_XDECREF(none);
  if (!made) return NULL;
  bool good = scalar                   ? true
              : PyTuple_Check(content) ? gaps_fill(made, content) == 0
              : base == &PyDict_Type   ? container_fill_dict(made, content)
              : base == &PyList_Type   ? PyList_SetSlice(made, 0, 0, content) == 0
                                       : derived_fill(made, base, content) == 0;
  for (Py_ssize_t pos = 0; good && PyDict_Next(attributes, &pos, &key, &item);)
    good = object_give(made, key, item) == 0;
  if (!good) Py_CLEAR(made);
  return made;
}

recipe *container_rebuild(tracer *t, value *v) {
  static PyMethodDef method = {"make_container", container_make_live, METH_VARARGS, NULL};
  recipe *attributes = object_rebuild_attributes(t, v);
  value *inside = object_content(v) ? object_content(v) : scalar_content(v);
  bool dict = inside && value_is_dict(inside) &&
              container_base((PyTypeObject *)object_class(v)) == &PyDict_Type;
  value *gaps = dict ? gaps_arguments(t, inside) : NULL;
  recipe *content = attributes ? trace_rebuild(t, gaps ? gaps : inside) : NULL;
  recipe *r = content ? trace_recipe(t, RECIPE_CALL) : NULL;
  recipe *make = r ? trace_recipe(t, RECIPE_CONST) : NULL,
         *cls = make ? trace_recipe(t, RECIPE_CONST) : NULL;
  if (!cls) return NULL;
  make->object = PyCFunction_New(&method, NULL);
  cls->object = Py_NewRef(object_class(v));
  r->items = calloc(4, sizeof *r->items);
  if (!r->items || !make->object) return trace_fail(t);
  r->items[0] = make;
  r->items[1] = cls;
  r->items[2] = attributes;
  r->items[3] = content;
  r->count = 4;
  return r;
}
