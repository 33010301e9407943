/* What the captured function does to objects that existed before the call.
 *
 * Nothing is done while capturing: a list or cell that is changed keeps its new content in its
 * value, beside what it held before; attributes and variables lie in an overlay (overlay.c), items
 * of dictionaries in front of these (livedict.c). At the end (of the function, or in front of a
 * break) the difference becomes the capture's changes. The order of sets depends on their history,
 * so that their operations are kept one by one. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/live.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

typedef struct shadow { /* a value whose content has changed, and what it held */
  value *v;
  value **items;
  Py_ssize_t count;
  PyObject *object;     /* the live deque or defaultdict of a model, else NULL */
  const value *setting; /* what the latter keeps beside its items */
} shadow;

typedef struct shadow_call { /* a method of a list or set, to be called again */
  value *v;                  /* or one that has not been looked at: a lazy value */
  const char *method;
  value *args;
  PyObject *kwnames; /* of the last arguments of a call of the object itself, or NULL */
} shadow_call;

struct shadows {
  shadow *opened;
  shadow_call *calls;
  uint32_t opened_count, opened_capacity, call_count, call_capacity;
  value **fills; /* cells made inside, to be given their content */
  uint32_t fill_count, fill_capacity;
  pointer_map by_value; /* value -> itself */
  pointer_map unread;   /* live object -> the lazy value through which it was changed */
  bool finishing;       /* the changes are being made: content is not looked at any more */
};

static struct shadows *shadow_all(tracer *t) {
  if (!t->live.shadows) t->live.shadows = trace_alloc(t, sizeof *t->live.shadows);
  return t->live.shadows;
}

/* ---- values whose content is known ----------------------------------------------------------- */

const source *shadow_source(const value *v) {
  return value_is_cell(v) && !v->source ? v->any.b : v->source;
}

static bool shadow_is_live(const value *v) { return v->source || (value_is_cell(v) && v->object); }

bool shadow_open(tracer *t, value *v) {
  if (!aside_may_change(t, v)) return false;
  if (loom_loops->lent(t, v) || (gather_is_live(v) && !list_settle(t, v))) return false;
  if (!shadow_is_live(v) || value_is_dict(v)) return true;
  struct shadows *s = shadow_all(t);
  t->live.changes++;
  if (!s || pointer_map_get(&s->by_value, v)) return s != NULL;
  bool cell = value_is_cell(v), set = value_is_set(v);
  bool list = value_is_any_list(v);
  if (!v->object || !shadow_source(v) || !(cell || set || list)) {
    trace_break(t, BREAK_SIDE_EFFECT, "a %s that existed before the call is changed",
                v->type->name);
    return false;
  }
  s->opened = trace_more(t, s->opened, s->opened_count, &s->opened_capacity, sizeof *s->opened);
  value *before = s->opened && !cell ? value_tuple(t, v->seq.items, v->seq.count) : NULL;
  if (!s->opened || (!cell && !before)) return false;
  shadow *now = &s->opened[s->opened_count++];
  *now = (shadow){.v = v};
  if (before) now->items = before->seq.items;
  now->count = before ? before->seq.count : v->cell.content != NULL;
  return trace_map_set(t, &s->by_value, v, v);
}

bool shadow_is_open(const tracer *t, const value *v) {
  return t->live.shadows && pointer_map_get(&t->live.shadows->by_value, v);
}

bool shadow_open_model(tracer *t, value *v, PyObject *object, value *items) {
  struct shadows *s = shadow_all(t);
  if (s)
    s->opened = trace_more(t, s->opened, s->opened_count, &s->opened_capacity, sizeof *s->opened);
  value *const *now = items ? items->seq.items : NULL;
  value *before = s && s->opened ? value_tuple(t, now, items ? items->seq.count : 0) : NULL;
  if (!before) return false;
  s->opened[s->opened_count++] = (shadow){.v = v,
                                          .items = before->seq.items,
                                          .count = before->seq.count,
                                          .object = object,
                                          .setting = model_part(t, v, model_setting(object))};
  return !trace_pending(t);
}

