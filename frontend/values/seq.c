/* Tuples, lists and slices. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/objects.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/live.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/rolled.h"
#include "frontend/values/rolled_internal.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

value *value_tuple(tracer *t, value *const *items, Py_ssize_t count) {
  value *v = value_new(t, &value_tuple_type);
  value **copy = v ? trace_alloc(t, (size_t)(count ? count : 1) * sizeof *copy) : NULL;
  if (!copy) return NULL;
  if (count) memcpy(copy, items, (size_t)count * sizeof *copy);
  v->seq.items = copy;
  v->seq.count = v->seq.capacity = count;
  return v;
}

value *value_list(tracer *t, value *const *items, Py_ssize_t count) {
  value *v = value_tuple(t, items, count);
  if (v) v->type = &value_list_type;
  return v;
}

bool value_mutable(tracer *t, value *v) { return shadow_open(t, v); }

bool seq_append(tracer *t, value *v, value *item) {
  if (v->seq.count == v->seq.capacity) {
    Py_ssize_t capacity = v->seq.capacity ? v->seq.capacity * 2 : 8;
    value **items = trace_alloc(t, (size_t)capacity * sizeof *items);
    if (!items) return false;
    if (v->seq.count) memcpy(items, v->seq.items, (size_t)v->seq.count * sizeof *items);
    v->seq.items = items;
    v->seq.capacity = capacity;
  }
  v->seq.items[v->seq.count++] = item;
  return true;
}

bool list_extend(tracer *t, value *list, value *iterable) {
  value *iterator = trace_each(t, iterable), *item;
  if (iterator && !trace_ask_count(t, iterable)) return false;
  while (iterator && (item = trace_next(t, iterator))) {
    if (list->seq.count >= TRACE_MAX_ITEMS)
      trace_break(t, BREAK_LIMIT, "a sequence of more than a million items");
    if (trace_pending(t) || !seq_append(t, list, item)) return false;
  }
  return iterator && !trace_pending(t);
}

value *seq_concat(tracer *t, const value_type *type, value *l, value *r) {
  value *v = value_tuple(t, l->seq.items, l->seq.count);
  if (!v) return NULL;
  v->type = type;
  for (Py_ssize_t i = 0; i < r->seq.count; i++)
    if (!seq_append(t, v, r->seq.items[i])) return NULL;
  return v;
}

static bool seq_repeat_into(tracer *t, value *v, Py_ssize_t count, int64_t times) {
  if (times > 0 && count > 0 && times > 1000000 / count) {
    trace_break(t, BREAK_LIMIT, "a sequence of more than a million items");
    return false;
  }
  value **items = v->seq.items;
  v->seq.count = v->seq.capacity = 0;
  v->seq.items = NULL;
  for (int64_t n = 0; n < times; n++)
    for (Py_ssize_t i = 0; i < count; i++)
      if (!seq_append(t, v, items[i])) return false;
  return true;
}

static value *seq_repeat(tracer *t, value *seq, value *times, bool inplace) {
  int64_t n;
  if (!(times = value_index(t, times, "__rmul__"))) return NULL;
  if (value_is_instance(times)) return trace_not_implemented(t);
  if (!value_known_int(t, times, &n)) return trace_pending(t) ? NULL : trace_not_implemented(t);
  if (inplace && value_is_list(seq)) {
    if (!value_mutable(t, seq) || (n <= 0 && !trace_gives_up_items(t, seq, 0, seq->seq.count)))
      return NULL;
    return seq_repeat_into(t, seq, seq->seq.count, n) ? seq : NULL;
  }
  bool same = n == 1 || seq->seq.count == 0; /* a tuple is shared then */
  if (same && tuple_is_plain(seq)) return seq;
  value *v = value_tuple(t, seq->seq.items, seq->seq.count);
  if (!v || !seq_repeat_into(t, v, v->seq.count, n)) return NULL;
  v->type = seq->type;
  return value_is_tuple(seq) ? tuple_of_operator(t, v, TUPLE_REPEAT, seq, NULL) : v;
}

/* + and * of tuples and lists; the other operand's type has had, or will have, its turn as for
 * numbers. */
