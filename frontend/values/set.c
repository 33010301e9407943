/* Sets and frozen sets.
 *
 * Items are kept in the order in which they were added. That is not the order in which Python would
 * iterate them, which depends on hashes and on the set's whole history: what shows the order
 * (iteration, pop, passing it to a real function) asks set_real(), which answers only when it can
 * be sure.
 */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/live.h"
#include "frontend/values/objects.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"

enum { SET_FROZEN = 1, SET_DISORDERED = 2 };

bool set_is_frozen(const value *v) { return v->any.n & SET_FROZEN; }
void set_disorder(value *v) { v->any.n |= SET_DISORDERED; }

value *value_set(tracer *t, bool frozen) {
  value *v = value_new(t, &value_set_type);
  if (v) v->any.n = frozen ? SET_FROZEN : 0;
  return v;
}

static int set_find(tracer *t, value *set, value *item, Py_ssize_t *index_out) {
  if (!key_check(t, item) || !trace_charge(t, set->seq.count)) return -1;
  for (Py_ssize_t i = 0; i < set->seq.count; i++) {
    int equal = key_equal(t, set->seq.items[i], item);
    *index_out = i;
    if (equal) return equal;
  }
  return 0;
}

bool set_add(tracer *t, value *set, value *item) {
  Py_ssize_t i;
  int found = set_find(t, set, item, &i);
  set->seq.changes++;
  return found < 0 ? false : found == 1 || seq_append(t, set, item);
}

static void set_remove_at(value *set, Py_ssize_t i) {
  set->seq.items[i] = NULL;
  memmove(set->seq.items + i, set->seq.items + i + 1,
          (size_t)(set->seq.count - i - 1) * sizeof(value *));
  set->seq.count--;
  set->seq.changes += VALUE_REMOVED;
  set->any.n |= SET_DISORDERED;
}

static void set_replace(value *set, const value *by) {
  uint32_t changes = set->seq.changes + VALUE_REMOVED;
  set->seq = by->seq;
  set->seq.changes = changes;
}

bool value_is_any_set(const value *v) {
  return value_is_set(v) || (value_is_const(v) && PyAnySet_Check(v->object));
}

/* A set is taken for what is in it, whatever a class over it says of its items. */
static value *set_inside(value *v) {
  value *content = object_content(v);
  return content && value_is_set(content) ? content : v;
}

value *set_from(tracer *t, value *v, bool frozen) {
  value *set = value_set(t, frozen), *items = NULL, *item;
  v = set_inside(v);
  bool sets = value_is_any_set(v);
  if (set) items = value_is_set(v) ? iter_known(t, v->seq.items, v->seq.count) : trace_each(t, v);
  if (set && (sets || frozen)) set->any.n |= SET_DISORDERED;
  while (items && (item = trace_next(t, items)))
    if (!set_add(t, set, item)) return NULL;
  return items && !trace_pending(t) ? set : NULL;
}

/* Integers below 8 are their own hashes and the smallest table has 8 slots: always in ascending
 * order. */
static bool set_of_digits(const value *v) {
  for (Py_ssize_t i = 0; i < v->seq.count; i++) {
    value *item = v->seq.items[i];
    if (!value_is_const(item) || !PyLong_CheckExact(item->object)) return false;
    if (python_long_size(item->object) < 0 || python_long_size(item->object) > 1 ||
        PyLong_AsLong(item->object) > 7)
      return false;
  }
  return true;
}

/* A real set that iterates as the user's would: items that were only ever added one by one are
 * added again. */
PyObject *set_real(tracer *t, value *v) {
  if ((v->any.n & SET_DISORDERED) && v->seq.count > 1 && !set_of_digits(v)) return NULL;
  PyObject *real = PySet_New(NULL);
  for (Py_ssize_t i = 0; real && i < v->seq.count; i++) {
    PyObject *item = value_plain(t, v->seq.items[i]);
    if (!item || PySet_Add(real, item)) Py_CLEAR(real);
    Py_XDECREF(item);
  }
  if (real && set_is_frozen(v)) Py_SETREF(real, PyFrozenSet_New(real));
  error_drop();
  return real;
}