const source *shadow_model_source(tracer *t, const value *items) {
  const struct shadows *s = t->live.shadows;
  for (uint32_t i = 0; s && i < s->opened_count; i++)
    if (s->opened[i].object && model_items(t, s->opened[i].v) == items)
      return s->opened[i].v->source;
  return NULL;
}

/* ---- operations that are kept as they are ---- */

/* The argument as it is now. */
static value *call_argument(tracer *t, value *v) {
  if (!list_settle(t, v)) return NULL;
  if (value_is_list(v)) return value_tuple(t, v->seq.items, v->seq.count);
  if (!value_is_set(v) || v->source) return v;
  if (set_is_frozen(v) || !v->seq.set->mixed || order_items(t, v)) return set_now(t, v);
  return trace_pending(t) ? NULL : trace_break(t, BREAK_SIDE_EFFECT, "a set of unknown order");
}

static bool call_add(tracer *t, value *v, const char *method, value *const *args, Py_ssize_t n) {
  struct shadows *s = shadow_all(t);
  value *all = s ? value_tuple(t, NULL, 0) : NULL;
  for (Py_ssize_t i = 0; all && i < n; i++) {
    value *arg = value_is_set(v) ? call_argument(t, args[i]) : args[i];
    if (!arg || !seq_append(t, all, arg)) return false;
  }
  if (!all) return false;
  s->calls = trace_more(t, s->calls, s->call_count, &s->call_capacity, sizeof *s->calls);
  if (!s->calls) return false;
  s->calls[s->call_count++] = (shadow_call){.v = v, .method = method, .args = all};
  t->live.changes++;
  return true;
}

bool shadow_again(tracer *t, value *callee, value *const *args, Py_ssize_t count,
                  PyObject *kwnames) {
  Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  if (!call_add(t, callee, "__call__", args, count + named)) return false;
  struct shadows *s = t->live.shadows;
  if (named) s->calls[s->call_count - 1].kwnames = trace_keep(t, Py_NewRef(kwnames));
  return !trace_pending(t);
}

bool shadow_set(tracer *t, value *set, const char *method, value *const *args, Py_ssize_t count) {
  if (!set->source) return aside_may_change(t, set);
  return shadow_open(t, set) && call_add(t, set, method, args, count);
}

/* Another set that has changed, too, is not what it was then any more. */
static bool call_is_as_then(const tracer *t, const value *set, const shadow_call *c) {
  for (Py_ssize_t i = 0; i < c->args->seq.count; i++) {
    const value *arg = c->args->seq.items[i];
    if (arg != set && value_is_set(arg) && arg->source && shadow_is_open(t, arg)) return false;
  }
  return true;
}

bool shadow_set_order(tracer *t, value *set) {
  const struct shadows *s = t->live.shadows;
  for (uint32_t i = 0; s && i < s->call_count && set->seq.set->table; i++) {
    const shadow_call *c = &s->calls[i];
    value *const *args = c->args->seq.items;
    if (c->v != set) continue;
    if (!call_is_as_then(t, set, c)) return false;
    if (!strcmp(c->method, "add"))
      order_add(t, set, args[0]);
    else if (!strcmp(c->method, "discard"))
      order_discard(t, set, args[0]);
    else
      order_call(t, set, set->seq.set->table, c->method, args, c->args->seq.count);
  }
  return set->seq.set->table != NULL;
}

/* ---- lists and sets that have not been looked at: what only adds to them does not have to ---- */

static bool unread_method(PyObject *object, PyObject *name) {
  bool append = !PyUnicode_CompareWithASCIIString(name, "append");
  bool add = !PyUnicode_CompareWithASCIIString(name, "add");
  return (append && (PyList_CheckExact(object) || object_is_deque(object))) ||
         (add && PySet_CheckExact(object));
}

/* What is appended to a list or deque: a list that only grows, and is one call at the end. */
static value *unread_items(const struct shadows *s, const value *first) {
  for (uint32_t i = 0; s && i < s->call_count; i++)
    if (s->calls[i].v == first && s->calls[i].method && !strcmp(s->calls[i].method, "extend"))
      return s->calls[i].args->seq.items[0];
  return NULL;
}