static value *seq_binary(tracer *t, int op, value *l, value *r, bool inplace) {
  if (op == 5 && value_is_sequence(l))
    return value_is_sequence(r) ? trace_not_implemented(t) : seq_repeat(t, l, r, inplace);
  if (op == 5) return seq_repeat(t, r, l, false);
  if (op != 0 || !value_is_sequence(l)) return trace_not_implemented(t);
  if (inplace && l->type == r->type && value_is_list(l))
    return value_mutable(t, l) && list_extend(t, l, r) ? l : NULL;
  if (l->type != r->type) return trace_not_implemented(t);
  bool tuples = value_is_tuple(l);
  bool plain = tuples && !tuple_has_operators(l) && !tuple_has_operators(r);
  if (plain && l->seq.count == 0 && !tuple_class(r)) return r;
  if (plain && r->seq.count == 0 && !tuple_class(l)) return l; /* nothing added */
  value *made = seq_concat(t, l->type, l, r);
  return tuples ? tuple_of_operator(t, made, TUPLE_CONCAT, l, r) : made;
}

/* True after a break: comparing two of its items was a call that has changed it. */
static bool seq_was_changed(tracer *t, const value *now, const value *before) {
  if (now->seq.count == before->seq.count && now->seq.items == before->seq.items) return false;
  trace_break(t, BREAK_SIDE_EFFECT, "a comparison that changes the %s", before->type->name);
  return true;
}

static value *seq_compare(tracer *t, int op, value *l, value *r) {
  if (l->type != r->type) return trace_not_implemented(t);
  if ((op == Py_EQ || op == Py_NE) && l->seq.count != r->seq.count)
    return value_bool(t, op == Py_NE);
  const value before[2] = {*l, *r};
  for (Py_ssize_t i = 0; i < l->seq.count && i < r->seq.count; i++) {
    value *a = l->seq.items[i], *b = r->seq.items[i];
    if (value_identical(t, a, b)) continue;
    value *equal = trace_compare(t, Py_EQ, a, b);
    int truth = equal ? trace_truth(t, equal) : -1;
    if (truth < 0 || seq_was_changed(t, l, &before[0]) || seq_was_changed(t, r, &before[1]))
      return NULL;
    if (truth) continue;
    if (op == Py_EQ || op == Py_NE) return value_bool(t, op == Py_NE);
    return trace_compare(t, op, a, b);
  }
  Py_ssize_t a = l->seq.count, b = r->seq.count;
  bool results[6] = {a<b, a <= b, a == b, a != b, a> b, a >= b};
  return value_bool(t, results[op]);
}

static int seq_truth(tracer *t, value *v) { return v->seq.count != 0; }

static value *seq_length(tracer *t, value *v) { return value_int(t, v->seq.count); }

static bool seq_index(tracer *t, value *v, value *key, Py_ssize_t *out) {
  int64_t i;
  if (!value_known_int(t, key, &i)) {
    if (trace_pending(t)) return false;
    if (value_is_const(key) && PyLong_CheckExact(key->object))
      trace_raise(t, PyExc_IndexError, "cannot fit 'int' into an index-sized integer");
    else if (value_is_const(key) && object_is_plain(key->object))
      trace_raise(t, PyExc_TypeError, "%s indices must be integers or slices", v->type->name);
    else
      trace_break(t, BREAK_DATA_DEPENDENT, "an index of a %s that is not known", v->type->name);
    return false;
  }
  if (i < 0) i += v->seq.count;
  if (i < 0 || i >= v->seq.count) {
    trace_raise(t, PyExc_IndexError, "%s index out of range", v->type->name);
    return false;
  }
  *out = (Py_ssize_t)i;
  return true;
}

static bool seq_slice_indices(tracer *t, value *v, value *slice, Py_ssize_t *start,
                              Py_ssize_t *step, Py_ssize_t *count) {
  PyObject *known = value_plain(t, slice);
  Py_ssize_t stop;
  if (!known) {
    if (!trace_pending(t)) trace_break(t, BREAK_DATA_DEPENDENT, "a slice that is not known");
    return false;
  }
  int failed = PySlice_Unpack(known, start, &stop, step);
  Py_DECREF(known);
  if (failed) return trace_raise_live(t), false;
  *count = PySlice_AdjustIndices(v->seq.count, start, &stop, *step);
  return true;
}