static value *set_in_order(tracer *t, value *v) {
  if (v->seq.count <= 1) return value_list(t, v->seq.items, v->seq.count);
  PyObject *real = set_real(t, v);
  if (!real)
    return trace_pending(t) ? NULL : trace_break(t, BREAK_UNSUPPORTED_TYPE, "the order of a set");
  PyObject *list = PySequence_List(real);
  Py_DECREF(real);
  return value_made(t, list);
}

enum { SET_AND = 1, SET_OR = 7, SET_SUB = 10, SET_XOR = 12 };

/* Of two items that are equal the result has that of the smaller set, or of the right one. */
static value *set_common(tracer *t, value *l, value *r, bool right) {
  value *result = value_set(t, set_is_frozen(l)), *from = right ? r : l, *in = right ? l : r;
  Py_ssize_t at;
  if (result) result->any.n |= SET_DISORDERED;
  for (Py_ssize_t i = 0; result && i < from->seq.count; i++) {
    int found = set_find(t, in, from->seq.items[i], &at);
    if (found < 0 || (found && !seq_append(t, result, from->seq.items[i]))) return NULL;
  }
  return result;
}

static value *set_operation(tracer *t, int op, value *l, value *r) {
  if (op == SET_AND) return set_common(t, l, r, r->seq.count <= l->seq.count);
  value *result = value_set(t, set_is_frozen(l));
  Py_ssize_t at;
  if (result) result->any.n |= SET_DISORDERED;
  for (Py_ssize_t i = 0; result && i < l->seq.count; i++) {
    int found = set_find(t, r, l->seq.items[i], &at);
    if (found < 0) return NULL;
    if ((op == SET_OR || !found) && !seq_append(t, result, l->seq.items[i])) return NULL;
  }
  for (Py_ssize_t i = 0; result && (op == SET_OR || op == SET_XOR) && i < r->seq.count; i++) {
    int found = set_find(t, l, r->seq.items[i], &at);
    if (found < 0) return NULL;
    if (!found && !seq_append(t, result, r->seq.items[i])) return NULL;
  }
  return result;
}

static const char *set_method_of(int op) {
  return op == SET_OR    ? "update"
         : op == SET_AND ? "intersection_update"
         : op == SET_SUB ? "difference_update"
                         : "symmetric_difference_update";
}

/* The other operand of a set's operator. The methods of a class over the set's own type come first.
 */
static value *set_operand(tracer *t, const value *l, value *r) {
  PyTypeObject *type = set_is_frozen(l) ? &PyFrozenSet_Type : &PySet_Type;
  if (value_is_const(r) && PyFrozenSet_CheckExact(r->object)) return set_from(t, r, true);
  bool first = object_content(r) && PyType_IsSubtype((PyTypeObject *)object_class(r), type);
  return first ? r : set_inside(r);
}

static value *set_binary(tracer *t, int op, value *l, value *r, bool inplace) {
  if (value_is_const(l) && PyFrozenSet_CheckExact(l->object)) l = set_from(t, l, true);
  if (!l) return NULL;
  bool set = value_is_set(l); /* which has no class of its own in front of it in place */
  if (set) r = inplace && !set_is_frozen(l) ? set_inside(r) : r;
  if (set && !(r = set_operand(t, l, r))) return NULL;
  if (!value_is_set(l) || !value_is_set(r)) return trace_not_implemented(t);
  if (op != SET_AND && op != SET_OR && op != SET_SUB && op != SET_XOR)
    return trace_not_implemented(t);
  value *result = set_operation(t, op, l, r);
  if (!result || !inplace || set_is_frozen(l)) return result;
  if (!shadow_set(t, l, set_method_of(op), &r, 1)) return NULL;
  set_replace(l, result);
  l->any.n |= SET_DISORDERED;
  return l;
}

