/* What is done to instances of Python classes by operators, calls, len(), iteration and the like:
 * the special methods of their classes are inlined. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/captured.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

value *trace_special(tracer *t, value *v, const char *name) {
  PyObject *text = name_interned(t, name);
  PyObject *type = !text ? NULL : value_is_instance(v) ? object_class(v) : value_type_of(t, v);
  if (!type) return NULL;
  if (value_is_instance(v) || value_is_made_exception(v)) return type_attr(t, type, text, v, NULL);
  return class_lookup(t, (PyTypeObject *)type, text) ? trace_get_attr(t, v, text) : NULL;
}

value *value_index(tracer *t, value *v, const char *unless) {
  value *content = scalar_content(v); /* an instance of a class over int is that int */
  if (!value_is_instance(v) || (content && PyLong_CheckExact(content->object))) return v;
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  if (!class_special(t, type, "__index__") || (unless && class_special(t, type, unless))) return v;
  value *index = trace_special(t, v, "__index__");
  if (index) index = trace_call(t, index, NULL, 0, NULL);
  PyObject *kind = index ? value_type_of(t, index) : NULL;
  if (kind && kind != (PyObject *)&PyLong_Type)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "__index__() gives a %s",
                       ((PyTypeObject *)kind)->tp_name);
  return kind ? index : NULL;
}

value *trace_method(tracer *t, value *v, const char *name, value *const *args, Py_ssize_t count) {
  value *method = trace_special(t, v, name);
  return method ? trace_call(t, method, args, count, NULL) : NULL;
}

static value *object_no(tracer *t, value *v, const char *what) {
  if (trace_pending(t)) return NULL;
  return trace_raise(t, PyExc_TypeError, "'%s' object %s",
                     ((PyTypeObject *)object_class(v))->tp_name, what);
}

static const char *const operator_names[13] = {"add", "and",     "floordiv", "lshift", "matmul",
                                               "mul", "mod",     "or",       "pow",    "rshift",
                                               "sub", "truediv", "xor"};

const char *object_operator_name(int op) { return operator_names[op]; }

static value *object_operator(tracer *t, int op, const char *prefix, value *self, value *other) {
  char name[24];
  snprintf(name, sizeof name, "__%s%s__", prefix, operator_names[op]);
  value *method = trace_special(t, self, name);
  if (!method) return trace_pending(t) ? NULL : trace_not_implemented(t);
  value *result = trace_call1(t, method, other);
  if (result && value_is_const(result) && result->object == Py_NotImplemented)
    return trace_not_implemented(t);
  return result;
}

/* Has the right operand's class a reflected method that the left one's does not have? */
static bool object_overloads(tracer *t, int op, value *l, value *r) {
  char name[24];
  snprintf(name, sizeof name, "__r%s__", operator_names[op]);
  PyObject *key = name_interned(t, name);
  if (!key || !PyType_IsSubtype((PyTypeObject *)object_class(r), (PyTypeObject *)object_class(l)))
    return false;
  return class_lookup(t, (PyTypeObject *)object_class(r), key) !=
         class_lookup(t, (PyTypeObject *)object_class(l), key);
}

static value *object_binary(tracer *t, int op, value *l, value *r, bool inplace) {
  bool left = value_is_instance(l);
  value *result = trace_not_implemented(t);
  if (left && inplace) result = object_operator(t, op, "i", l, r);
  if (result != t->constants.not_implemented) return result;
  bool sub = value_is_instance(r) && left && object_class(l) != object_class(r) &&
             object_overloads(t, op, l, r);
  if (sub) result = object_operator(t, op, "r", r, l);
  if (result != t->constants.not_implemented) return result;
  if (left) result = object_operator(t, op, "", l, r);
  if (result != t->constants.not_implemented || sub) return result;
  if (value_is_instance(r) && (!left || object_class(l) != object_class(r)))
    result = object_operator(t, op, "r", r, l);
  bool none = result == t->constants.not_implemented;
  if (none && (object_content(l) || object_content(r)))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an operator of a class over dict or list");
  if (none &&
      ((scalar_content(l) && value_is_const(r)) || (scalar_content(r) && value_is_const(l))))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an operator of a class over a number or text");
  return result;
}

