/* Builtin functions over iterables; functools and itertools. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/library/internal.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

#define CHECK(LEAST, MOST)                                                                         \
  if (!builtin_check(t, a, LEAST, MOST, NULL)) return NULL

/* Items in an order that does not matter to the caller: a set's need not be known. */
static value *each_unordered(tracer *t, value *v) {
  value *items = value_is_set(v) ? order_any(t, v) : NULL;
  if (!value_is_set(v)) return trace_each(t, v);
  return items ? iter_known(t, items->seq.items, items->seq.count) : NULL;
}

value *builtin_len(tracer *t, const builtin_args *a) {
  CHECK(1, 1);
  return trace_length(t, a->args[0]);
}

value *builtin_iter(tracer *t, const builtin_args *a) {
  CHECK(1, 2);
  if (a->count == 2) return iter_call(t, a->args[0], a->args[1]);
  return value_is_iterator(a->args[0]) ? a->args[0] : trace_iter(t, a->args[0]);
}

value *builtin_next(tracer *t, const builtin_args *a) {
  CHECK(1, 2);
  value *item = trace_next(t, a->args[0]);
  if (item || trace_pending(t)) return item;
  if (a->count == 2) return a->args[1];
  value *ended = a->args[0]->type->kinds & VALUE_IS_RETURNING ? t->returned : t->constants.none;
  value *args = value_tuple(t, &ended, ended != t->constants.none);
  return args ? trace_raise_value(t, value_exception(t, PyExc_StopIteration, args)) : NULL;
}

value *builtin_enumerate(tracer *t, const builtin_args *a) {
  static const char *const keywords[] = {"start", NULL};
  if (!builtin_check(t, a, 1, 2, keywords)) return NULL;
  value *start = a->count == 2 ? a->args[1] : builtin_keyword(a, "start");
  value *iterator = trace_iter(t, a->args[0]);
  start = start ? value_whole(t, start) : value_int(t, 0);
  return iterator && start ? iter_enumerate(t, iterator, start) : NULL;
}

static value *iterators_of(tracer *t, value *const *args, Py_ssize_t count) {
  value *all = value_tuple(t, args, count);
  for (Py_ssize_t i = 0; all && i < count; i++)
    if (!(all->seq.items[i] = trace_iter(t, args[i]))) return NULL;
  return all;
}

value *builtin_zip(tracer *t, const builtin_args *a) {
  static const char *const keywords[] = {"strict", NULL};
  if (!builtin_check(t, a, 0, -1, keywords)) return NULL;
  value *strict = builtin_keyword(a, "strict"), *all = iterators_of(t, a->args, a->count);
  int truth = strict ? trace_truth(t, strict) : 0;
  return all && truth >= 0 ? iter_zip(t, all->seq.items, a->count, truth) : NULL;
}

value *builtin_map(tracer *t, const builtin_args *a) {
  CHECK(2, -1);
  value *all = iterators_of(t, a->args + 1, a->count - 1);
  return all ? iter_map(t, a->args[0], all->seq.items, a->count - 1) : NULL;
}

value *builtin_filter(tracer *t, const builtin_args *a) {
  CHECK(2, 2);
  value *iterator = trace_iter(t, a->args[1]);
  return iterator ? iter_filter(t, a->args[0], iterator) : NULL;
}

value *builtin_reversed(tracer *t, const builtin_args *a) {
  CHECK(1, 1);
  value *v = a->args[0];
  if (v->type->reversed) return v->type->reversed(t, v);
  PyTypeObject *type = (PyTypeObject *)value_type_of(t, v);
  if (type && !(type->tp_as_sequence && type->tp_as_sequence->sq_item) &&
      !class_special(t, type, "__reversed__"))
    return trace_raise(t, PyExc_TypeError, "'%s' object is not reversible", type->tp_name);
  value *items = type ? trace_to_tuple(t, v) : NULL;
  return items ? iter_reversed(t, items) : NULL;
}

/* any and all stop as soon as they know. */
static value *any_or_all(tracer *t, const builtin_args *a, bool stop) {
  CHECK(1, 1);
  bool set = value_is_set(a->args[0]);
  value *iterator = set ? each_unordered(t, a->args[0]) : trace_iter(t, a->args[0]), *item;
  while (iterator && (item = trace_next(t, iterator))) {
    int truth = trace_truth(t, item);
    if (truth < 0) return NULL;
    if (truth == stop) return value_bool(t, stop);
  }
  return trace_pending(t) ? NULL : value_bool(t, !stop);
}

