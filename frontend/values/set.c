/* Sets and frozen sets.
 *
 * Items are kept in the order in which they were added. That is not the order in which Python would
 * iterate them. Code that shows Python's order (iteration, pop, passing the set to a real function,
 * a result) asks set_order.c. All operations on a set are passed on to set_order.c.
 */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/live.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/rolled.h"
#include "frontend/values/rolled_internal.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

bool set_is_frozen(const value *v) { return v->seq.set->frozen; }

/* One whose order is not known yet. */
static value *set_bare(tracer *t, bool frozen) {
  value *v = value_new(t, &value_set_type);
  if (!v || !(v->seq.set = trace_alloc(t, sizeof *v->seq.set))) return NULL;
  v->seq.set->frozen = frozen;
  return v;
}

value *value_set(tracer *t, bool frozen) {
  value *v = set_bare(t, frozen);
  PyObject *table = !v ? NULL : frozen ? PyFrozenSet_New(NULL) : PySet_New(NULL);
  if (!v || !table) return v ? trace_fail(t) : NULL;
  v->seq.set->table = trace_keep(t, table);
  return v->seq.set->table ? v : NULL;
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

static bool set_put(tracer *t, value *set, value *item) {
  Py_ssize_t i;
  int found = set_find(t, set, item, &i);
  set->seq.changes++;
  return found < 0 ? false : found == 1 || seq_append(t, set, item);
}

bool set_add(tracer *t, value *set, value *item) {
  if (!set_put(t, set, item)) return false;
  order_add(t, set, item);
  return !trace_pending(t);
}

static bool set_add_item(tracer *t, value *v, value *item) {
  return key_check(t, item) && shadow_set(t, v, "add", &item, 1) && set_add(t, v, item);
}

static void set_remove_at(value *set, Py_ssize_t i) {
  set->seq.items[i] = NULL;
  memmove(set->seq.items + i, set->seq.items + i + 1,
          (size_t)(set->seq.count - i - 1) * sizeof(value *));
  set->seq.count--;
  set->seq.changes += VALUE_REMOVED;
}

static void set_replace(value *set, const value *by) {
  uint32_t changes = set->seq.changes + VALUE_REMOVED;
  struct set_facts *facts = set->seq.set;
  set->seq = by->seq;
  set->seq.changes = changes;
  set->seq.set = facts;
}

bool value_is_any_set(const value *v) {
  return value_is_set(v) || (value_is_const(v) && PyAnySet_Check(v->object));
}

/* A set is taken for what is in it, whatever a class over it says of its items. */
static value *set_inside(value *v) {
  value *content = object_content(v);
  return content && value_is_set(content) ? content : v;
}

/* A value with the same items over which one can iterate twice: `v` itself, or a tuple of its
 * items. Sets and dictionaries stay what they are, since a set adds their items in a special
 * order. */
static value *set_items_of(tracer *t, value *v) {
  v = set_inside(v);
  bool again = value_is_any_set(v) || value_is_dict(v);
  return again ? v : trace_to_tuple(t, v);
}

/* A new set of the items of `v`. */
static value *set_taken(tracer *t, value *v, bool frozen) {
  value *set = set_bare(t, frozen), *items = NULL, *item;
  v = set_inside(v);
  if (set) items = value_is_set(v) ? iter_known(t, v->seq.items, v->seq.count) : trace_each(t, v);
  while (items && (item = trace_next(t, items)))
    if (!set_put(t, set, item)) return NULL;
  return items && !trace_pending(t) ? set : NULL;
}

static bool set_is_like(value *v) { return value_is_any_set(set_inside(v)); }

/* update() with an iterator: each item is added before the next one is taken. */
static bool set_extend_each(tracer *t, value *v, value *items) {
  value *iterator = trace_iter(t, items), *item;
  while (iterator && (item = trace_next(t, iterator)))
    if (!set_add_item(t, v, item)) return false;
  return iterator && !trace_pending(t);
}

static value *set_freeze(tracer *t, value *set) {
  bool mixed = set->seq.set->mixed;
  set->seq.set->frozen = true;
  order_twin(t, set, set->seq.set->table);
  set->seq.set->mixed = mixed;
  return trace_pending(t) ? NULL : set;
}

value *set_from(tracer *t, value *v, bool frozen) {
  bool comes = value_items_come(v) && !set_is_like(v);
  value *set = comes ? value_set(t, false) : NULL, *of = comes ? set : set_items_of(t, v);
  if (comes && (!set || !set_extend_each(t, set, v))) return NULL;
  if (comes) return frozen ? set_freeze(t, set) : set;
  if (!of || !(set = set_taken(t, of, frozen))) return NULL;
  order_made(t, set, of);
  if (frozen && set_inside(v) != v) order_copied(t, set);
  return trace_pending(t) ? NULL : set;
}

bool set_extend(tracer *t, value *set, value *v) {
  if (!set_is_like(v) && !value_is_dict(v)) return set_extend_each(t, set, v);
  value *of = set_inside(v), *all = set_taken(t, of, false);
  for (Py_ssize_t i = 0; all && i < all->seq.count; i++)
    if (!set_put(t, set, all->seq.items[i])) return false;
  if (all) order_call(t, set, set->seq.set->table, "update", &of, 1);
  return all && !trace_pending(t);
}

value *set_now(tracer *t, value *v) {
  value *now = set_bare(t, set_is_frozen(v));
  for (Py_ssize_t i = 0; now && i < v->seq.count; i++)
    if (!seq_append(t, now, v->seq.items[i])) return NULL;
  if (!now) return NULL;
  order_twin(t, now, order_table(t, v));
  now->seq.set->mixed = v->seq.set->mixed;
  return now;
}

static value *set_in_order(tracer *t, value *v) {
  value *items = order_items(t, v);
  if (items || trace_pending(t)) return items;
  return trace_break(t, BREAK_UNSUPPORTED_TYPE, "the order of a set");
}

/* Of two items that are equal the result has that of the smaller set, or of the right one. */
static value *set_common(tracer *t, value *l, value *r, bool right) {
  value *result = set_bare(t, set_is_frozen(l)), *from = right ? r : l, *in = right ? l : r;
  Py_ssize_t at;
  for (Py_ssize_t i = 0; result && i < from->seq.count; i++) {
    int found = set_find(t, in, from->seq.items[i], &at);
    if (found < 0 || (found && !seq_append(t, result, from->seq.items[i]))) return NULL;
  }
  return result;
}

/* The items alone, not their order. */
static value *set_operation(tracer *t, int op, value *l, value *r) {
  if (op == SET_AND) return set_common(t, l, r, r->seq.count <= l->seq.count);
  value *result = set_bare(t, set_is_frozen(l));
  Py_ssize_t at;
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

static value *set_ordered(tracer *t, value *result, int op, value *l, value *r) {
  PyObject *left = order_operand(t, l), *right = left ? order_operand(t, r) : NULL;
  order_binary(t, result, op, left, right);
  Py_XDECREF(left);
  Py_XDECREF(right);
  return trace_pending(t) ? NULL : result;
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
  if (!result) return NULL;
  if (!inplace || set_is_frozen(l)) return set_ordered(t, result, op, l, r);
  if (!shadow_set(t, l, set_method_of(op), &r, 1)) return NULL;
  order_call(t, l, l->seq.set->table, set_method_of(op), &r, 1);
  set_replace(l, result);
  return trace_pending(t) ? NULL : l;
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
  return value_is_set(item) && !set_is_frozen(item) ? set_taken(t, item, true) : item;
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
  return set_add_item(t, v, args[0]) ? t->constants.none : NULL;
}

static bool set_take_out(tracer *t, value *v, value *item) {
  Py_ssize_t i;
  int found = set_find(t, v, item, &i);
  if (found == 1) order_discard(t, v, item);
  if (found == 1) set_remove_at(v, i);
  return found >= 0 && !trace_pending(t);
}

METHOD(set_discard) {
  ARGS("discard", 1, 1);
  value *item = set_sought(t, args[0]);
  if (!item || !key_check(t, item) || !shadow_set(t, v, "discard", &item, 1)) return NULL;
  return set_take_out(t, v, item) ? t->constants.none : NULL;
}

METHOD(set_remove) {
  Py_ssize_t i;
  ARGS("remove", 1, 1);
  value *item = set_sought(t, args[0]);
  int found = item ? set_find(t, v, item, &i) : -1;
  if (found == 1 && !shadow_set(t, v, "discard", &item, 1)) return NULL;
  if (found == 1) order_discard(t, v, item);
  if (found == 1) set_remove_at(v, i);
  return found < 0 || trace_pending(t) ? NULL
         : found                       ? t->constants.none
                                       : trace_raise_key(t, args[0]);
}

METHOD(set_clear) {
  ARGS("clear", 0, 0);
  CHANGES("clear");
  order_call(t, v, v->seq.set->table, "clear", NULL, 0);
  v->seq.count = 0;
  v->seq.changes += VALUE_REMOVED;
  return t->constants.none;
}

/* Of one that existed before, where the search begins depends on what it has seen. */
METHOD(set_pop) {
  ARGS("pop", 0, 0);
  if (!v->seq.count) return trace_raise(t, PyExc_KeyError, "pop from an empty set");
  Py_ssize_t i = v->source ? -1 : order_pop(t, v);
  if (i < 0 && trace_pending(t)) return NULL;
  if (i < 0) return trace_break(t, BREAK_UNSUPPORTED_TYPE, "the order of a set");
  value *item = v->seq.items[i];
  set_remove_at(v, i);
  return item;
}

METHOD(set_copy) {
  ARGS("copy", 0, 0);
  bool derived = v->seq.set->origin || pointer_map_get(&t->known.contents, v);
  if (set_is_frozen(v) && !derived) return v;
  value *copy = set_from(t, v, set_is_frozen(v));
  if (copy && set_is_frozen(v)) order_copied(t, copy);
  return copy;
}

/* What takes items only as long as they tell something: how long differs between versions. */
static bool set_takes_all(tracer *t, value *const *args, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++)
    if (value_items_come(args[i]) && !set_is_like(args[i]))
      return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an iterator that a set may leave unfinished"),
             false;
  return true;
}

static value *set_fold(tracer *t, value *v, value *const *args, Py_ssize_t count, int op,
                       const char *name) {
  if (op == SET_AND && !set_takes_all(t, args, count)) return NULL;
  value *result = set_taken(t, v, set_is_frozen(v)), *known = value_tuple(t, NULL, 0);
  for (Py_ssize_t i = 0; known && result && i < count; i++) {
    bool comes = value_items_come(args[i]) && !set_is_like(args[i]);
    value *of = comes ? args[i] : set_items_of(t, args[i]),
          *other = of ? set_taken(t, of, false) : NULL;
    if (comes && other) of = value_tuple(t, other->seq.items, other->seq.count);
    result = !other || !of || !seq_append(t, known, of) ? NULL
             : op == SET_AND && !set_is_like(args[i])   ? set_common(t, result, other, true)
                                                        : set_operation(t, op, result, other);
  }
  if (!known || !result) return NULL;
  if (name) order_call(t, result, order_table(t, v), name, known->seq.items, count);
  return trace_pending(t) ? NULL : result;
}

METHOD(set_union) {
  ARGS("union", 0, -1);
  return set_fold(t, v, args, count, SET_OR, "union");
}

METHOD(set_intersection) {
  ARGS("intersection", 0, -1);
  return set_fold(t, v, args, count, SET_AND, "intersection");
}

METHOD(set_difference) {
  ARGS("difference", 0, -1);
  return set_fold(t, v, args, count, SET_SUB, "difference");
}

METHOD(set_symmetric) {
  ARGS("symmetric_difference", 1, 1);
  return set_fold(t, v, args, count, SET_XOR, "symmetric_difference");
}

/* difference_update() with items that come. At its end it tidies the table, so that it is done
 * again as a whole; nothing else may change the set meanwhile. */
static bool set_remove_each(tracer *t, value *v, value *items) {
  value *iterator = trace_iter(t, items), *item = NULL, *came = value_tuple(t, NULL, 0);
  PyObject *table = v->seq.set->table;
  uint32_t changes = v->seq.changes;
  if (!came || !iterator || !shadow_open(t, v)) return false;
  v->seq.set->table = NULL;
  while ((item = trace_next(t, iterator)) && v->seq.changes == changes) {
    if (!key_check(t, item) || !seq_append(t, came, item) || !set_take_out(t, v, item)) break;
    changes = v->seq.changes;
  }
  if (v->seq.changes != changes && !trace_pending(t))
    trace_break(t, BREAK_SIDE_EFFECT, "a set changes while items are taken out of it");
  if (t->state == TRACE_RAISING && v->source)
    trace_raise_plainly(t, "difference_update() of a set raises an exception");
  if (trace_pending(t)) return false;
  order_call(t, v, table, "difference_update", &came, 1);
  return shadow_set(t, v, "difference_update", &came, 1) && !trace_pending(t);
}

/* Iterators among the arguments are read once. */
static value *set_fold_in_place(tracer *t, value *v, value *const *args, Py_ssize_t count, int op) {
  if (op == SET_AND && !set_takes_all(t, args, count)) return NULL;
  bool each = op == SET_OR || op == SET_SUB;
  if (count == 1 && each && value_items_come(args[0]) && !set_is_like(args[0])) {
    bool good = op == SET_OR ? set_extend_each(t, v, args[0]) : set_remove_each(t, v, args[0]);
    return good ? t->constants.none : NULL;
  }
  for (Py_ssize_t i = 0; op != SET_AND && count > 1; i++) {
    if (i == count) return t->constants.none;
    if (!set_fold_in_place(t, v, args + i, 1, op)) return NULL;
  }
  value *known = value_tuple(t, NULL, 0);
  for (Py_ssize_t i = 0; known && i < count; i++) {
    value *all = set_items_of(t, args[i]);
    if (!all || !seq_append(t, known, all)) return NULL;
    if (v->source && value_is_dict(args[i]))
      return trace_break(t, BREAK_SIDE_EFFECT, "a set is updated by a dict");
  }
  args = known ? known->seq.items : NULL;
  value *result = args || !count ? set_fold(t, v, args, count, op, NULL) : NULL;
  if (!result && t->state == TRACE_RAISING) /* with some of the items in it */
    return trace_raise_plainly(t, "%s() of a set raises an exception", set_method_of(op));
  if (!result || !shadow_set(t, v, set_method_of(op), args, count)) return NULL;
  order_call(t, v, v->seq.set->table, set_method_of(op), args, count);
  set_replace(v, result);
  return trace_pending(t) ? NULL : t->constants.none;
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

METHOD(set_symmetric_update) {
  ARGS("symmetric_difference_update", 1, 1);
  return set_fold_in_place(t, v, args, count, SET_XOR);
}

METHOD(set_issubset) {
  ARGS("issubset", 1, 1);
  if (!set_takes_all(t, args, 1)) return NULL;
  value *other = set_taken(t, args[0], false);
  return other ? set_compare(t, Py_LE, v, other) : NULL;
}

METHOD(set_issuperset) {
  ARGS("issuperset", 1, 1);
  if (!set_takes_all(t, args, 1)) return NULL;
  value *other = set_taken(t, args[0], false);
  return other ? set_compare(t, Py_GE, v, other) : NULL;
}

METHOD(set_isdisjoint) {
  ARGS("isdisjoint", 1, 1);
  if (object_content(args[0]) && !container_keeps(t, args[0], "__iter__")) /* which it asks */
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an iterator that a set may leave unfinished");
  if (!set_takes_all(t, args, 1)) return NULL;
  value *other = set_taken(t, args[0], false);
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
                                             {"pop", set_pop},
                                             {"update", set_update},
                                             {"intersection_update", set_intersection_update},
                                             {"difference_update", set_difference_update},
                                             {"symmetric_difference_update", set_symmetric_update},
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
  PyObject *table = v->seq.set->mixed ? order_table(t, v) : NULL;
  value *items = v->seq.set->mixed ? set_in_order(t, v) : v;
  if (items && items != v && !table && !trace_pending(t)) /* of one item: what comes next differs */
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "the order of a set");
  recipe *r = items ? trace_recipe(t, set_is_frozen(v) ? RECIPE_FROZENSET : RECIPE_SET) : NULL;
  if (!r || (table && !(r->object = set_outline(table)))) return r ? trace_fail(t) : NULL;
  return trace_rebuild_items(t, r, items);
}

static PyObject *set_known(tracer *t, value *v, bool plain) {
  PyObject *table = order_items(t, v) ? order_real(t, v) : NULL;
  if (table && object_is_plain(table)) return table;
  Py_XDECREF(table);
  return NULL;
}

/* What is in it is hashable. */
static bool set_key(tracer *t, value *v) { return set_is_frozen(v) || key_is_refused(t, v); }

static void set_walk(roll_walk *w, value *v) {
  roll_pointer(w, v->object);
  order_walk(w, v);
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
