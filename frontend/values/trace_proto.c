/* Generic protocols over values, with Python's own order of dispatch. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/objects.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/live.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/numbers.h"
#include "frontend/values/numbers_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

static const char *value_type_name(tracer *t, value *v) {
  PyObject *type = v->type->python_type ? v->type->python_type(t, v) : NULL;
  return type ? ((PyTypeObject *)type)->tp_name : v->type->name;
}

value *trace_not_implemented(tracer *t) { return t->constants.not_implemented; }

/* A list, a tuple or text. */
static bool operand_is_sequence(const value *v) {
  bool text = value_is_const(v) && (PyUnicode_Check(v->object) || PyBytes_Check(v->object));
  return text || value_is_sequence(v);
}

value *trace_unary(tracer *t, int op, value *v) {
  aside_see(t, v);
  value *result = v->type->unary ? v->type->unary(t, op, v) : t->constants.not_implemented;
  if (result != t->constants.not_implemented) return result;
  return trace_raise(t, PyExc_TypeError, "bad operand type for a unary operator: '%s'",
                     value_type_name(t, v));
}

/* Does capture know all that a value of this type does as an operand? */
static bool operand_is_known(const PyTypeObject *type) {
  const PyTypeObject *const known[] = {
      &PyLong_Type, &PyFloat_Type, &PyComplex_Type, &PyBool_Type, &PyUnicode_Type,  &PyBytes_Type,
      &PyList_Type, &PyTuple_Type, &PyDict_Type,    &PySet_Type,  &PyFrozenSet_Type};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (type == known[i]) return true;
  return PyType_HasFeature((PyTypeObject *)type, Py_TPFLAGS_HEAPTYPE);
}

/* An instance of a class over a type in C of which capture knows nothing: others may take it for
 * what that is, as bytes take a bytearray. */
static bool operand_is_over_unknown(value *v) {
  return value_is_instance(v) && !scalar_content(v) && !object_content(v) &&
         !model_owns(object_class(v)) && !loom_class_is_python((PyTypeObject *)object_class(v));
}

/* May the type of an operand answer, of which capture does not know what it does? NULL: no, or
 * something is pending. */
static PyTypeObject *operand_answers(tracer *t, int op, value *v, bool right) {
  PyTypeObject *type = v->type->python_type ? (PyTypeObject *)v->type->python_type(t, v) : NULL;
  char name[24];
  snprintf(name, sizeof name, "__%s%s__", right ? "r" : "", object_operator_name(op));
  PyObject *key = trace_keep(t, PyUnicode_InternFromString(name));
  if (trace_pending(t) || !key) return NULL;
  return type && !operand_is_known(type) && _PyType_Lookup(type, key) ? type : NULL;
}

/* No operand takes the operator. One of a type in C that has it, all the same, is asked by running
 * the operation. */
static value *binary_refused(tracer *t, int op, value *l, value *r) {
  for (int right = 0; right < 2; right++) {
    value *v = right ? r : l;
    if (operand_is_over_unknown(v))
      return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an operator of a %s", value_type_name(t, v));
    if (value_is_instance(v)) continue; /* its methods were asked */
    const PyTypeObject *type = operand_answers(t, op, v, right);
    if (type) return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an operator of a %s", type->tp_name);
    if (trace_pending(t)) return NULL;
  }
  return trace_raise(t, PyExc_TypeError, "unsupported operand types: '%s' and '%s'",
                     value_type_name(t, l), value_type_name(t, r));
}

/* Where nobody takes it for a product of numbers, a sequence is repeated as often as the other's
 * __index__ says. */
static value *binary_repeat(tracer *t, value *l, value *r, bool inplace) {
  bool left = operand_is_sequence(l);
  value *other = left ? r : l, *times = other;
  if (left == operand_is_sequence(r) || !value_is_instance(other))
    return t->constants.not_implemented;
  if (!(times = value_index(t, other, NULL))) return NULL;
  if (scalar_content(times)) times = scalar_content(times);
  PyObject *type = times == other ? NULL : value_type_of(t, times);
  if (type != (PyObject *)&PyLong_Type)
    return trace_pending(t) ? NULL : t->constants.not_implemented;
  return trace_binary(t, 5, left ? l : times, left ? times : r, inplace);
}