value *builtin_any(tracer *t, const builtin_args *a) { return any_or_all(t, a, true); }
value *builtin_all(tracer *t, const builtin_args *a) { return any_or_all(t, a, false); }

/* The sum from the first float on. From 3.12 on the interpreter also adds up the rounding errors of
 * additions of floats, until an item is neither float nor int. */
static value *sum_floats(tracer *t, value *total, value *const *items, Py_ssize_t count) {
  Py_ssize_t i = 0;
  if (PYTHON_SUM_COMPENSATES) total = number_sum(t, total, items, count, &i);
  for (; total && i < count; i++)
    total = trace_binary(t, 0, total, items[i], false);
  return total;
}

/* Can it be added to another such number without a visible effect or a failure? */
static bool sum_is_number(const value *v) {
  return value_is_number(v) ||
         (value_is_const(v) && (PyLong_CheckExact(v->object) || PyBool_Check(v->object) ||
                                PyFloat_CheckExact(v->object) || PyComplex_CheckExact(v->object)));
}

/* The sum of numbers that are known one by one; `total` may be NULL. */
static value *sum_items(tracer *t, const builtin_args *a, value *total, value *items) {
  bool sizes = false, whole = true; /* ints, some of them sizes: so is their sum */
  bool silent = true;               /* numbers of the library's may warn */
  for (Py_ssize_t i = 0; i < items->seq.count; i++) {
    silent &= sum_is_number(items->seq.items[i]);
    sizes |= number_is_size(items->seq.items[i]);
    whole &= value_is_whole(items->seq.items[i]);
  }
  bool data = value_has_data(items);
  PyObject *plain =
      silent && items->seq.count && !data && !(sizes && whole) ? value_plain(t, items) : NULL;
  if (plain) { /* the real one: its rounding is its own */
    value *args[2] = {items, total};
    Py_DECREF(plain);
    value *result = call_real(t, a->callee, args, total ? 2 : 1, NULL);
    if (result != t->constants.not_implemented) return result;
  }
  if (trace_pending(t) || (!total && !(total = value_int(t, 0)))) return NULL;
  bool ints = data;
  for (Py_ssize_t i = 0; i < items->seq.count; i++) {
    PyObject *type = ints ? value_type_of(t, total) : NULL;
    if (ints && type == (PyObject *)&PyFloat_Type)
      return sum_floats(t, total, items->seq.items + i, items->seq.count - i);
    ints &= type == (PyObject *)&PyLong_Type;
    if (!(total = trace_binary(t, 0, total, items->seq.items[i], false))) return NULL;
  }
  return total;
}

/* sum() of an iterator. Leading numbers are collected and added together. From the first item on
 * that is no number, each item is added before the next one is taken. */
static value *sum_each(tracer *t, const builtin_args *a, value *total) {
  value *iterator = trace_iter(t, a->args[0]), *items = value_tuple(t, NULL, 0), *item;
  bool numbers = !total || sum_is_number(total);
  while (iterator && items && (item = trace_next(t, iterator))) {
    if (items->seq.count >= TRACE_MAX_ITEMS)
      return trace_break(t, BREAK_LIMIT, "a sequence of more than a million items");
    if (numbers && sum_is_number(item)) {
      if (!seq_append(t, items, item)) return NULL;
      continue;
    }
    if (numbers && !(total = sum_items(t, a, total, items))) return NULL;
    numbers = false;
    if (!(total = trace_binary(t, 0, total, item, false))) return NULL;
  }
  if (trace_pending(t) || !items) return NULL;
  return numbers ? sum_items(t, a, total, items) : total;
}

value *builtin_sum(tracer *t, const builtin_args *a) {
  static const char *const keywords[] = {"start", NULL};
  if (!builtin_check(t, a, 1, 2, keywords)) return NULL;
  value *total = a->count == 2 ? a->args[1] : builtin_keyword(a, "start");
  PyTypeObject *type = total ? (PyTypeObject *)value_type_of(t, total) : NULL;
  if (total && !type) return NULL;
  if (type && (PyType_IsSubtype(type, &PyUnicode_Type) || PyType_IsSubtype(type, &PyBytes_Type) ||
               PyType_IsSubtype(type, &PyByteArray_Type)))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "sum() of text");
  if (value_items_come(a->args[0])) return sum_each(t, a, total);
  value *items = trace_to_tuple(t, a->args[0]);
  return items ? sum_items(t, a, total, items) : NULL;
}