bool shadow_is_pending(const tracer *t, const value *list) {
  const struct shadows *s = t->live.shadows;
  for (uint32_t i = 0; s && i < s->call_count; i++)
    if (s->calls[i].args->seq.count == 1 && s->calls[i].args->seq.items[0] == list &&
        s->calls[i].method && value_is_lazy(s->calls[i].v))
      return true;
  return false;
}

static value *unread_call(tracer *t, value *v, value *const *args, Py_ssize_t count,
                          PyObject *kwnames) {
  struct shadows *s = shadow_all(t);
  bool list = !PySet_CheckExact(v->object);
  t->live.changes++; /* the items of one call may grow */
  const char *method = list ? "append" : "add";
  if (!s || !args_check(t, method, count, 1, 1, kwnames)) return NULL;
  value *known = pointer_map_get(&t->known.wrapped, v->object);
  value *first = pointer_map_get(&s->unread, v->object);
  if (!list && !key_check(t, args[0])) return NULL;
  if (known && !aside_may_change(t, known)) return NULL;
  if (known) {
    PyObject *name = trace_keep(t, PyUnicode_InternFromString(method));
    value *again = value_wrap(t, v->object, v->source);
    value *bound = again && name ? trace_get_attr(t, again, name) : NULL;
    return bound ? trace_call(t, bound, args, 1, NULL) : NULL;
  }
  guard_simple(t, GUARD_TYPE, v->source, (PyObject *)Py_TYPE(v->object), 0);
  if (first && first->source != v->source)
    trace_guard(
        t, (guard){.kind = GUARD_SAME, .source = first->source, .source2 = v->source, .number = 1});
  if (!first && !trace_map_set(t, &s->unread, v->object, first = v)) return NULL;
  if (!list) return call_add(t, first, method, args, 1) ? t->constants.none : NULL;
  value *items = unread_items(s, first);
  if (items) return seq_append(t, items, args[0]) ? t->constants.none : NULL;
  items = value_list(t, args, 1);
  return items && call_add(t, first, "extend", &items, 1) ? t->constants.none : NULL;
}

static const builtin_method unread_methods[] = {{"append", unread_call}, {"add", unread_call}};

bool shadow_takes(const value *lazy, PyObject *name) {
  return value_is_lazy(lazy) && unread_method(lazy->object, name);
}

value *shadow_method(tracer *t, value *lazy) {
  value *v = value_new(t, &value_builtin_method_type);
  if (!v) return NULL;
  v->any.a = (void *)&unread_methods[PySet_CheckExact(lazy->object)];
  v->any.b = lazy;
  return v;
}

static bool catch_up_items(tracer *t, value *v, value *items, bool deque) {
  if ((deque || list_is_hidden(items)) && !list_settle(t, items)) return false;
  for (Py_ssize_t i = 0; i < items->seq.count; i++) {
    value *item = items->seq.items[i];
    if (!(deque ? trace_method(t, v, "append", &item, 1) != NULL : seq_append(t, v, item)))
      return false;
  }
  if (list_is_long(items)) v->type = items->type;
  return true;
}

bool shadow_catch_up(tracer *t, value *v, PyObject *object) {
  struct shadows *s = t->live.shadows;
  value *first = s ? pointer_map_get(&s->unread, object) : NULL;
  if (!first || s->finishing) return true; /* what was added is a change already */
  if (gather_is_live(v) && !list_settle(t, v)) return false; /* what was appended is no row of it */
  bool list = value_is_list(v), deque = value_is_instance(v);
  if (!list && !deque && !value_is_set(v)) return true;
  if (!deque && !shadow_open(t, v)) return false;
  if (first->source != v->source)
    trace_guard(
        t, (guard){.kind = GUARD_SAME, .source = first->source, .source2 = v->source, .number = 1});
  for (uint32_t i = 0; i < s->call_count; i++) {
    shadow_call *c = &s->calls[i];
    if (c->v != first) continue;
    value *item = c->args->seq.items[0];
    if (!(list || deque ? catch_up_items(t, v, item, deque) : set_add(t, v, item))) return false;
    if (!list && !deque)
      c->v = v;
    else
      c->method = NULL; /* part of the content now */
  }
  return true;
}