value *trace_binary(tracer *t, int op, value *l, value *r, bool inplace) {
  value *result = t->constants.not_implemented, *left = l, *right = r;
  if (trace_pending(t) || !trace_goes_deeper(t)) return NULL;
  aside_see(t, l);
  aside_see(t, r);
  scalar_operands(t, op, &l, &r, inplace);
  if (l->type->binary) result = l->type->binary(t, op, l, r, inplace);
  if (result == l && left != l) return left; /* text with nothing to fill in, as it is */
  if (result != t->constants.not_implemented) return result;
  const PyTypeObject *first =
      value_is_const(l) && value_is_instance(r) ? operand_answers(t, op, l, false) : NULL;
  if (first) return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an operator of a %s", first->tp_name);
  if (trace_pending(t)) return NULL;
  if (r->type->binary && r->type != l->type) result = r->type->binary(t, op, l, r, false);
  if (result != t->constants.not_implemented) return result;
  if (op == 5) result = binary_repeat(t, l, r, inplace);
  if (result != t->constants.not_implemented) return result;
  /* The last resort of += on a list is to extend it by any iterable. */
  if (inplace && op == 0 && value_is_list(l))
    return value_mutable(t, l) && list_extend(t, l, right) ? l : NULL;
  return binary_refused(t, op, l, r);
}

static bool compare_is_scalar(const value *v) {
  return scalar_content(v) || value_is_number(v) || (value_is_const(v) && v->object != Py_None);
}

/* The methods of a class over a builtin type have refused: that type's own may answer all the same.
 */
static bool compare_is_open(value *l, value *r) {
  value *a = object_content(l), *b = object_content(r);
  if (a || b) return (a ? a : l)->type == (b ? b : r)->type;
  return (scalar_content(l) || scalar_content(r)) && compare_is_scalar(l) && compare_is_scalar(r);
}

/* The type of a value whose own has no `modelled` operation; NULL, perhaps with something pending.
 */
static PyTypeObject *proto_type(tracer *t, value *v, bool modelled) {
  return modelled || !v->type->python_type ? NULL : (PyTypeObject *)v->type->python_type(t, v);
}

/* What a type does that nobody has modelled is asked of the interpreter. True after a break. */
static bool proto_is_open(tracer *t, const PyTypeObject *type, bool does, const char *what) {
  if (type && does) trace_break(t, BREAK_UNSUPPORTED_TYPE, "%s of a %s", what, type->tp_name);
  return trace_pending(t);
}

/* Only identity is what objects are equal by whose type says nothing else. */
static bool compare_is_unknown(tracer *t, value *v) {
  const PyTypeObject *type = proto_type(t, v, v->type->compare != NULL);
  richcmpfunc own = type ? type->tp_richcompare : NULL;
  return proto_is_open(t, type, own && own != PyBaseObject_Type.tp_richcompare, "a comparison");
}

static bool length_is_unknown(tracer *t, value *v, const char *what) {
  const PyTypeObject *type = proto_type(t, v, v->type->length != NULL);
  bool does = type && ((type->tp_as_mapping && type->tp_as_mapping->mp_length) ||
                       (type->tp_as_sequence && type->tp_as_sequence->sq_length));
  return proto_is_open(t, type, does, what);
}

static bool truth_is_unknown(tracer *t, value *v) {
  const PyTypeObject *type = proto_type(t, v, v->type->truth != NULL);
  bool does = type && type->tp_as_number && type->tp_as_number->nb_bool;
  return proto_is_open(t, type, does, "the truth") || length_is_unknown(t, v, "the truth");
}

static bool item_is_unknown(tracer *t, value *v) {
  const PyTypeObject *type = proto_type(t, v, v->type->get_item != NULL);
  bool does = type && ((type->tp_as_mapping && type->tp_as_mapping->mp_subscript) ||
                       (type->tp_as_sequence && type->tp_as_sequence->sq_item));
  return proto_is_open(t, type, does, "an item");
}