static value *seq_get_item(tracer *t, value *v, value *key) {
  Py_ssize_t i, step, count;
  value *lent = gather_at(t, v, key);
  if (lent || trace_pending(t)) return lent;
  if (!value_is_slice(key)) return seq_index(t, v, key, &i) ? v->seq.items[i] : NULL;
  if (!seq_slice_indices(t, v, key, &i, &step, &count)) return NULL;
  value **items = trace_alloc(t, (size_t)(count ? count : 1) * sizeof *items);
  if (!items) return NULL;
  for (Py_ssize_t n = 0; n < count; n++)
    items[n] = v->seq.items[i + n * step];
  if (value_is_list(v)) return value_list(t, items, count);
  if (count == v->seq.count && step == 1 && !tuple_class(v)) return v; /* t[:] is t */
  return tuple_of_operator(t, value_tuple(t, items, count), TUPLE_SLICE, v, NULL);
}

/* Replaces [start, start + count) by items, which are none of the list's own. */
static bool list_splice(tracer *t, value *v, Py_ssize_t start, Py_ssize_t count,
                        value *const *items, Py_ssize_t added) {
  Py_ssize_t tail = v->seq.count - start - count, before = v->seq.count;
  if (!trace_charge(t, tail + added) || !trace_gives_up_items(t, v, start, count)) return false;
  for (Py_ssize_t i = count; i < added; i++)
    if (!seq_append(t, v, t->constants.none)) return false;
  v->seq.count = before - count + added;
  value **at = v->seq.items + start;
  if (tail) memmove(at + added, at + count, (size_t)tail * sizeof *at);
  if (added) memcpy(at, items, (size_t)added * sizeof *at);
  return true;
}

bool list_empty(tracer *t, value *v) { return list_splice(t, v, 0, v->seq.count, NULL, 0); }

static bool list_set_slice(tracer *t, value *v, value *key, value *item) {
  Py_ssize_t start, step, count;
  value *items = item ? trace_fast(t, item) : value_tuple(t, NULL, 0);
  if (!items || !seq_slice_indices(t, v, key, &start, &step, &count)) return false;
  if (step == 1) return list_splice(t, v, start, count, items->seq.items, items->seq.count);
  if (!item) {
    for (Py_ssize_t n = count; n-- > 0;) {
      Py_ssize_t at = start + (step > 0 ? n : count - 1 - n) * step;
      if (!list_splice(t, v, at, 1, NULL, 0)) return false;
    }
    return true;
  }
  if (items->seq.count != count) {
    trace_raise(t, PyExc_ValueError, "the sizes of an extended slice differ");
    return false;
  }
  for (Py_ssize_t n = 0; n < count; n++) {
    if (!trace_gives_up_items(t, v, start + n * step, 1)) return false;
    v->seq.items[start + n * step] = items->seq.items[n];
  }
  return true;
}

static bool list_set_item(tracer *t, value *v, value *key, value *item) {
  Py_ssize_t i;
  if (!value_mutable(t, v)) return false;
  if (value_is_slice(key)) return list_set_slice(t, v, key, item);
  if (!seq_index(t, v, key, &i)) return false;
  if (!item) return list_splice(t, v, i, 1, NULL, 0);
  if (item != v->seq.items[i] && !trace_gives_up_items(t, v, i, 1)) return false;
  v->seq.items[i] = item;
  return true;
}

static int seq_find(tracer *t, value *v, value *item, Py_ssize_t from, Py_ssize_t to) {
  if (!trace_charge(t, to - from)) return -2;
  const value before = *v;
  for (Py_ssize_t i = from; i < to && i < v->seq.count; i++) {
    if (value_identical(t, v->seq.items[i], item)) return (int)i;
    value *equal = trace_compare(t, Py_EQ, v->seq.items[i], item);
    int truth = equal ? trace_truth(t, equal) : -1;
    if (truth < 0 || seq_was_changed(t, v, &before)) return -2;
    if (truth) return (int)i;
  }
  return -1;
}

static int seq_contains(tracer *t, value *v, value *item) {
  int at = seq_find(t, v, item, 0, v->seq.count);
  return at == -2 ? -1 : at >= 0;
}

/* ---- methods -------------------------------------------------------------------------------- */

bool args_check(tracer *t, const char *name, Py_ssize_t count, Py_ssize_t least, Py_ssize_t most,
                PyObject *kwnames) {
  if (!kwnames && count >= least && (most < 0 || count <= most)) return true;
  trace_raise(t, PyExc_TypeError, "%s() takes other arguments", name);
  return false;
}

#define METHOD(NAME)                                                                               \
  static value *NAME(tracer *t, value *v, value *const *args, Py_ssize_t count, PyObject *kwnames)
#define ARGS(NAME, LEAST, MOST)                                                                    \
  if (!args_check(t, NAME, count, LEAST, MOST, kwnames)) return NULL