static int set_subset(tracer *t, value *l, value *r) {
  Py_ssize_t at;
  for (Py_ssize_t i = 0; i < l->seq.count; i++) {
    int found = set_find(t, r, l->seq.items[i], &at);
    if (found != 1) return found;
  }
  return 1;
}

static value *set_compare(tracer *t, int op, value *l, value *r) {
  if (value_is_set(l) && !(r = set_operand(t, l, r))) return NULL;
  if (!value_is_set(r) || l->type != r->type) return trace_not_implemented(t);
  int less = set_subset(t, l, r), more = less < 0 ? -1 : set_subset(t, r, l);
  if (more < 0) return NULL;
  bool results[6] = {less && !more, less, less && more, !(less && more), more && !less, more};
  return value_bool(t, results[op]);
}

static int set_truth(tracer *t, value *v) { return v->seq.count != 0; }
static value *set_length(tracer *t, value *v) { return value_int(t, v->seq.count); }

/* What is looked for in a set: another set is taken as a frozen one. */
static value *set_sought(tracer *t, value *item) {
  value *content = object_content(item);
  if (content && value_is_set(content) && container_keeps(t, item, "__hash__")) item = content;
  return value_is_set(item) && !set_is_frozen(item) ? set_from(t, item, true) : item;
}

static int set_contains(tracer *t, value *v, value *item) {
  Py_ssize_t i;
  item = set_sought(t, item);
  return item ? set_find(t, v, item, &i) : -1;
}

static value *set_iter(tracer *t, value *v) {
  value *items = set_in_order(t, v);
  return items ? iter_watching(t, items, v, 0, false) : NULL;
}

#define METHOD(NAME)                                                                               \
  static value *NAME(tracer *t, value *v, value *const *args, Py_ssize_t count, PyObject *kwnames)
#define ARGS(NAME, LEAST, MOST)                                                                    \
  if (!args_check(t, NAME, count, LEAST, MOST, kwnames)) return NULL
#define CHANGES(NAME)                                                                              \
  if (!shadow_set(t, v, NAME, args, count)) return NULL

METHOD(set_add_method) {
  ARGS("add", 1, 1);
  if (!key_check(t, args[0])) return NULL;
  CHANGES("add");
  return set_add(t, v, args[0]) ? t->constants.none : NULL;
}

METHOD(set_discard) {
  Py_ssize_t i;
  ARGS("discard", 1, 1);
  value *item = set_sought(t, args[0]);
  if (!item || !key_check(t, item) || !shadow_set(t, v, "discard", &item, 1)) return NULL;
  int found = set_find(t, v, item, &i);
  if (found == 1) set_remove_at(v, i);
  return found < 0 ? NULL : t->constants.none;
}

METHOD(set_remove) {
  Py_ssize_t i;
  ARGS("remove", 1, 1);
  value *item = set_sought(t, args[0]);
  int found = item ? set_find(t, v, item, &i) : -1;
  if (found == 1 && !shadow_set(t, v, "discard", &item, 1)) return NULL;
  if (found == 1) set_remove_at(v, i);
  return found < 0 ? NULL : found ? t->constants.none : trace_raise_key(t, args[0]);
}

METHOD(set_clear) {
  ARGS("clear", 0, 0);
  CHANGES("clear");
  v->seq.count = 0;
  v->seq.changes += VALUE_REMOVED;
  v->any.n |= SET_DISORDERED;
  return t->constants.none;
}

METHOD(set_copy) {
  ARGS("copy", 0, 0);
  if (set_is_frozen(v)) return v;
  return set_from(t, v, set_is_frozen(v));
}

static bool set_is_like(value *v) { return value_is_any_set(set_inside(v)); }