value *trace_compare(tracer *t, int op, value *l, value *r) {
  value *result = t->constants.not_implemented;
  if (trace_pending(t) || !trace_goes_deeper(t)) return NULL;
  value *left = l, *other = r; /* as they are for `is` */
  aside_see(t, l);
  aside_see(t, r);
  scalar_compared(t, op, &l, &r);
  /* A subclass on the right goes first; here that can only be an instance of a Python class. */
  bool right = value_is_instance(r) && l->type == r->type && object_class(l) != object_class(r) &&
               PyType_IsSubtype((PyTypeObject *)object_class(r), (PyTypeObject *)object_class(l));
  if (right) result = r->type->compare(t, compare_swapped[op], r, l);
  if (result != t->constants.not_implemented) return result;
  if (l->type->compare) result = l->type->compare(t, op, l, r);
  if (result != t->constants.not_implemented) return result;
  if (r->type->compare && !right) result = r->type->compare(t, compare_swapped[op], r, l);
  if (result != t->constants.not_implemented) return result;
  if (compare_is_open(l, r))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a comparison of a %s", value_type_name(t, l));
  if (compare_is_unknown(t, l) || compare_is_unknown(t, r)) return NULL;
  if (op == Py_EQ || op == Py_NE) {
    bool same;
    return value_same(t, left, other, &same) ? value_bool(t, same == (op == Py_EQ)) : NULL;
  }
  return trace_raise(t, PyExc_TypeError, "no order between '%s' and '%s'", value_type_name(t, l),
                     value_type_name(t, r));
}

int trace_truth(tracer *t, value *v) {
  if (trace_pending(t) || !trace_goes_deeper(t)) return -1;
  aside_see(t, v);
  if (v == t->constants.true_value) return 1;
  if (v == t->constants.false_value || v == t->constants.none) return 0;
  if (v->type->truth) return v->type->truth(t, v);
  if (!v->type->length) return truth_is_unknown(t, v) ? -1 : 1;
  value *length = v->type->length(t, v);
  return length ? trace_truth(t, length) : -1;
}

value *trace_length(tracer *t, value *v) {
  aside_see(t, v);
  if (v->type->length) return v->type->length(t, v);
  if (length_is_unknown(t, v, "the length")) return NULL;
  return trace_raise(t, PyExc_TypeError, "object of type '%s' has no len()", value_type_name(t, v));
}

value *trace_get_item(tracer *t, value *v, value *key) {
  if (operand_is_sequence(v) && !(key = value_index(t, key, NULL))) return NULL;
  aside_see(t, v);
  if (v->type->get_item) return aside_seen(t, v->type->get_item(t, v, key));
  if (item_is_unknown(t, v)) return NULL;
  return trace_raise(t, PyExc_TypeError, "'%s' object is not subscriptable", value_type_name(t, v));
}

/* Where no item can be set: what may be an index is made one before anything else is looked at, and
 * that may raise. False after a break. */
bool trace_is_no_index(tracer *t, value *key) {
  int64_t index;
  bool known =
      value_known_int(t, key, &index) || (value_is_const(key) && !PyIndex_Check(key->object));
  if (!known && !trace_pending(t))
    trace_break(t, BREAK_RAISES, "an index of what has no items to be set");
  return !trace_pending(t);
}

bool trace_set_item(tracer *t, value *v, value *key, value *item) {
  if (v->type->set_item) return v->type->set_item(t, v, key, item);
  if (!trace_is_no_index(t, key)) return false;
  trace_raise(t, PyExc_TypeError, "'%s' object does not support item assignment",
              value_type_name(t, v));
  return false;
}

value *trace_get_attr(tracer *t, value *v, PyObject *name) {
  if (trace_pending(t) || !trace_goes_deeper(t)) return NULL;
  if (!PyUnicode_CompareWithASCIIString(name, "__class__") && !value_is_instance(v)) {
    PyObject *type = value_type_of(t, v);
    return type ? value_const(t, type) : NULL;
  }
  if (t->live.dicts && v->object && live_holds_attributes(t, v->object, true))
    return trace_break(t, BREAK_SIDE_EFFECT, "an attribute whose dictionary was changed");
  aside_see(t, v);
  if (v->type->get_attr) return aside_seen(t, v->type->get_attr(t, v, name));
  return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a %s", PyUnicode_AsUTF8(name), v->type->name);
}

