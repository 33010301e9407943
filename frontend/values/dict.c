/* Dictionaries: pairs in order, keys compared as Python compares them when that runs no user code.
 */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/objects.h"
#include "frontend/core/hooks.h"
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

/* ---- operations ----------------------------------------------------------------------------- */

value *value_dict(tracer *t) { return value_new(t, &value_dict_type); }

/* Of one made inside. */
static int dict_find(tracer *t, value *dict, value *key, Py_ssize_t *index_out) {
  if (!key_check(t, key) || !trace_charge(t, dict->seq.count)) return -1;
  for (Py_ssize_t i = 0; i < dict->seq.count; i += 2) {
    int equal = key_equal(t, dict->seq.items[i], key);
    *index_out = i;
    if (equal) return equal;
  }
  return 0;
}

int dict_has(tracer *t, value *dict, value *key) {
  Py_ssize_t i;
  live_dict *live = dict_live(dict);
  return live ? live_find(t, live, key, NULL) : dict_find(t, dict, key, &i);
}

value *dict_get(tracer *t, value *dict, value *key) {
  Py_ssize_t i;
  value *item = NULL;
  live_dict *live = dict_live(dict);
  if (live) return live_find(t, live, key, &item) == 1 ? item : NULL;
  return dict_find(t, dict, key, &i) == 1 ? dict->seq.items[i + 1] : NULL;
}

/* ---- OrderedDict ---------------------------------------------------------------------------- */

/* As the count in CPython's OrderedDict that its iterators compare. It rises when a key comes, goes
 * or moves, but with clear() in some releases only. */
struct dict_count {
  const value *dict;
  uint32_t moves;
  struct dict_count *next;
};

bool dict_is_ordered(const tracer *t, const value *dict) {
  value *holder = pointer_map_get(&t->known.contents, dict);
  if (dict->object) return PyODict_Check(dict->object);
  return holder && model_real(object_class(holder)) == (PyObject *)&PyODict_Type;
}

static struct dict_count *dict_count_of(const tracer *t, const value *dict) {
  struct dict_count *c = t->live.counts;
  while (c && c->dict != dict)
    c = c->next;
  return c;
}

const uint32_t *dict_moves(tracer *t, value *dict) {
  struct dict_count *c = dict_count_of(t, dict);
  if (c || !dict_is_ordered(t, dict)) return c ? &c->moves : NULL;
  if (!(c = trace_alloc(t, sizeof *c))) return NULL;
  *c = (struct dict_count){.dict = dict, .next = t->live.counts};
  t->live.counts = c;
  return &c->moves;
}

/* What an iterator over an OrderedDict says after clear(); NULL: it could not be tried. */
static PyObject *dict_try_clear(void) {
  PyObject *type, *object = NULL, *traceback, *dict = PyODict_New();
  PyObject *iterator =
      dict && !PyODict_SetItem(dict, Py_None, Py_None) ? PyODict_Type.tp_iter(dict) : NULL;
  PyObject *done = iterator ? PyObject_CallMethod(dict, "clear", NULL) : NULL;
  PyObject *item = done ? PyODictIter_Type.tp_iternext(iterator) : NULL;
  PyErr_Fetch(&type, &object, &traceback);
  PyObject *text = object ? PyObject_Str(object) : NULL;
  PyObject *const all[] = {type, object, traceback, dict, iterator, done, item};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    Py_XDECREF(all[i]);
  return text;
}

static bool dict_counts_clear(void) {
  static int counts = -1;
  if (counts >= 0) return counts;
  PyObject *text = dict_try_clear();
  const char *said = text ? PyUnicode_AsUTF8(text) : NULL;
  counts = said && strstr(said, "mutated") != NULL;
  Py_XDECREF(text);
  error_drop();
  return counts;
}

/* To be called before an item is set. */
static bool dict_count_put(tracer *t, value *dict, value *key) {
  struct dict_count *c = dict_count_of(t, dict);
  int has = c ? dict_has(t, dict, key) : 1;
  if (has == 0) c->moves++;
  return has >= 0;
}