/* What takes items only as long as they tell something: how long differs between versions. */
static bool set_takes_all(tracer *t, value *const *args, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++)
    if (value_items_come(args[i]) && !set_is_like(args[i]))
      return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an iterator that a set may leave unfinished"),
             false;
  return true;
}

static value *set_fold(tracer *t, value *v, value *const *args, Py_ssize_t count, int op) {
  if (op == SET_AND && !set_takes_all(t, args, count)) return NULL;
  value *result = set_from(t, v, set_is_frozen(v));
  for (Py_ssize_t i = 0; result && i < count; i++) {
    value *other = set_from(t, args[i], false);
    result = !other                                   ? NULL
             : op == SET_AND && !set_is_like(args[i]) ? set_common(t, result, other, true)
                                                      : set_operation(t, op, result, other);
  }
  return result;
}

METHOD(set_union) {
  ARGS("union", 0, -1);
  return set_fold(t, v, args, count, SET_OR);
}

METHOD(set_intersection) {
  ARGS("intersection", 0, -1);
  return set_fold(t, v, args, count, SET_AND);
}

METHOD(set_difference) {
  ARGS("difference", 0, -1);
  return set_fold(t, v, args, count, SET_SUB);
}

METHOD(set_symmetric) {
  ARGS("symmetric_difference", 1, 1);
  return set_fold(t, v, args, count, SET_XOR);
}

/* update() and difference_update() with items that come: each is added or taken out before the next
 * one is taken. */
static bool set_change_each(tracer *t, value *v, value *items, int op) {
  value *iterator = trace_iter(t, items), *item;
  while (iterator && (item = trace_next(t, iterator))) {
    value *method =
        op == SET_OR ? set_add_method(t, v, &item, 1, NULL) : set_discard(t, v, &item, 1, NULL);
    if (!method) return false;
  }
  return iterator && !trace_pending(t);
}

/* Iterators among the arguments are read once. */
static value *set_fold_in_place(tracer *t, value *v, value *const *args, Py_ssize_t count, int op) {
  if (op == SET_AND && !set_takes_all(t, args, count)) return NULL;
  if (count == 1 && op != SET_AND && value_items_come(args[0]) && !set_is_like(args[0]))
    return set_change_each(t, v, args[0], op) ? t->constants.none : NULL;
  for (Py_ssize_t i = 0; op != SET_AND && count > 1; i++) {
    if (i == count) return t->constants.none;
    if (!set_fold_in_place(t, v, args + i, 1, op)) return NULL;
  }
  value *known = value_tuple(t, NULL, 0);
  for (Py_ssize_t i = 0; known && i < count; i++) {
    value *other = set_inside(args[i]);
    bool again = value_is_set(other) || value_is_const(other);
    value *all = again ? other : trace_to_tuple(t, other);
    if (!all || !seq_append(t, known, all)) return NULL;
    if (v->source && value_is_dict(args[i]))
      return trace_break(t, BREAK_SIDE_EFFECT, "a set is updated by a dict");
  }
  args = known ? known->seq.items : NULL;
  value *result = args || !count ? set_fold(t, v, args, count, op) : NULL;
  if (!result && t->state == TRACE_RAISING) /* with some of the items in it */
    return trace_raise_plainly(t, "%s() of a set raises an exception", set_method_of(op));
  if (!result || !shadow_set(t, v, set_method_of(op), args, count)) return NULL;
  set_replace(v, result);
  v->any.n |= SET_DISORDERED;
  return t->constants.none;
}

METHOD(set_update) {
  ARGS("update", 0, -1);
  return set_fold_in_place(t, v, args, count, SET_OR);
}

METHOD(set_intersection_update) {
  ARGS("intersection_update", 0, -1);
  return set_fold_in_place(t, v, args, count, SET_AND);
}

METHOD(set_difference_update) {
  ARGS("difference_update", 0, -1);
  return set_fold_in_place(t, v, args, count, SET_SUB);
}