/* Is `item` the one so far? 1, 0, or -1 after a raise or break. When only the run knows, *best and
 * *best_key become what the run chooses. */
static int extreme_next(tracer *t, int op, value *item, value *rank, value **best,
                        value **best_key) {
  bool computed = value_is_number(rank) && !number_is_size(rank);
  computed |= value_is_number(*best_key) && !number_is_size(*best_key);
  value *better = computed ? number_compare_data(t, op, rank, *best_key) : NULL;
  if (!better && !trace_pending(t)) better = trace_compare(t, op, rank, *best_key);
  loom_value condition = better ? trace_condition(t, better) : LOOM_NO_VALUE;
  if (condition == LOOM_NO_VALUE) return better && !trace_pending(t) ? trace_truth(t, better) : -1;
  value *chosen = trace_choose(t, condition, item, *best), *key = chosen;
  if (chosen && rank != item) key = trace_choose(t, condition, rank, *best_key);
  if (!chosen || !key) return trace_pending(t) ? -1 : trace_truth(t, better);
  *best = chosen;
  *best_key = key;
  return 0;
}

static value *min_or_max(tracer *t, const builtin_args *a, int op) {
  static const char *const keywords[] = {"key", "default", NULL};
  if (!builtin_check(t, a, 1, -1, keywords)) return NULL;
  if (a->count > 1 && builtin_keyword(a, "default"))
    return trace_raise(t, PyExc_TypeError, "%s() of several arguments takes no default", a->name);
  value *key = builtin_keyword(a, "key"), *fallback = builtin_keyword(a, "default"), *best = NULL,
        *best_key = NULL;
  value *items = a->count > 1 ? iter_known(t, a->args, a->count)
                 : key        ? trace_each(t, a->args[0])
                              : each_unordered(t, a->args[0]),
        *item;
  while (items && (item = trace_next(t, items))) {
    value *rank = key && !value_is_none(key) ? trace_call1(t, key, item) : item;
    int truth = !rank ? -1 : best ? extreme_next(t, op, item, rank, &best, &best_key) : 1;
    if (truth < 0) return NULL;
    if (!truth) continue;
    best = item;
    best_key = rank;
  }
  if (best || trace_pending(t)) return trace_pending(t) ? NULL : best;
  return fallback ? fallback
                  : trace_raise(t, PyExc_ValueError, "%s() arg is an empty sequence", a->name);
}

value *builtin_min(tracer *t, const builtin_args *a) { return min_or_max(t, a, Py_LT); }
value *builtin_max(tracer *t, const builtin_args *a) { return min_or_max(t, a, Py_GT); }

/* ---- functools ------------------------------------------------------------------------------ */

value *builtin_reduce(tracer *t, const builtin_args *a) {
  CHECK(2, 3);
  value *items = trace_each(t, a->args[1]), *total = a->count == 3 ? a->args[2] : NULL, *item;
  while (items && (item = trace_next(t, items))) {
    value *pair[2] = {total, item};
    total = total ? trace_call(t, a->args[0], pair, 2, NULL) : item;
    if (!total) return NULL;
  }
  if (!items || trace_pending(t)) return NULL;
  return total ? total : trace_raise(t, PyExc_TypeError, "reduce() of empty iterable");
}

value *partial_call(tracer *t, value *function, value *args, value *keywords, value *const *more,
                    Py_ssize_t count, PyObject *kwnames) {
  value *positional = trace_to_tuple(t, args), *named = value_dict(t);
  positional = positional ? value_list(t, positional->seq.items, positional->seq.count) : NULL;
  if (!positional || !named || !dict_update(t, named, keywords, false)) return NULL;
  for (Py_ssize_t i = 0; i < count; i++)
    if (!seq_append(t, positional, more[i])) return NULL;
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++) {
    value *key = value_const(t, PyTuple_GET_ITEM(kwnames, i));
    if (!key || !dict_put(t, named, key, more[count + i])) return NULL;
  }
  return trace_call_list(t, function, positional, named);
}

static value *partial_call_value(tracer *t, value *v, value *const *args, Py_ssize_t count,
                                 PyObject *kwnames) {
  partial_data *d = v->any.a;
  return partial_call(t, d->function, d->args, d->keywords, args, count, kwnames);
}