static void dict_count_gone(const tracer *t, const value *dict) {
  struct dict_count *c = dict_count_of(t, dict);
  if (c) c->moves++;
}

/* To be called before a key is moved: one that is at that end already stays. */
static bool dict_count_move(tracer *t, value *dict, value *key, bool last) {
  struct dict_count *c = dict_count_of(t, dict);
  value *keys = c ? dict_list(t, dict, 0) : NULL;
  if (!c || !keys || !keys->seq.count) return !c || keys;
  int equal = key_equal(t, keys->seq.items[last ? keys->seq.count - 1 : 0], key);
  if (equal == 0) c->moves++;
  return equal >= 0;
}

bool dict_put(tracer *t, value *dict, value *key, value *item) {
  Py_ssize_t i;
  live_dict *live = dict_live(dict);
  if (!aside_may_change(t, dict)) return false;
  if (loom_loops->lent(t, dict) || !dict_count_put(t, dict, key)) return false;
  dict->seq.changes++;
  if (live) return live_put(t, live, key, item);
  int found = dict_find(t, dict, key, &i);
  if (found < 0) return false;
  if (found) return dict->seq.items[i + 1] = item, true;
  return seq_append(t, dict, key) && seq_append(t, dict, item) && gaps_put(t, dict);
}

static void dict_remove_at(value *dict, Py_ssize_t i) {
  value **items = dict->seq.items;
  memmove(items + i, items + i + 2, (size_t)(dict->seq.count - i - 2) * sizeof *items);
  dict->seq.count -= 2;
}

/* Of one made inside. */
static bool dict_drop(tracer *t, value *dict, value *key, bool last) {
  Py_ssize_t i;
  int found = dict_find(t, dict, key, &i);
  if (found == 0) trace_raise_key(t, key);
  if (found != 1 || !gaps_remove(t, dict, i, last)) return false;
  dict_remove_at(dict, i);
  return true;
}

/* `last`: by popitem(). */
static bool dict_remove_by(tracer *t, value *dict, value *key, bool last) {
  live_dict *live = dict_live(dict);
  if (!aside_may_change(t, dict) || loom_loops->lent(t, dict)) return false;
  dict->seq.changes += VALUE_REMOVED;
  bool gone = !live  ? dict_drop(t, dict, key, last)
              : last ? live_pop(t, live, key)
                     : live_remove(t, live, key);
  if (gone) dict_count_gone(t, dict);
  return gone;
}

bool dict_remove(tracer *t, value *dict, value *key) { return dict_remove_by(t, dict, key, false); }

/* Of a key that it has. */
static bool dict_move(tracer *t, value *dict, value *key, bool last) {
  Py_ssize_t i;
  live_dict *live = dict_live(dict);
  if (!aside_may_change(t, dict)) return false;
  if (loom_loops->lent(t, dict) || !dict_count_move(t, dict, key, last)) return false;
  dict->seq.changes += VALUE_REMOVED;
  if (live) return live_move(t, live, key, last);
  if (dict_find(t, dict, key, &i) != 1) return false;
  gaps_clear(t, dict); /* an OrderedDict's iterators do not look at the table */
  value **items = dict->seq.items, *pair[2] = {items[i], items[i + 1]};
  Py_ssize_t to = last ? dict->seq.count - 2 : 0;
  memmove(items + (last ? i : 2), items + (last ? i + 2 : 0),
          (size_t)(last ? to - i : i) * sizeof *items);
  memcpy(items + to, pair, sizeof pair);
  return true;
}

value *dict_whole(tracer *t, value *v) {
  live_dict *live = dict_live(v);
  return live ? live_whole(t, live) : v;
}

value *dict_again(tracer *t, value *v) {
  live_dict *live = dict_live(v);
  return live ? live_again(t, live) : v;
}

Py_ssize_t dict_size(tracer *t, value *v) {
  live_dict *live = dict_live(v);
  return live ? live_length(t, live) : v->seq.count / 2;
}