METHOD(set_issubset) {
  ARGS("issubset", 1, 1);
  if (!set_takes_all(t, args, 1)) return NULL;
  value *other = set_from(t, args[0], false);
  return other ? set_compare(t, Py_LE, v, other) : NULL;
}

METHOD(set_issuperset) {
  ARGS("issuperset", 1, 1);
  if (!set_takes_all(t, args, 1)) return NULL;
  value *other = set_from(t, args[0], false);
  return other ? set_compare(t, Py_GE, v, other) : NULL;
}

METHOD(set_isdisjoint) {
  ARGS("isdisjoint", 1, 1);
  if (object_content(args[0]) && !container_keeps(t, args[0], "__iter__")) /* which it asks */
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an iterator that a set may leave unfinished");
  if (!set_takes_all(t, args, 1)) return NULL;
  value *other = set_from(t, args[0], false);
  value *common = other ? set_operation(t, SET_AND, v, other) : NULL;
  return common ? value_bool(t, common->seq.count == 0) : NULL;
}

static const builtin_method set_methods[] = {{"copy", set_copy},
                                             {"union", set_union},
                                             {"intersection", set_intersection},
                                             {"difference", set_difference},
                                             {"symmetric_difference", set_symmetric},
                                             {"issubset", set_issubset},
                                             {"issuperset", set_issuperset},
                                             {"isdisjoint", set_isdisjoint},
                                             {"add", set_add_method},
                                             {"discard", set_discard},
                                             {"remove", set_remove},
                                             {"clear", set_clear},
                                             {"update", set_update},
                                             {"intersection_update", set_intersection_update},
                                             {"difference_update", set_difference_update},
                                             {NULL, NULL}};

static value *set_get_attr(tracer *t, value *v, PyObject *name) {
  if (set_is_frozen(v) && !_PyType_Lookup(&PyFrozenSet_Type, name))
    return trace_raise(t, PyExc_AttributeError, "'frozenset' object has no attribute '%s'",
                       PyUnicode_AsUTF8(name));
  return builtin_method_find(t, set_methods, v, name);
}

static PyObject *set_python_type(tracer *t, value *v) {
  return (PyObject *)(set_is_frozen(v) ? &PyFrozenSet_Type : &PySet_Type);
}

static recipe *set_rebuild(tracer *t, value *v) {
  if (v->source) {
    recipe *same = trace_recipe(t, RECIPE_SOURCE);
    if (same) same->source = v->source;
    return same;
  }
  recipe *r = trace_recipe(t, set_is_frozen(v) ? RECIPE_FROZENSET : RECIPE_SET);
  if (!r) return NULL;
  return trace_rebuild_items(t, r, v);
}

static PyObject *set_known(tracer *t, value *v, bool plain) { return set_real(t, v); }

static bool set_key(tracer *t, value *v) {
  return set_is_frozen(v) ? key_by_identity(t, v) : key_is_refused(t, v);
}

static void set_walk(roll_walk *w, value *v) {
  roll_pointer(w, v->object);
  roll_token(w, (uint64_t)v->any.n);
  roll_token(w, (uint64_t)v->seq.count);
  for (Py_ssize_t i = 0; i < v->seq.count; i++)
    roll_exactly(w, &v->seq.items[i]);
}

const value_type value_set_type = {.name = "set",
                                   .kinds = VALUE_IS_CONTAINER,
                                   .binary = set_binary,
                                   .compare = set_compare,
                                   .truth = set_truth,
                                   .length = set_length,
                                   .contains = set_contains,
                                   .get_attr = set_get_attr,
                                   .iter = set_iter,
                                   .python_type = set_python_type,
                                   .rebuild = set_rebuild,
                                   .walk = set_walk,
                                   .known = set_known,
                                   .key = set_key,
                                   .copy = copy_set,
                                   .builtin = &PySet_Type};