/* ---- the walk of a loop's state (values/walk.c) ---- */

void shadow_walk(roll_walk *w, const tracer *t) {
  struct shadows *s = t->live.shadows;
  roll_token(w, s ? (uint64_t)s->opened_count << 32 | s->call_count : 0);
  for (uint32_t i = 0; s && i < s->opened_count; i++)
    roll_value(w, &s->opened[i].v);
  for (uint32_t i = 0; s && i < s->call_count; i++)
    if (shadow_is_pending(t, s->calls[i].args->seq.items[0]))
      roll_value(w, &s->calls[i].args->seq.items[0]);
  overlay_walk(w, t);
  live_walk(w, t);
}

/* ---- as changes of the capture ---- */

static recipe *made_source(tracer *t, const source *s) {
  recipe *r = trace_recipe(t, RECIPE_SOURCE);
  if (r) r->source = s;
  return r;
}

static recipe *made_const(tracer *t, PyObject *object) {
  recipe *r = trace_recipe(t, RECIPE_CONST);
  if (r) r->object = Py_NewRef(object);
  return r;
}

/* (target, key, items...) */
static recipe *made_with(tracer *t, const source *target, recipe *key, value *const *items,
                         Py_ssize_t count) {
  recipe *r = trace_recipe(t, RECIPE_TUPLE);
  if (!r) return NULL;
  if (!(r->items = calloc((size_t)count + 2, sizeof *r->items))) return trace_fail(t);
  if (!(r->items[r->count++] = made_source(t, target))) return NULL;
  if (key) r->items[r->count++] = key;
  for (Py_ssize_t i = 0; i < count; i++) {
    recipe *item = trace_rebuild(t, items[i]);
    if (!item) return NULL;
    r->number |= item->kind == RECIPE_ROWS;
    r->items[r->count++] = item;
  }
  return r;
}

static void finish_change(tracer *t, change c) {
  if (c.made)
    trace_change(t, c);
  else
    Py_XDECREF(c.key);
}

static void finish_list(tracer *t, const shadow *s) {
  const value *v = s->v;
  Py_ssize_t head = 0, tail = 0, count = v->seq.count;
  while (head < count && head < s->count && v->seq.items[head] == s->items[head])
    head++;
  while (tail < count - head && tail < s->count - head &&
         v->seq.items[count - 1 - tail] == s->items[s->count - 1 - tail])
    tail++;
  if (head == count && head == s->count) return;
  finish_change(
      t, (change){.kind = CHANGE_SLICE,
                  .made = made_with(t, v->source, NULL, v->seq.items + head, count - head - tail),
                  .from = head,
                  .to = s->count - tail});
}

void shadow_call_of(tracer *t, const source *s, const char *method, value *const *args,
                    Py_ssize_t count) {
  finish_change(t, (change){.kind = CHANGE_CALL,
                            .made = made_with(t, s, NULL, args, count),
                            .key = PyUnicode_InternFromString(method)});
}

static void finish_deque_call(tracer *t, const value *v, const char *method, value *item) {
  shadow_call_of(t, v->source, method, &item, item != NULL);
}

/* What a model's type keeps beside the items has changed: a second __init__() gave another. */
static bool shadow_is_set_anew(tracer *t, const shadow *s) {
  return model_part(t, s->v, model_setting(s->object)) != s->setting;
}

/* A deque's __init__() puts all items in anew; a defaultdict's leaves them. */
static void finish_setting(tracer *t, const shadow *s) {
  const value *items = PyDict_Check(s->object) ? NULL : model_items(t, s->v);
  value *setting = model_part(t, s->v, model_setting(s->object));
  value *all = items ? value_list(t, items->seq.items, items->seq.count) : NULL;
  value *args[2] = {all ? all : setting, setting};
  if (!setting || (items && !all)) return;
  shadow_call_of(t, s->v->source, "__init__", args, all ? 2 : 1);
}