static value *partial_get_attr(tracer *t, value *v, PyObject *name) {
  partial_data *d = v->any.a;
  if (!PyUnicode_CompareWithASCIIString(name, "func")) return d->function;
  if (!PyUnicode_CompareWithASCIIString(name, "args")) return d->args;
  if (!PyUnicode_CompareWithASCIIString(name, "keywords")) return d->keywords;
  return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a partial", PyUnicode_AsUTF8(name));
}

static PyObject *partial_python_type(tracer *t, value *v) {
  return ((partial_data *)v->any.a)->type;
}

static int partial_truth(tracer *t, value *v) { return 1; }

static const value_type value_partial_type = {.name = "partial",
                                              .truth = partial_truth,
                                              .get_attr = partial_get_attr,
                                              .call = partial_call_value,
                                              .python_type = partial_python_type,
                                              .rebuild = partial_rebuild};

value *builtin_partial(tracer *t, const builtin_args *a) {
  if (a->count < 1) return trace_raise(t, PyExc_TypeError, "partial() needs a callable");
  value *v = value_new(t, &value_partial_type);
  partial_data *d = v ? trace_alloc(t, sizeof *d) : NULL;
  if (!d) return NULL;
  d->type = a->callee;
  d->function = a->args[0];
  d->args = value_tuple(t, a->args + 1, a->count - 1);
  d->keywords = value_dict(t);
  for (Py_ssize_t i = 0; d->keywords && a->kwnames && i < PyTuple_GET_SIZE(a->kwnames); i++) {
    value *key = value_const(t, PyTuple_GET_ITEM(a->kwnames, i));
    if (!key || !dict_put(t, d->keywords, key, a->args[a->count + i])) return NULL;
  }
  v->any.a = d;
  return d->args && d->keywords ? v : NULL;
}

/* ---- itertools ------------------------------------------------------------------------------ */

value *builtin_chain(tracer *t, const builtin_args *a) {
  CHECK(0, -1);
  value *all = iter_known(t, a->args, a->count);
  return all ? iter_chain(t, all) : NULL;
}

/* Does nobody see when the items are taken? Of all else they are taken one by one, by a model. */
static bool taken_unseen(const value *v) {
  if (!value_is_const(v)) return v->type->kinds & VALUE_IS_FIXED;
  return PyUnicode_CheckExact(v->object) || PyBytes_CheckExact(v->object) ||
         PyTuple_CheckExact(v->object) || Py_IS_TYPE(v->object, &PyRange_Type);
}

static bool all_taken_unseen(const builtin_args *a) {
  for (Py_ssize_t i = 0; i < a->count; i++)
    if (!taken_unseen(a->args[i])) return false;
  return true;
}

/* From a real iterator over tuples of indices back to values; -1 stands for zip_longest's fill. */
static value *combine_pick(tracer *t, PyObject *indices, value *pools, bool one_pool, value *fill) {
  Py_ssize_t count = PyTuple_GET_SIZE(indices);
  value *tuple = value_list(t, NULL, 0);
  for (Py_ssize_t i = 0; tuple && i < count; i++) {
    Py_ssize_t at = PyLong_AsSsize_t(PyTuple_GET_ITEM(indices, i));
    value *pool = pools->seq.items[one_pool ? 0 : i % pools->seq.count];
    if (!seq_append(t, tuple, at < 0 ? fill : pool->seq.items[at])) return NULL;
  }
  return tuple ? value_tuple(t, tuple->seq.items, count) : NULL;
}

static PyObject *combine_call(tracer *t, const builtin_args *a, value *pools, PyObject *extra,
                              bool longest) {
  PyObject *args = PyTuple_New(pools->seq.count + (extra ? 1 : 0)), *keywords = PyDict_New(),
           *result = NULL;
  for (Py_ssize_t i = 0; args && i < pools->seq.count; i++) {
    PyObject *range =
        PyObject_CallFunction((PyObject *)&PyRange_Type, "n", pools->seq.items[i]->seq.count);
    if (!range) break;
    PyTuple_SET_ITEM(args, i, range);
  }
  if (args && extra) PyTuple_SET_ITEM(args, pools->seq.count, Py_NewRef(extra));
  value *repeat = builtin_keyword(a, "repeat");
  PyObject *times = repeat ? value_plain(t, repeat) : NULL, *minus = PyLong_FromLong(-1);
  if (keywords && times) PyDict_SetItemString(keywords, "repeat", times);
  if (keywords && longest && minus) PyDict_SetItemString(keywords, "fillvalue", minus);
  if (args && keywords && !PyErr_Occurred()) result = PyObject_Call(a->callee, args, keywords);
  Py_XDECREF(args);
  Py_XDECREF(keywords);
  Py_XDECREF(times);
  Py_XDECREF(minus);
  return result;
}