#define MUTABLE                                                                                    \
  if (!value_mutable(t, v)) return NULL

METHOD(list_append) {
  ARGS("append", 1, 1);
  MUTABLE;
  return seq_append(t, v, args[0]) ? t->constants.none : NULL;
}

METHOD(list_extend_method) {
  ARGS("extend", 1, 1);
  MUTABLE;
  return list_extend(t, v, args[0]) ? t->constants.none : NULL;
}

METHOD(list_insert) {
  int64_t i;
  ARGS("insert", 2, 2);
  MUTABLE;
  if (!value_known_int(t, args[0], &i))
    return trace_break(t, BREAK_DATA_DEPENDENT, "an index that is not known");
  if (i < 0) i += v->seq.count;
  if (i < 0) i = 0;
  if (i > v->seq.count) i = v->seq.count;
  return list_splice(t, v, (Py_ssize_t)i, 0, &args[1], 1) ? t->constants.none : NULL;
}

METHOD(list_pop) {
  Py_ssize_t i = v->seq.count - 1;
  ARGS("pop", 0, 1);
  MUTABLE;
  int64_t known;
  if (count && !value_known_int(t, args[0], &known)) /* looked at first, and in its own way */
    return trace_break(t, BREAK_DATA_DEPENDENT, "an index of pop() that is not known");
  if (v->seq.count == 0) return trace_raise(t, PyExc_IndexError, "pop from empty list");
  if (count && !seq_index(t, v, args[0], &i)) return NULL;
  value *item = v->seq.items[i];
  return list_splice(t, v, i, 1, NULL, 0) ? item : NULL;
}

METHOD(list_remove) {
  ARGS("remove", 1, 1);
  MUTABLE;
  int at = seq_find(t, v, args[0], 0, v->seq.count);
  if (at == -2) return NULL;
  if (at < 0) return trace_raise(t, PyExc_ValueError, "list.remove(x): x not in list");
  return list_splice(t, v, at, 1, NULL, 0) ? t->constants.none : NULL;
}

METHOD(seq_index_method) {
  int64_t from = 0, to = v->seq.count;
  ARGS("index", 1, 3);
  if (count > 1 && !value_known_int(t, args[1], &from))
    return trace_break(t, BREAK_DATA_DEPENDENT, "an index that is not known");
  if (count > 2 && !value_known_int(t, args[2], &to))
    return trace_break(t, BREAK_DATA_DEPENDENT, "an index that is not known");
  if (from < 0) from = from + v->seq.count < 0 ? 0 : from + v->seq.count;
  if (to < 0) to += v->seq.count;
  int at = seq_find(t, v, args[0], (Py_ssize_t)from, (Py_ssize_t)to);
  if (at == -2) return NULL;
  return at >= 0 ? value_int(t, at)
                 : trace_raise(t, PyExc_ValueError, "the item is not in the list");
}

METHOD(seq_count) {
  int64_t found = 0;
  ARGS("count", 1, 1);
  for (Py_ssize_t i = 0; i < v->seq.count; i++) {
    int at = seq_find(t, v, args[0], i, i + 1);
    if (at == -2) return NULL;
    found += at >= 0;
  }
  return value_int(t, found);
}

METHOD(list_reverse) {
  ARGS("reverse", 0, 0);
  MUTABLE;
  for (Py_ssize_t i = 0, j = v->seq.count - 1; i < j; i++, j--) {
    value *item = v->seq.items[i];
    v->seq.items[i] = v->seq.items[j];
    v->seq.items[j] = item;
  }
  return t->constants.none;
}

METHOD(list_copy) {
  ARGS("copy", 0, 0);
  return value_list(t, v->seq.items, v->seq.count);
}

METHOD(list_clear) {
  ARGS("clear", 0, 0);
  MUTABLE;
  return list_empty(t, v) ? t->constants.none : NULL;
}

/* `all` are the list and what sorted() is given by keywords. */
static value *list_sort_in_place(tracer *t, value *v, value *const *all, PyObject *kwnames) {
  bool mine;
  PyObject *sorted = PyDict_GetItemString(PyEval_GetBuiltins(), "sorted");
  value *result = sorted ? loom_library->call(t, sorted, all, 1, kwnames, &mine) : NULL;
  if (!result && t->state == TRACE_RAISING) /* which may leave it sorted in part */
    return trace_raise_plainly(t, "sort() raises an exception");
  if (!result) return NULL;
  v->seq = result->seq;
  return t->constants.none;
}