static value *object_unary(tracer *t, int op, value *v) {
  static const char *const names[] = {[UNOP_NEG] = "__neg__",
                                      [UNOP_POS] = "__pos__",
                                      [UNOP_INVERT] = "__invert__",
                                      [UNOP_ABS] = "__abs__"};
  value *result = trace_method(t, v, names[op], NULL, 0);
  return result ? result : object_no(t, v, "has no such operator");
}

/* Namespaces are what their attributes are. */
static value *namespace_compare(tracer *t, int op, value *l, value *r) {
  if (op != Py_EQ && op != Py_NE) return trace_not_implemented(t);
  value *a = object_dict(t, l), *b = a ? object_dict(t, r) : NULL;
  return b ? trace_compare(t, op, a, b) : NULL;
}

static value *object_compare(tracer *t, int op, value *l, value *r) {
  if (l->type == r->type && type_is_namespace((PyTypeObject *)object_class(l)) &&
      type_is_namespace((PyTypeObject *)object_class(r)))
    return namespace_compare(t, op, l, r);
  if (!value_is_instance(l) && object_content(r))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a comparison with a class over dict or list");
  if (!value_is_instance(l)) return trace_not_implemented(t);
  bool plain_ne = op == Py_NE && type_keeps_default(t, (PyTypeObject *)object_class(l), "__ne__");
  const char *name = compare_methods[plain_ne ? Py_EQ : op];
  if (type_keeps_default(t, (PyTypeObject *)object_class(l), name)) return trace_not_implemented(t);
  value *result = trace_method(t, l, name, &r, 1);
  if (!result) return NULL;
  if (value_is_const(result) && result->object == Py_NotImplemented)
    return trace_not_implemented(t);
  if (!plain_ne) return result;
  int truth = trace_truth(t, result);
  return truth < 0 ? NULL : value_bool(t, !truth);
}

static value *object_length(tracer *t, value *v) {
  int64_t length;
  value *result = trace_method(t, v, "__len__", NULL, 0);
  if (!result) return object_no(t, v, "has no len()");
  PyObject *type = value_type_of(t, result);
  if (type && type != (PyObject *)&PyLong_Type)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "__len__() gives a %s",
                       ((PyTypeObject *)type)->tp_name);
  if (!type || !value_is_const(result)) return type ? result : NULL;
  if (!value_known_int(t, result, &length))
    return trace_raise(t, PyExc_OverflowError, "a length that is too large");
  return length >= 0 ? result : trace_raise(t, PyExc_ValueError, "__len__() should return >= 0");
}

static int object_truth(tracer *t, value *v) {
  value *result = trace_method(t, v, "__bool__", NULL, 0);
  PyObject *type = result ? value_type_of(t, result) : NULL;
  if (result && type != (PyObject *)&PyBool_Type) {
    if (type)
      trace_raise(t, PyExc_TypeError, "__bool__ should return bool, returned %s",
                  ((PyTypeObject *)type)->tp_name);
    return -1;
  }
  if (!result && !trace_pending(t) && trace_special(t, v, "__len__")) result = object_length(t, v);
  if (!result) return trace_pending(t) ? -1 : 1;
  return trace_truth(t, result);
}

static value *object_get_item(tracer *t, value *v, value *key) {
  value *result = trace_method(t, v, "__getitem__", &key, 1);
  return result ? result : object_no(t, v, "is not subscriptable");
}