bool trace_set_attr(tracer *t, value *v, PyObject *name, value *item) {
  if (t->live.dicts && v->object && live_holds_attributes(t, v->object, false))
    return trace_break(t, BREAK_SIDE_EFFECT,
                       "an attribute of an object whose dictionary is read") != NULL;
  if (v->type->set_attr) return v->type->set_attr(t, v, name, item);
  return trace_break(t, BREAK_ATTRIBUTE, "assignment to '%s' of a %s", PyUnicode_AsUTF8(name),
                     v->type->name) != NULL;
}

bool attributes_refused(tracer *t, value *v, PyObject *name, value *item) {
  return trace_raise(t, PyExc_AttributeError, "'%s' object has no attribute '%s'",
                     value_type_name(t, v), PyUnicode_AsUTF8(name)) != NULL;
}

/* Functions and classes written in Python (or builtin) that a library's own table knows better. */
static const loom_adapter *call_owner(PyObject *object) {
  if (!object || !(PyFunction_Check(object) || PyType_Check(object))) return NULL;
  for (const loom_adapter *const *a = loom_adapters(); *a; a++)
    if ((*a)->has_row && (*a)->has_row(object)) return *a;
  return NULL;
}

value *trace_call(tracer *t, value *callee, value *const *args, Py_ssize_t count,
                  PyObject *kwnames) {
  if (trace_pending(t) || !trace_goes_deeper(t)) return NULL;
  aside_see(t, callee);
  if (loom_rule_count && callee->object) {
    value *marked = rules_call(t, callee, args, count, kwnames);
    if (marked || trace_pending(t)) return marked;
  }
  const loom_adapter *owner = call_owner(callee->object);
  if (owner) {
    bool mine;
    PyObject *object = value_identity(t, callee);
    value *own = owner->call(t, object, NULL, args, count, kwnames, &mine);
    if (own != t->constants.not_implemented || !value_is_function(callee)) return own;
  }
  if (value_is_function(callee) && callee->object && loom_library->has_row(callee->object)) {
    bool mine;
    PyObject *object = value_identity(t, callee);
    value *own = loom_library->call(t, object, args, count, kwnames, &mine);
    if (mine || own || trace_pending(t)) return own;
  }
  value *result = callee->type->call ? callee->type->call(t, callee, args, count, kwnames) : NULL;
  if (result == t->constants.not_implemented)
    return trace_break(t, BREAK_UNKNOWN_CALL, "a %s", callee->type->name);
  if (result || trace_pending(t)) return result;
  if (callee->type->call)
    return trace_break(t, BREAK_UNKNOWN_CALL, "a %s failed silently", callee->type->name);
  return trace_raise(t, PyExc_TypeError, "'%s' object is not callable", value_type_name(t, callee));
}

value *trace_iter(tracer *t, value *v) {
  if (trace_pending(t) || !trace_goes_deeper(t)) return NULL;
  aside_see(t, v);
  if (v->type->iter) return v->type->iter(t, v);
  if (v->type->get_item && v->type->length) {
    int64_t count;
    value *length = v->type->length(t, v);
    if (!length) return NULL;
    if (!value_size_of(t, length, &count) || size_is_late(t, count))
      return trace_break(t, BREAK_DATA_DEPENDENT, "a length that is not known");
    return iter_indexed(t, v, (Py_ssize_t)count);
  }
  return trace_raise(t, PyExc_TypeError, "'%s' object is not iterable", value_type_name(t, v));
}

value *trace_next(tracer *t, value *v) {
  if (trace_pending(t) || !trace_goes_deeper(t) || !aside_may_change(t, v)) return NULL;
  if (v->type->next) return aside_seen(t, v->type->next(t, v));
  if (v->object && Py_TYPE(v->object)->tp_iternext)
    return trace_break(t, BREAK_LIVE_ITERATOR, "the next item of a live %s", value_type_name(t, v));
  return trace_raise(t, PyExc_TypeError, "'%s' object is not an iterator", value_type_name(t, v));
}