static bool dict_put_merge(tracer *t, value *dict, value *key, value *item, bool merge) {
  if (merge) {
    int found = dict_has(t, dict, key);
    if (found) {
      if (found ==
          1) /* a KeyError while an exception is handled, of callers too; else a TypeError */
        trace_break(t, BREAK_RAISES, "a keyword argument has several values");
      return false;
    }
  }
  return dict_put(t, dict, key, item);
}

/* All at once, as C code adds a dict to a dict. An OrderedDict gets items one by one. */
static bool dict_update_live(tracer *t, value *dict, value *other) {
  if (!other->seq.count) return true;
  if (!aside_may_change(t, dict) || loom_loops->lent(t, dict)) return false;
  dict->seq.changes += (uint32_t)other->seq.count / 2;
  return live_update(t, dict_live(dict), other);
}

/* A dict that is added is in `other` as a whole. */
static bool dict_update_items(tracer *t, value *dict, value *other, bool merge) {
  Py_ssize_t before = dict->seq.count, *places;
  if (!(places = trace_alloc(t, ((size_t)other->seq.count + 1) * sizeof *places))) return false;
  if (!gaps_merging(t, dict, other)) return false;
  for (Py_ssize_t i = 0; i < other->seq.count; i += 2) {
    value *key = other->seq.items[i];
    if (!dict_put_merge(t, dict, key, other->seq.items[i + 1], merge)) return false;
    if (gaps_is_merging(t, dict) && dict_find(t, dict, key, &places[i / 2]) != 1) return false;
  }
  return gaps_merged(t, dict, other, places, before);
}

/* An iterable of pairs. */
static bool dict_update_pairs(tracer *t, value *dict, value *other) {
  value *pairs = trace_each(t, other), *next;
  while (pairs && (next = trace_next(t, pairs))) {
    value *pair = trace_fast(t, next);
    if (!pair) return false;
    if (pair->seq.count != 2)
      return trace_raise(t, PyExc_ValueError, "a dictionary is made from pairs"), false;
    if (!dict_put(t, dict, pair->seq.items[0], pair->seq.items[1])) return false;
  }
  return pairs && !trace_pending(t);
}

/* An object with keys() and items by them. */
static bool dict_update_mapping(tracer *t, value *dict, value *other, bool merge) {
  value *all = trace_method(t, other, "keys", NULL, 0), *keys = all ? trace_each(t, all) : NULL,
        *key;
  while (keys && (key = trace_next(t, keys))) {
    value *item = trace_get_item(t, other, key);
    if (!item || !dict_put_merge(t, dict, key, item, merge)) return false;
  }
  return keys && !trace_pending(t);
}

static bool dict_is_mapping(tracer *t, const value *v) {
  PyObject *name = PyUnicode_InternFromString("keys");
  bool found = name && value_is_instance(v) &&
               class_lookup(t, (PyTypeObject *)object_class((value *)v), name);
  Py_XDECREF(name);
  return found;
}

/* A defaultdict's items are added as a dict's are. */
static value *dict_of_model(tracer *t, value *other) {
  if (!value_is_instance(other) || !model_owns(object_class(other))) return other;
  PyTypeObject *real = (PyTypeObject *)model_real(object_class(other));
  bool like = PyType_IsSubtype(real, &PyDict_Type) && real->tp_iter == PyDict_Type.tp_iter;
  value *content = like ? model_part(t, other, "_dict") : NULL;
  return content && value_is_dict(content) ? content : other;
}

bool dict_update(tracer *t, value *dict, value *other, bool merge) {
  other = dict_of_model(t, other);
  if (object_content(other) && container_keeps(t, other, "__iter__") &&
      value_is_dict(object_content(other)))
    other = object_content(other); /* as CPython's PyDict_Merge() */
  if (!value_is_dict(other)) {
    if (dict_is_mapping(t, other)) return dict_update_mapping(t, dict, other, merge);
    if (!merge && other->type->kinds & VALUE_IS_PAIRS) return dict_update_pairs(t, dict, other);
    trace_break(t, BREAK_UNSUPPORTED_TYPE, "a dictionary made from a %s", other->type->name);
    return false;
  }
  if (!(other = dict_again(t, other))) return false;
  if (dict_live(dict) && !dict_owner(dict) && !merge && !dict_is_ordered(t, dict))
    return dict_update_live(t, dict, other);
  return dict_update_items(t, dict, other, merge);
}