/* Only items were set: iterators over it go on. */
static void finish_deque_items(tracer *t, const shadow *s, const value *items) {
  for (Py_ssize_t i = 0; i < s->count && !trace_pending(t); i++) {
    if (s->items[i] == items->seq.items[i]) continue;
    value *at[2] = {value_int(t, i), items->seq.items[i]};
    if (!at[0]) return;
    shadow_call_of(t, s->v->source, "__setitem__", at, 2);
  }
}

/* It has the items that it had, and yet has changed: no iterator over it goes on. */
static void finish_deque_moved(tracer *t, const shadow *s) {
  value *none = value_int(t, 0);
  if (!none) return;
  if (s->count > 1) {
    finish_deque_call(t, s->v, "rotate", none);
    return;
  }
  if (!s->count) finish_deque_call(t, s->v, "append", none);
  finish_deque_call(t, s->v, "clear", NULL);
  if (s->count) finish_deque_call(t, s->v, "append", s->items[0]);
}

/* Old items that are still there, behind those that were removed from the front, stay in the deque.
 * All others are appended anew. */
static void finish_deque(tracer *t, const shadow *s) {
  const value *items = model_items(t, s->v);
  Py_ssize_t gone = 0, kept = 0, count = items ? items->seq.count : 0;
  while (items && count && gone < s->count && s->items[gone] != items->seq.items[0])
    gone++;
  while (kept < count && gone + kept < s->count && s->items[gone + kept] == items->seq.items[kept])
    kept++;
  bool moved = model_part(t, s->v, "_moved") != NULL;
  if (!items) return;
  if (kept == count && gone == 0 && kept == s->count) {
    if (moved) finish_deque_moved(t, s);
    return;
  }
  if (!moved && count == s->count) {
    finish_deque_items(t, s, items);
    return;
  }
  bool tail = gone + kept == s->count && kept;
  if (!tail && s->count) finish_deque_call(t, s->v, "clear", NULL);
  for (Py_ssize_t i = 0; tail && i < gone; i++)
    finish_deque_call(t, s->v, "popleft", NULL);
  bool rows = false;
  for (Py_ssize_t i = tail ? kept : 0; i < count; i++)
    rows |= rows_of(items->seq.items[i]) != NULL;
  if (rows) { /* nobody knows them one by one */
    Py_ssize_t from = tail ? kept : 0;
    value *rest = value_list(t, items->seq.items + from, count - from);
    if (rest) finish_deque_call(t, s->v, "extend", rest);
    return;
  }
  for (Py_ssize_t i = tail ? kept : 0; i < count && !trace_pending(t); i++)
    finish_deque_call(t, s->v, "append", items->seq.items[i]);
}

void shadow_item(tracer *t, const source *s, value *key, value *item) {
  recipe *k = trace_rebuild(t, key);
  if (k)
    finish_change(t,
                  (change){.kind = CHANGE_ITEM, .made = made_with(t, s, k, &item, item != NULL)});
}

void shadow_named(tracer *t, const source *s, PyObject *key, value *item, bool attribute) {
  recipe *name = attribute ? NULL : made_const(t, key);
  recipe *made = name || attribute ? made_with(t, s, name, &item, item != NULL) : NULL;
  finish_change(
      t,
      (change){.kind = attribute ? CHANGE_ATTR : CHANGE_ITEM, .made = made, .key = Py_NewRef(key)});
}

void shadow_renew(tracer *t, const source *s) {
  finish_change(t, (change){.kind = CHANGE_RENEW, .made = made_with(t, s, NULL, NULL, 0)});
}

void shadow_advance(tracer *t, const source *s, Py_ssize_t count) {
  finish_change(
      t, (change){.kind = CHANGE_ADVANCE, .made = made_with(t, s, NULL, NULL, 0), .to = count});
}

static void finish_cell(tracer *t, const shadow *s) {
  value *content = s->v->cell.content;
  finish_change(
      t, (change){.kind = CHANGE_CELL,
                  .made = made_with(t, shadow_source(s->v), NULL, &content, content != NULL)});
}

static void finish_append(tracer *t, value *v, value *item) {
  shadow_call_of(t, value_source(t, v), "append", &item, 1);
}