static value *items_of(tracer *t, value *iterator) {
  value *tuple = iterator ? value_tuple(t, NULL, 0) : NULL, *item;
  if (!tuple) return NULL;
  while ((item = trace_next(t, iterator))) {
    if (tuple->seq.count >= TRACE_MAX_ITEMS)
      return trace_break(t, BREAK_LIMIT, "a sequence of more than a million items");
    if (!seq_append(t, tuple, item)) return NULL;
  }
  return trace_pending(t) ? NULL : tuple;
}

value *trace_to_tuple(tracer *t, value *v) {
  if (trace_pending(t)) return NULL;
  if (value_is_tuple(v)) return v;
  if (value_is_list(v)) return value_tuple(t, v->seq.items, v->seq.count);
  return items_of(t, trace_iter(t, v));
}

bool trace_ask_count(tracer *t, value *v) {
  bool own = value_is_instance(v) && !(object_content(v) && container_keeps(t, v, "__len__"));
  if (own && trace_special(t, v, "__len__")) {
    if (trace_length(t, v)) return true;
    if (t->state != TRACE_RAISING || !exception_matches(t, t->raised, PyExc_TypeError))
      return false;
    t->state = TRACE_GOING;
    t->raised = NULL;
  }
  value *hint = own && !trace_pending(t) ? trace_special(t, v, "__length_hint__") : NULL;
  if (hint) /* whose answer may be none of a number */
    trace_break(t, BREAK_UNSUPPORTED_TYPE, "__length_hint__ of an object");
  return !trace_pending(t);
}

value *trace_listed(tracer *t, value *v) {
  if (!value_is_instance(v)) return trace_to_tuple(t, v);
  value *iterator = trace_iter(t, v);
  return iterator && trace_ask_count(t, v) ? items_of(t, iterator) : NULL;
}

bool value_items_come(const value *v) {
  if (value_is_const(v))
    return PyIter_Check(v->object) || PyType_HasFeature(Py_TYPE(v->object), Py_TPFLAGS_HEAPTYPE);
  return v->type->next;
}

value *trace_fast(tracer *t, value *v) {
  if (value_items_come(v) && !(v = trace_iter(t, v))) return NULL;
  return trace_listed(t, v);
}

value *trace_each(tracer *t, value *v) {
  if (value_items_come(v)) return trace_iter(t, v);
  value *items = trace_to_tuple(t, v);
  return items ? iter_over(t, items) : NULL;
}

int trace_contains(tracer *t, value *v, value *item) {
  if (trace_pending(t)) return -1;
  aside_see(t, v);
  return v->type->contains ? v->type->contains(t, v, item) : trace_search(t, v, item);
}

int trace_search(tracer *t, value *v, value *item) {
  value *iterator = trace_iter(t, v), *next;
  while (iterator && (next = trace_next(t, iterator))) {
    if (value_identical(t, next, item)) return 1;
    value *equal = trace_compare(t, Py_EQ, next, item);
    int truth = equal ? trace_truth(t, equal) : -1;
    if (truth) return truth;
  }
  return trace_pending(t) ? -1 : 0;
}

value *trace_call1(tracer *t, value *callee, value *arg) {
  return trace_call(t, callee, &arg, 1, NULL);
}

value *trace_call_list(tracer *t, value *callee, value *args, value *kwargs) {
  value *positional = trace_listed(t, args);
  if (!positional) return NULL;
  if (!kwargs || kwargs->seq.count == 0)
    return trace_call(t, callee, positional->seq.items, positional->seq.count, NULL);
  Py_ssize_t named = kwargs->seq.count / 2;
  value *all = value_list(t, positional->seq.items, positional->seq.count);
  PyObject *names = PyTuple_New(named);
  if (!trace_keep(t, names)) return trace_fail(t);
  for (Py_ssize_t i = 0; i < named; i++) {
    PyObject *name =
        value_name(t, kwargs->seq.items[2 * i], "a keyword", "keywords must be strings");
    if (!name) return NULL;
    PyTuple_SET_ITEM(names, i, Py_NewRef(name));
    if (!all || !seq_append(t, all, kwargs->seq.items[2 * i + 1])) return NULL;
  }
  return trace_call(t, callee, all->seq.items, positional->seq.count, names);
}