bool dict_unpack(tracer *t, value *dict, value *other) {
  if (value_is_dict(other) || object_content(other) || dict_is_mapping(t, other))
    return dict_update(t, dict, other, false);
  if (!trace_pending(t)) trace_break(t, BREAK_RAISES, "what is no mapping is unpacked with **");
  return false;
}

/* ---- slots ---------------------------------------------------------------------------------- */

value *dict_copied(tracer *t, value *v) {
  value *whole = dict_again(t, v);
  value *copy = whole ? value_list(t, whole->seq.items, whole->seq.count) : NULL;
  if (!copy) return NULL;
  copy->type = &value_dict_type;
  return !copy->seq.count || gaps_copy(t, copy, whole) ? copy : NULL;
}

static value *dict_binary(tracer *t, int op, value *l, value *r, bool inplace) {
  if (op == 7 && inplace && value_is_dict(l)) /* any mapping, or pairs */
    return dict_update(t, l, r, false) ? l : NULL;
  if (op != 7 || l->type != r->type) return trace_not_implemented(t);
  value *v = inplace ? l : dict_copied(t, l);
  return v && dict_update(t, v, r, false) ? v : NULL;
}

static value *dict_compare(tracer *t, int op, value *l, value *r) {
  const value *both[2] = {l, r};
  uint32_t changes[2] = {l->seq.changes, r->seq.changes};
  if (l->type != r->type || (op != Py_EQ && op != Py_NE)) return trace_not_implemented(t);
  if (!(l = dict_whole(t, l)) || !(r = dict_whole(t, r))) return NULL;
  bool equal = l->seq.count == r->seq.count;
  for (Py_ssize_t i = 0; equal && i < l->seq.count; i += 2) {
    value *other = dict_get(t, r, l->seq.items[i]);
    if (trace_pending(t)) return NULL;
    if (!other) {
      equal = false;
      break;
    }
    if (value_identical(t, other, l->seq.items[i + 1])) continue;
    value *same = trace_compare(t, Py_EQ, l->seq.items[i + 1], other);
    int truth = same ? trace_truth(t, same) : -1;
    if (truth < 0) return NULL;
    if (both[0]->seq.changes != changes[0] || both[1]->seq.changes != changes[1])
      return trace_break(t, BREAK_SIDE_EFFECT, "a comparison that changes the dict");
    equal = truth;
  }
  return value_bool(t, equal == (op == Py_EQ));
}

static int dict_truth(tracer *t, value *v) {
  Py_ssize_t size = dict_size(t, v);
  return size < 0 ? -1 : size != 0;
}

static value *dict_length(tracer *t, value *v) {
  Py_ssize_t size = dict_size(t, v);
  return size < 0 ? NULL : value_int(t, size);
}

static value *dict_get_item(tracer *t, value *v, value *key) {
  value *item = dict_get(t, v, key);
  return item || trace_pending(t) ? item : trace_raise_key(t, key);
}

static bool dict_set_item(tracer *t, value *v, value *key, value *item) {
  return item ? dict_put(t, v, key, item) : dict_remove(t, v, key);
}

static int dict_contains(tracer *t, value *v, value *item) { return dict_has(t, v, item); }

value *dict_list(tracer *t, value *v, int what) {
  live_dict *live = dict_live(v);
  if (live && what == 0) return live_keys(t, live);
  if (!(v = dict_whole(t, v))) return NULL;
  value *list = value_list(t, NULL, 0);
  for (Py_ssize_t i = 0; list && i < v->seq.count; i += 2) {
    value *item = what == 2 ? value_tuple(t, v->seq.items + i, 2) : v->seq.items[i + (what == 1)];
    if (!item || !seq_append(t, list, item)) return NULL;
  }
  return list;
}

value *dict_iterator(tracer *t, value *dict, int what, bool back) {
  value *items = dict_list(t, dict, what);
  return items ? iter_watching(t, items, dict, what, back) : NULL;
}