static void finish_call(tracer *t, const shadow_call *c) {
  value **args = c->args->seq.items;
  Py_ssize_t count = c->args->seq.count;
  if (!c->method) return;
  bool appends = value_is_lazy(c->v) && !strcmp(c->method, "extend");
  if (appends && value_is_list(args[0])) {
    for (Py_ssize_t i = 0; i < args[0]->seq.count && !trace_pending(t); i++)
      finish_append(t, c->v, args[0]->seq.items[i]);
    return;
  }
  const source *s = value_source(t, c->v);
  if (c->kwnames)
    finish_change(t, (change){.kind = CHANGE_CALL,
                              .made = made_with(t, s, NULL, args, count),
                              .key = Py_NewRef(c->kwnames)});
  else
    shadow_call_of(t, s, c->method, args, count);
}

bool shadow_fill(tracer *t, value *cell) {
  struct shadows *s = shadow_all(t);
  if (s) s->fills = trace_more(t, s->fills, s->fill_count, &s->fill_capacity, sizeof *s->fills);
  if (!s || !s->fills) return false;
  s->fills[s->fill_count++] = cell;
  return true;
}

/* Rebuilding what one cell holds may come to others. */
static void finish_fills(tracer *t, struct shadows *s) {
  for (uint32_t i = 0; i < s->fill_count && !trace_pending(t); i++) {
    recipe *made = trace_recipe(t, RECIPE_TUPLE);
    if (!made || !(made->items = calloc(2, sizeof *made->items))) {
      trace_fail(t);
      return;
    }
    if ((made->items[0] = trace_rebuild(t, s->fills[i]))) made->count++;
    if (made->count && (made->items[1] = trace_rebuild(t, s->fills[i]->cell.content)))
      trace_change(t, (change){.kind = CHANGE_CELL, .made = (made->count++, made)});
  }
}

/* ---- the end ---- */

static bool finish_apart(tracer *t) {
  static struct shadows nothing;
  const struct shadows *s = t->live.shadows ? t->live.shadows : &nothing;
  struct apart a = {.unread = &s->unread};
  for (uint32_t i = 0; i < s->opened_count; i++) {
    const shadow *now = &s->opened[i];
    PyObject *object = now->object ? now->object : now->v->object;
    if (now->object && PyDict_Check(object) && !shadow_is_set_anew(t, now)) continue;
    if (!apart_from_all(t, object, shadow_source(now->v), &a)) return false;
  }
  live_dict *live = t->live.dicts;
  for (value *v; (v = live_changed(&live));)
    if (!apart_from_all(t, v->object, v->source, &a)) return false;
  if (!overlay_apart(t, &a) || !live_iter_apart(t, &a)) return false;
  for (size_t i = 0; i < s->unread.capacity; i++) {
    const value *w = s->unread.keys[i] ? s->unread.values[i] : NULL;
    if (w && !apart_from_all(t, w->object, w->source, &a)) return false;
  }
  return apart_finish(t, &a);
}

static void finish_opened(tracer *t, const struct shadows *s) {
  for (uint32_t i = 0; i < s->call_count && !trace_pending(t); i++)
    finish_call(t, &s->calls[i]);
  for (uint32_t i = 0; i < s->opened_count && !trace_pending(t); i++) {
    const shadow *now = &s->opened[i];
    if (now->object && shadow_is_set_anew(t, now))
      finish_setting(t, now);
    else if (now->object && !PyDict_Check(now->object))
      finish_deque(t, now);
    if (value_is_any_list(now->v)) finish_list(t, now);
    if (value_is_cell(now->v)) finish_cell(t, now);
  }
}

void shadow_finish(tracer *t) {
  if (!finish_apart(t)) return;
  if (t->live.shadows) t->live.shadows->finishing = true;
  live_iter_finish(t);
  if (t->live.shadows) finish_opened(t, t->live.shadows);
  live_dict *live = t->live.dicts;
  for (value *v; !trace_pending(t) && (v = live_changed(&live));)
    live_finish(t, dict_live(v));
  overlay_finish(t);
  if (t->live.shadows) finish_fills(t, t->live.shadows);
}