METHOD(list_sort) {
  MUTABLE;
  ARGS("sort", 0, 0);
  return list_sort_in_place(t, v, &v, NULL);
}

/* sort(key=, reverse=): as sorted() with the same keywords, in place. */
static value *list_sort_keywords(tracer *t, value *v, value *const *args, Py_ssize_t count,
                                 PyObject *kwnames) {
  if (!kwnames || count) return list_sort(t, v, args, count, kwnames);
  MUTABLE;
  value *all[3] = {v, args[0], PyTuple_GET_SIZE(kwnames) > 1 ? args[1] : NULL};
  if (PyTuple_GET_SIZE(kwnames) > 2)
    return trace_raise(t, PyExc_TypeError, "sort() takes other arguments");
  return list_sort_in_place(t, v, all, kwnames);
}

static const builtin_method tuple_methods[] = {
    {"index", seq_index_method}, {"count", seq_count}, {NULL, NULL}};

static const builtin_method list_methods[] = {
    {"append", list_append}, {"extend", list_extend_method}, {"insert", list_insert},
    {"pop", list_pop},       {"remove", list_remove},        {"index", seq_index_method},
    {"count", seq_count},    {"reverse", list_reverse},      {"copy", list_copy},
    {"clear", list_clear},   {"sort", list_sort_keywords},   {NULL, NULL}};

static value *tuple_get_attr(tracer *t, value *v, PyObject *name) {
  value *item = tuple_class(v) ? tuple_field(t, v, name) : NULL;
  if (item || trace_pending(t)) return item;
  return builtin_method_find(t, tuple_methods, v, name);
}

static value *list_get_attr(tracer *t, value *v, PyObject *name) {
  return builtin_method_find(t, list_methods, v, name);
}

static value *seq_iter(tracer *t, value *v) { return iter_exactly(iter_over(t, v)); }

static value *seq_reversed(tracer *t, value *v) { return iter_exactly(iter_reversed(t, v)); }

static bool tuple_set_attr(tracer *t, value *v, PyObject *name, value *item) {
  if (!tuple_class(v)) return attributes_refused(t, v, name, item);
  return trace_break(t, BREAK_ATTRIBUTE, "assignment to '%s' of a tuple", PyUnicode_AsUTF8(name)) !=
         NULL;
}

static PyObject *tuple_python_type(tracer *t, value *v) {
  return tuple_class(v) ? tuple_class(v) : (PyObject *)&PyTuple_Type;
}
static PyObject *list_python_type(tracer *t, value *v) { return (PyObject *)&PyList_Type; }
static PyObject *slice_python_type(tracer *t, value *v) { return (PyObject *)&PySlice_Type; }

static recipe *seq_rebuild_as(tracer *t, value *v, recipe_kind kind) {
  recipe *r = trace_recipe(t, v->source ? RECIPE_SOURCE : kind);
  if (!r) return NULL;
  r->source = v->source;
  if (v->source) return r;
  return trace_rebuild_items(t, r, v);
}

static recipe *tuple_rebuild(tracer *t, value *v) {
  if (v->object && !v->source) { /* a constant of the code is one object */
    recipe *same = trace_recipe(t, RECIPE_CONST);
    if (same) same->object = Py_NewRef(v->object);
    return same;
  }
  recipe *r = seq_rebuild_as(t, v, RECIPE_TUPLE);
  return tuple_class(v) && !v->source ? tuple_rebuild_class(t, v, r) : r;
}
static recipe *list_rebuild(tracer *t, value *v) { return seq_rebuild_as(t, v, RECIPE_LIST); }
static recipe *slice_rebuild(tracer *t, value *v) { return seq_rebuild_as(t, v, RECIPE_SLICE); }

/* The items in `result`, a new tuple or list, which is given up where one is not known. */
static PyObject *seq_known(tracer *t, const value *v, bool plain, PyObject *result) {
  for (Py_ssize_t i = 0; result && i < v->seq.count; i++) {
    PyObject *item = plain ? value_plain(t, v->seq.items[i]) : value_known(t, v->seq.items[i]);
    if (!item) {
      Py_DECREF(result);
      return NULL;
    }
    if (PyTuple_CheckExact(result))
      PyTuple_SET_ITEM(result, i, item);
    else
      PyList_SET_ITEM(result, i, item);
  }
  if (!result) trace_fail(t);
  return result;
}