static value *dict_iter(tracer *t, value *v) { return dict_iterator(t, v, 0, false); }

static value *dict_reversed(tracer *t, value *v) { return dict_iterator(t, v, 0, true); }

/* ---- methods -------------------------------------------------------------------------------- */

#define METHOD(NAME)                                                                               \
  static value *NAME(tracer *t, value *v, value *const *args, Py_ssize_t count, PyObject *kwnames)
#define ARGS(NAME, LEAST, MOST)                                                                    \
  if (!args_check(t, NAME, count, LEAST, MOST, kwnames)) return NULL

METHOD(dict_keys) {
  ARGS("keys", 0, 0);
  return dict_view(t, v, 0);
}

METHOD(dict_values) {
  ARGS("values", 0, 0);
  return dict_view(t, v, 1);
}

METHOD(dict_items) {
  ARGS("items", 0, 0);
  return dict_view(t, v, 2);
}

METHOD(dict_get_method) {
  ARGS("get", 1, 2);
  value *item = dict_get(t, v, args[0]);
  if (item || trace_pending(t)) return item;
  return count > 1 ? args[1] : t->constants.none;
}

METHOD(dict_setdefault) {
  ARGS("setdefault", 1, 2);
  value *item = dict_get(t, v, args[0]);
  if (item || trace_pending(t)) return item;
  item = count > 1 ? args[1] : t->constants.none;
  return dict_put(t, v, args[0], item) ? item : NULL;
}

/* Nothing is asked of a key that is taken out of an empty dict. 1, 0, or -1 after a break. */
static int dict_pops_nothing(tracer *t, value *v, const value *key) {
  if (value_is_const(key) && object_is_scalar(key->object)) return 0; /* nor would it tell */
  value *length = dict_length(t, v);
  int truth = length ? trace_truth(t, length) : -1;
  return truth < 0 ? -1 : !truth;
}

METHOD(dict_pop) {
  ARGS("pop", 1, 2);
  int nothing = dict_pops_nothing(t, v, args[0]);
  value *item = nothing == 0 ? dict_get(t, v, args[0]) : NULL;
  if (trace_pending(t)) return NULL;
  if (!item) return count > 1 ? args[1] : trace_raise_key(t, args[0]);
  return dict_remove(t, v, args[0]) ? item : NULL;
}

METHOD(dict_popitem) {
  ARGS("popitem", 0, 0);
  value *keys = dict_list(t, v, 0);
  if (!keys) return NULL;
  if (!keys->seq.count) return trace_raise(t, PyExc_KeyError, "popitem(): dictionary is empty");
  value *pair[2] = {keys->seq.items[keys->seq.count - 1], NULL};
  if (!(pair[1] = dict_get(t, v, pair[0])) || !dict_remove_by(t, v, pair[0], true)) return NULL;
  return value_tuple(t, pair, 2);
}

/* Of what an OrderedDict holds, for its model. */
METHOD(dict_move_to_end) {
  ARGS("move_to_end", 2, 2);
  int last = trace_truth(t, args[1]), nothing = last < 0 ? -1 : dict_pops_nothing(t, v, args[0]);
  int found = nothing == 0 ? dict_has(t, v, args[0]) : 0;
  if (trace_pending(t) || last < 0) return NULL;
  if (found != 1) return trace_raise_key(t, args[0]);
  return dict_move(t, v, args[0], last) ? t->constants.none : NULL;
}

METHOD(dict_update_method) {
  Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  if (count > 1) return trace_raise(t, PyExc_TypeError, "update() takes at most one argument");
  if (count == 1 && !dict_update(t, v, args[0], false)) return NULL;
  value *more = named ? value_dict(t) : NULL;
  for (Py_ssize_t i = 0; more && i < named; i++) {
    value *key = value_const(t, PyTuple_GET_ITEM(kwnames, i));
    if (!key || !dict_put(t, more, key, args[count + i])) return NULL;
  }
  return !named || (more && dict_update(t, v, more, false)) ? t->constants.none : NULL;
}