/* A class with one of the two methods has the slot of both. */
static bool object_set_item(tracer *t, value *v, value *key, value *item) {
  static const char *const names[] = {"__setitem__", "__delitem__"};
  value *args[2] = {key, item};
  bool removes = !item;
  if (trace_method(t, v, names[removes], args, removes ? 1 : 2)) return true;
  if (trace_pending(t)) return false;
  if (trace_special(t, v, names[!removes]))
    return trace_raise(t, PyExc_AttributeError, "%s", names[removes]) != NULL;
  if (!trace_is_no_index(t, key)) return false;
  return object_no(t, v,
                   removes ? "doesn't support item deletion" : "does not support item assignment");
}

static int object_contains(tracer *t, value *v, value *item) {
  value *result = trace_method(t, v, "__contains__", &item, 1);
  if (result) return trace_truth(t, result);
  return trace_pending(t) ? -1 : trace_search(t, v, item);
}

/* What __iter__() has given: the interpreter calls the slot for the next item without looking. */
static value *iter_checked(tracer *t, value *given) {
  if (value_is_iterator(given)) return given;
  PyTypeObject *type = (PyTypeObject *)value_type_of(t, given);
  if (!type || (class_special(t, type, "__next__") && type->tp_iternext))
    return type ? given : NULL;
  return trace_raise(t, PyExc_TypeError, "iter() returned non-iterator of type '%s'",
                     type->tp_name);
}

static value *object_iter(tracer *t, value *v) {
  value *result = trace_method(t, v, "__iter__", NULL, 0);
  if (result || trace_pending(t)) return result ? iter_checked(t, result) : NULL;
  if (trace_special(t, v, "__getitem__")) return iter_indexed(t, v, -1);
  return object_no(t, v, "is not iterable");
}

static value *object_next(tracer *t, value *v) {
  value *result = trace_method(t, v, "__next__", NULL, 0);
  if (result) return result;
  if (t->state == TRACE_RAISING && exception_matches(t, t->raised, PyExc_StopIteration)) {
    value *stop = t->raised;
    t->state = TRACE_GOING;
    t->raised = NULL;
    t->returned = exception_stop_value(t, stop);
    return NULL;
  }
  return object_no(t, v, "is not an iterator");
}

static value *object_call(tracer *t, value *v, value *const *args, Py_ssize_t count,
                          PyObject *kwnames) {
  value *method = trace_special(t, v, "__call__");
  return method ? trace_call(t, method, args, count, kwnames) : object_no(t, v, "is not callable");
}

static value *object_reversed(tracer *t, value *v) {
  value *result = trace_method(t, v, "__reversed__", NULL, 0);
  return result || trace_pending(t) ? result : t->constants.not_implemented;
}

static PyObject *object_python_type(tracer *t, value *v) { return model_real(object_class(v)); }

/* An instance of a class over int is that int: its __index__ is not called. */
static bool object_known_int(tracer *t, value *v, int64_t *out) {
  value *content = scalar_content(v);
  return content && PyLong_CheckExact(content->object) && value_known_int(t, content, out);
}

static void object_walk(roll_walk *w, value *v) {
  value *content = object_content(v) ? object_content(v) : scalar_content(v), *attrs = v->any.b;
  roll_pointer(w, v->object);
  roll_pointer(w, v->any.a);
  roll_value(w, &attrs);
  roll_value(w, &content);
}

const value_type value_object_type = {.name = "object",
                                      .kinds = VALUE_IS_RETURNING,
                                      .unary = object_unary,
                                      .binary = object_binary,
                                      .compare = object_compare,
                                      .truth = object_truth,
                                      .length = object_length,
                                      .get_item = object_get_item,
                                      .set_item = object_set_item,
                                      .contains = object_contains,
                                      .get_attr = object_get_attr,
                                      .set_attr = object_set_attr,
                                      .call = object_call,
                                      .iter = object_iter,
                                      .next = object_next,
                                      .python_type = object_python_type,
                                      .rebuild = object_rebuild,
                                      .walk = object_walk,
                                      .known = value_known_object,
                                      .known_int = object_known_int,
                                      .key = key_object_check,
                                      .copy = copy_object,
                                      .reversed = object_reversed,
                                      .text = object_text};