typedef struct combine_row {
  const char *name;
  Py_ssize_t least, most;
  const char *keywords[2];
} combine_row;

static const combine_row combine_rows[] = {
    {"product", 0, -1, {"repeat", NULL}}, {"zip_longest", 0, -1, {"fillvalue", NULL}},
    {"pairwise", 1, 1, {NULL}},           {"permutations", 1, 2, {NULL}},
    {"combinations", 2, 2, {NULL}},       {"combinations_with_replacement", 2, 2, {NULL}}};

/* product, permutations, ...: the real one is run over indices, so that its order is its own. */
value *builtin_combine(tracer *t, const builtin_args *a) {
  const combine_row *row = combine_rows;
  while (strcmp(row->name, a->name))
    row++;
  if (!builtin_check(t, a, row->least, row->most, row->keywords)) return NULL;
  bool many = row->most < 0;
  bool lazy = !strcmp(a->name, "pairwise") || !strcmp(a->name, "zip_longest");
  if (lazy && !all_taken_unseen(a)) return builtin_model(t, a);
  Py_ssize_t pool_count = many ? a->count : 1;
  PyObject *extra = !many && a->count > 1 ? value_plain(t, a->args[1]) : NULL;
  if (extra && PyLong_Check(extra)) { /* one that is too large is refused before the items are */
    PyLong_AsSsize_t(extra);
    if (PyErr_Occurred()) {
      Py_DECREF(extra);
      error_drop();
      return t->constants.not_implemented;
    }
  }
  if (trace_pending(t) || a->count < pool_count || (!many && a->count > 1 && !extra))
    return t->constants.not_implemented;
  value *pools = value_tuple(t, a->args, pool_count), *fill = builtin_keyword(a, "fillvalue"),
        *list = value_list(t, NULL, 0);
  for (Py_ssize_t i = 0; pools && i < pool_count; i++)
    if (!(pools->seq.items[i] = trace_listed(t, a->args[i]))) return NULL;
  if (!pools || !list) return NULL;
  PyObject *real = combine_call(t, a, pools, extra, !strcmp(a->name, "zip_longest")), *item;
  Py_XDECREF(extra);
  if (!real) return trace_raise_live(t);
  while ((item = PyIter_Next(real))) {
    value *tuple = combine_pick(t, item, pools, !many, fill ? fill : t->constants.none);
    Py_DECREF(item);
    if (!tuple || !seq_append(t, list, tuple)) break;
    if (list->seq.count > 1000000) trace_break(t, BREAK_LIMIT, "%s() of too many items", a->name);
    if (trace_pending(t)) break;
  }
  Py_DECREF(real);
  if (PyErr_Occurred()) return trace_raise_live(t);
  return trace_pending(t) ? NULL : iter_over(t, list);
}

value *builtin_islice(tracer *t, const builtin_args *a) {
  CHECK(2, 4);
  int64_t parts[3] = {0, -1, 1};
  value *known[4] = {a->args[0]};
  for (Py_ssize_t i = 1; i < a->count; i++) {
    int64_t *part = a->count == 2 ? &parts[1] : &parts[i - 1];
    if (value_is_none(a->args[i])) continue;
    if (!value_known_int(t, a->args[i], part) || *part < 0 || (i == 3 && *part < 1))
      return t->constants.not_implemented;
  }
  for (Py_ssize_t i = 1; i < a->count; i++) {
    known[i] = value_is_none(a->args[i]) ? t->constants.none
                                         : value_int(t, parts[a->count == 2 ? 1 : i - 1]);
    if (!known[i]) return NULL;
  }
  builtin_args exact = *a;
  exact.args = known;
  if (!taken_unseen(a->args[0])) return builtin_model(t, &exact);
  value *iterator = trace_iter(t, a->args[0]), *list = value_list(t, NULL, 0), *item = NULL;
  for (int64_t i = 0; iterator && list && (parts[1] < 0 || i < parts[1]); i++) {
    if (!(item = trace_next(t, iterator))) break;
    if (i >= parts[0] && (i - parts[0]) % parts[2] == 0 && !seq_append(t, list, item)) return NULL;
  }
  return iterator && list && !trace_pending(t) ? iter_over(t, list) : NULL;
}