METHOD(dict_copy) {
  ARGS("copy", 0, 0);
  return dict_copied(t, v);
}

METHOD(dict_clear) {
  ARGS("clear", 0, 0);
  live_dict *live = dict_live(v);
  if (!aside_may_change(t, v)) return NULL;
  v->seq.changes += VALUE_REMOVED;
  v->seq.count = 0;
  gaps_clear(t, v);
  if (dict_count_of(t, v) && dict_counts_clear()) dict_count_gone(t, v);
  return !live || live_clear(t, live) ? t->constants.none : NULL;
}

static const builtin_method dict_methods[] = {{"keys", dict_keys},
                                              {"values", dict_values},
                                              {"items", dict_items},
                                              {"get", dict_get_method},
                                              {"setdefault", dict_setdefault},
                                              {"pop", dict_pop},
                                              {"popitem", dict_popitem},
                                              {"update", dict_update_method},
                                              {"copy", dict_copy},
                                              {"clear", dict_clear},
                                              {NULL, NULL}};

static const builtin_method dict_models_methods[] = {{"move_to_end", dict_move_to_end},
                                                     {NULL, NULL}};

static value *dict_get_attr(tracer *t, value *v, PyObject *name) {
  bool model = t->frame && model_is_module(t->frame->function->globals);
  if (model && !PyUnicode_CompareWithASCIIString(name, dict_models_methods->name))
    return builtin_method_find(t, dict_models_methods, v, name);
  return builtin_method_find(t, dict_methods, v, name);
}

static PyObject *dict_python_type(tracer *t, value *v) { return (PyObject *)&PyDict_Type; }

static recipe *dict_rebuild(tracer *t, value *v) {
  recipe *attributes = v->source ? NULL : object_rebuild_dict(t, v);
  if (attributes || trace_pending(t)) return attributes;
  recipe *again = v->source ? NULL : gaps_rebuild(t, v);
  if (again || trace_pending(t)) return again;
  recipe *r = trace_recipe(t, v->source ? RECIPE_SOURCE : RECIPE_DICT);
  if (!r || v->source) return r ? (r->source = v->source, r) : NULL;
  return trace_rebuild_items(t, r, v);
}

static PyObject *dict_known(tracer *t, value *v, bool plain) {
  if (!(v = dict_whole(t, v))) return NULL;
  PyObject *list = list_known(t, v, plain); /* of keys and items by turns */
  if (!list) return NULL;
  PyObject *result = PyDict_New();
  for (Py_ssize_t i = 0; result && i < PyList_GET_SIZE(list); i += 2)
    if (PyDict_SetItem(result, PyList_GET_ITEM(list, i), PyList_GET_ITEM(list, i + 1)))
      Py_CLEAR(result);
  Py_DECREF(list);
  error_drop();
  return result;
}

/* Keys stay what they are. What a live dictionary holds lies elsewhere (livedict.c). */
static void dict_walk(roll_walk *w, value *v) {
  roll_pointer(w, v->object);
  roll_token(w, (uint64_t)v->seq.count);
  roll_token(w, gaps_count(w->t, v));
  for (Py_ssize_t i = 0; i + 1 < v->seq.count; i += 2) {
    roll_exactly(w, &v->seq.items[i]);
    roll_value(w, &v->seq.items[i + 1]);
  }
}

const value_type value_dict_type = {.name = "dict",
                                    .kinds = VALUE_IS_CONTAINER,
                                    .binary = dict_binary,
                                    .compare = dict_compare,
                                    .truth = dict_truth,
                                    .length = dict_length,
                                    .get_item = dict_get_item,
                                    .set_item = dict_set_item,
                                    .contains = dict_contains,
                                    .get_attr = dict_get_attr,
                                    .iter = dict_iter,
                                    .python_type = dict_python_type,
                                    .rebuild = dict_rebuild,
                                    .walk = dict_walk,
                                    .known = dict_known,
                                    .key = key_is_refused,
                                    .copy = copy_dict,
                                    .reversed = dict_reversed,
                                    .builtin = &PyDict_Type,
                                    .set_attr = attributes_refused};