static PyObject *tuple_known(tracer *t, value *v, bool plain) {
  return tuple_class(v) ? NULL : seq_known(t, v, plain, PyTuple_New(v->seq.count));
}

PyObject *list_known(tracer *t, value *v, bool plain) {
  return seq_known(t, v, plain, PyList_New(v->seq.count));
}

static PyObject *slice_known(tracer *t, value *v, bool plain) {
  PyObject *parts[3] = {NULL, NULL, NULL}, *result = NULL;
  int i = 0;
  for (; i < 3; i++)
    if (!(parts[i] = plain ? value_plain(t, v->seq.items[i]) : value_known(t, v->seq.items[i])))
      break;
  if (i == 3) result = PySlice_New(parts[0], parts[1], parts[2]);
  for (i = 0; i < 3; i++)
    Py_XDECREF(parts[i]);
  return result;
}

static bool tuple_key(tracer *t, value *v) {
  for (Py_ssize_t i = 0; i < v->seq.count; i++)
    if (!key_check(t, v->seq.items[i])) return false;
  return true;
}

static void seq_walk(roll_walk *w, value *v) {
  roll_pointer(w, v->object);
  roll_token(w, (uint64_t)v->seq.count);
  for (Py_ssize_t i = 0; i < v->seq.count; i++)
    roll_value(w, &v->seq.items[i]);
}

static void tuple_walk(roll_walk *w, value *v) {
  roll_pointer(w, tuple_class(v));
  seq_walk(w, v);
}

const value_type value_tuple_type = {.name = "tuple",
                                     .kinds = VALUE_IS_SEQUENCE | VALUE_IS_CONTAINER |
                                              VALUE_IS_FIXED | VALUE_IS_PAIRS,
                                     .binary = seq_binary,
                                     .compare = seq_compare,
                                     .truth = seq_truth,
                                     .length = seq_length,
                                     .get_item = seq_get_item,
                                     .contains = seq_contains,
                                     .get_attr = tuple_get_attr,
                                     .iter = seq_iter,
                                     .python_type = tuple_python_type,
                                     .rebuild = tuple_rebuild,
                                     .walk = tuple_walk,
                                     .known = tuple_known,
                                     .key = tuple_key,
                                     .copy = copy_tuple,
                                     .reversed = seq_reversed,
                                     .builtin = &PyTuple_Type,
                                     .set_attr = tuple_set_attr};

const value_type value_list_type = {.name = "list",
                                    .kinds = VALUE_IS_SEQUENCE | VALUE_IS_LIST |
                                             VALUE_IS_CONTAINER | VALUE_IS_PAIRS,
                                    .binary = seq_binary,
                                    .compare = seq_compare,
                                    .truth = seq_truth,
                                    .length = seq_length,
                                    .get_item = seq_get_item,
                                    .set_item = list_set_item,
                                    .contains = seq_contains,
                                    .get_attr = list_get_attr,
                                    .iter = seq_iter,
                                    .python_type = list_python_type,
                                    .rebuild = list_rebuild,
                                    .walk = roll_walk_any_list,
                                    .known = list_known,
                                    .key = key_is_refused,
                                    .copy = copy_list,
                                    .reversed = seq_reversed,
                                    .builtin = &PyList_Type,
                                    .set_attr = attributes_refused};

static value *slice_get_attr(tracer *t, value *v, PyObject *name) {
  static const char *const names[3] = {"start", "stop", "step"};
  for (int i = 0; i < 3; i++)
    if (!PyUnicode_CompareWithASCIIString(name, names[i])) return v->seq.items[i];
  if (PyUnicode_CompareWithASCIIString(name, "indices")) {
    static const builtin_method none[] = {{NULL, NULL}};
    return builtin_method_find(t, none, v, name);
  }
  PyObject *known = value_plain(t, v);
  if (!known) return trace_break(t, BREAK_DATA_DEPENDENT, "a slice that is not known");
  value *self = value_const(t, trace_keep(t, known));
  value *function = self ? value_const(t, _PyType_Lookup(&PySlice_Type, name)) : NULL;
  return function ? value_method(t, function, self) : NULL;
}

const value_type value_slice_type = {.name = "slice",
                                     .compare = seq_compare,
                                     .get_attr = slice_get_attr,
                                     .python_type = slice_python_type,
                                     .rebuild = slice_rebuild,
                                     .walk = seq_walk,
                                     .known = slice_known};