value *builtin_repeat(tracer *t, const builtin_args *a) {
  static const char *const keywords[] = {"times", NULL};
  if (!builtin_check(t, a, 1, 2, keywords)) return NULL;
  value *times = a->count == 2 ? a->args[1] : builtin_keyword(a, "times"),
        *list = value_list(t, NULL, 0);
  int64_t count;
  if (!times) return builtin_model(t, a);
  if (!value_known_int(t, times, &count)) return t->constants.not_implemented;
  if (count > 1000000) return trace_break(t, BREAK_LIMIT, "repeat() of too many items");
  for (int64_t i = 0; list && i < count; i++)
    if (!seq_append(t, list, a->args[0])) return NULL;
  return list ? iter_over(t, list) : NULL;
}

/* Sums of numbers are there at once: nobody sees when they are made. */
value *builtin_accumulate(tracer *t, const builtin_args *a) {
  static const char *const keywords[] = {"func", "initial", NULL};
  if (!builtin_check(t, a, 1, 2, keywords)) return NULL;
  value *total = builtin_keyword(a, "initial"), *list = value_list(t, NULL, 0);
  if (total && value_is_none(total)) total = NULL;
  if (a->count == 2 || builtin_keyword(a, "func") || !taken_unseen(a->args[0]) ||
      (total && !sum_is_number(total)))
    return builtin_model(t, a);
  value *items = trace_to_tuple(t, a->args[0]);
  for (Py_ssize_t i = 0; items && i < items->seq.count; i++)
    if (!sum_is_number(items->seq.items[i])) return builtin_model(t, a);
  if (!items || !list || (total && !seq_append(t, list, total))) return NULL;
  for (Py_ssize_t i = 0; i < items->seq.count; i++) {
    value *item = items->seq.items[i];
    total = total ? trace_binary(t, 0, total, item, false) : item;
    if (!total || !seq_append(t, list, total)) return NULL;
  }
  return iter_over(t, list);
}

/* ---- bound C methods: itertools.chain.from_iterable, dict.fromkeys --------------------------- */

static value *dict_fromkeys(tracer *t, const builtin_args *a) {
  CHECK(1, 2);
  value *keys = trace_each(t, a->args[0]), *dict = value_dict(t), *key;
  while (keys && dict && (key = trace_next(t, keys)))
    if (!dict_put(t, dict, key, a->count == 2 ? a->args[1] : t->constants.none)) return NULL;
  return keys && !trace_pending(t) && gaps_keys(t, dict, a->args[0]) ? dict : NULL;
}

/* object.__new__(cls, ...): further arguments are for an __init__ of the class's own. */
static value *object_new_call(tracer *t, PyTypeObject *type, const builtin_args *a) {
  bool more = a->count > 1 || a->kwnames;
  if (more &&
      (type->tp_new != PyBaseObject_Type.tp_new || type->tp_init == PyBaseObject_Type.tp_init))
    return trace_raise(t, PyExc_TypeError, "%s() takes no arguments", type->tp_name);
  return object_allocate(t, (PyObject *)type);
}

value *builtin_bound_call(tracer *t, PyObject *o, const builtin_args *a) {
  PyObject *self = PyCFunction_GET_SELF(o);
  const char *name = ((PyCFunctionObject *)o)->m_ml->ml_name;
  if (!self || !PyType_Check(self)) return t->constants.not_implemented;
  bool cls = a->count && value_is_const(a->args[0]) && PyType_Check(a->args[0]->object);
  if (self == (PyObject *)&PyBaseObject_Type && !strcmp(name, "__new__") && cls)
    return object_new_call(t, (PyTypeObject *)a->args[0]->object, a);
  if (self == (PyObject *)&PyTuple_Type && !strcmp(name, "__new__") && cls && a->count <= 2 &&
      tuple_class_known(t, (PyTypeObject *)a->args[0]->object)) {
    value *items = a->count == 2 ? trace_listed(t, a->args[1]) : value_tuple(t, NULL, 0);
    value *v = items ? value_tuple(t, items->seq.items, items->seq.count) : NULL;
    if (v) tuple_set_class(v, a->args[0]->object);
    return v;
  }
  if (self == (PyObject *)&PyDict_Type && !strcmp(name, "fromkeys")) return dict_fromkeys(t, a);
  if (!strcmp(((PyTypeObject *)self)->tp_name, "itertools.chain") &&
      !strcmp(name, "from_iterable") && a->count == 1) {
    value *iterables = trace_iter(t, a->args[0]);
    return iterables ? iter_chain(t, iterables) : NULL;
  }
  return t->constants.not_implemented;
}
