/* Which object a lent value stands for (gather.c).
 *
 * In the hidden iteration of a loop, an item of a list is a row of an array. Behind the loop a name
 * may still stand for it: `last = v`. The item's index in the list is an induction variable, so
 * that its value behind the loop is known: the object is the item of the list with that index. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/size/size.h"
#include "frontend/values/rolled.h"
#include "frontend/values/rolled_internal.h"
#include "frontend/values/values.h"

lent_item *lent_new(tracer *t, const gathered *of, value *list, int64_t index) {
  lent_item *item = trace_alloc(t, sizeof *item);
  if (item) *item = (lent_item){.of = of, .list = list, .index = index};
  return item;
}

lent_item *lent_part(tracer *t, lent_item *whole, Py_ssize_t at) {
  lent_item *item = trace_alloc(t, sizeof *item);
  if (item) *item = (lent_item){.whole = whole, .at = at};
  return item;
}

static value *lent_find(tracer *t, const lent_item *item) {
  if (item->whole) {
    value *whole = lent_find(t, item->whole);
    bool has = whole && value_is_sequence(whole) && item->at < whole->seq.count;
    return has ? whole->seq.items[item->at] : NULL;
  }
  if (LOOM_STRIDE_IS_SYM(item->index) || item->index < 0) return NULL;
  if (item->of) return gather_real(item->of, item->index);
  if (list_is_long(item->list)) return long_single(t, item->list, item->index);
  bool has = value_is_sequence(item->list) && item->index < item->list->seq.count;
  return has ? item->list->seq.items[item->index] : NULL;
}

value *lent_real(tracer *t, const value *v) { return v->from ? lent_find(t, v->from) : NULL; }

/* Where it lies among the caller's objects; NULL: it is not one of a list that is an input. */
static const source *lent_source(tracer *t, const lent_item *item) {
  int64_t count, index = item->whole ? item->at : item->index;
  const source *base = NULL;
  if (item->whole) {
    base = lent_source(t, item->whole);
  } else if (item->list && gather_is_live(item->list)) {
    base = item->list->source;
    if (LOOM_STRIDE_IS_SYM(index) && /* counted from the end, perhaps */
        (!long_count(t, item->list, &count) || !size_minus(t, index, count, &index) ||
         LOOM_STRIDE_IS_SYM(index) || index >= 0))
      return NULL;
  }
  PyObject *key = base ? trace_keep(t, PyLong_FromLongLong(index)) : NULL;
  return key ? trace_source(t, SOURCE_ITEM, base, NULL, key, 0) : NULL;
}

/* An item of a long list that is a result already, and knows no items of its own. */
static recipe *lent_of_result(tracer *t, const lent_item *item) {
  value *list = item->list;
  bool rows = list && list_is_long(list) && !LOOM_STRIDE_IS_SYM(item->index) &&
              pointer_map_get(&t->known.rebuilt, list);
  recipe *of = item->whole ? lent_of_result(t, item->whole) : rows ? trace_rebuild(t, list) : NULL;
  recipe *r = of ? trace_recipe(t, RECIPE_ITEM) : NULL;
  if (!r || !(r->items = calloc(1, sizeof *r->items))) return NULL;
  r->number = item->whole ? item->at : item->index;
  r->items[0] = of;
  r->count = 1;
  return r;
}

recipe *lent_rebuild(tracer *t, const value *v) {
  const source *s = v->from ? lent_source(t, v->from) : NULL;
  if (trace_pending(t)) return NULL;
  recipe *r = s ? trace_recipe(t, RECIPE_SOURCE) : v->from ? lent_of_result(t, v->from) : NULL;
  if (s && r) r->source = s;
  value *real = r ? NULL : lent_real(t, v);
  return real && !trace_pending(t) ? trace_rebuild(t, real) : r;
}

/* ---- names ---- */

/* Capture has to know which object it is: the loop is unrolled. */
static void *name_asked(tracer *t, const value *v) {
  if (!loom_loops->lent(t, v))
    trace_break(t, BREAK_DATA_DEPENDENT, "a name that a loop goes through");
  return NULL;
}

static value *name_unary(tracer *t, int op, value *v) { return name_asked(t, v); }
static value *name_get(tracer *t, value *v, value *key) { return name_asked(t, v); }
static value *name_attr(tracer *t, value *v, PyObject *name) { return name_asked(t, v); }
static value *name_iter(tracer *t, value *v) { return name_asked(t, v); }
static int name_truth(tracer *t, value *v) { return name_asked(t, v), -1; }
static int name_contains(tracer *t, value *v, value *item) { return name_asked(t, v), -1; }
static PyObject *name_type(tracer *t, value *v) { return name_asked(t, v); }
static PyObject *name_known(tracer *t, value *v, bool plain) { return name_asked(t, v); }
static bool name_known_int(tracer *t, value *v, int64_t *out) { return name_asked(t, v), false; }
static recipe *name_rebuild(tracer *t, value *v) { return name_asked(t, v); }
static void name_walk(roll_walk *w, value *v) {
} /* the state of the loop has its identity already */

static value *name_side(value *l, value *r) { return l->type == &value_lent_type ? l : r; }

static value *name_binary(tracer *t, int op, value *l, value *r, bool inplace) {
  return name_asked(t, name_side(l, r));
}

static value *name_compare(tracer *t, int op, value *l, value *r) {
  return name_asked(t, name_side(l, r));
}

static bool name_set(tracer *t, value *v, value *key, value *item) {
  return name_asked(t, v) != NULL;
}

static bool name_set_attr(tracer *t, value *v, PyObject *name, value *item) {
  return name_asked(t, v) != NULL;
}

static value *name_call(tracer *t, value *v, value *const *args, Py_ssize_t count,
                        PyObject *kwnames) {
  return name_asked(t, v);
}

const value_type value_lent_type = {.name = "str",
                                    .kinds = VALUE_IS_FOREIGN,
                                    .unary = name_unary,
                                    .binary = name_binary,
                                    .compare = name_compare,
                                    .truth = name_truth,
                                    .length = name_iter,
                                    .get_item = name_get,
                                    .set_item = name_set,
                                    .contains = name_contains,
                                    .get_attr = name_attr,
                                    .set_attr = name_set_attr,
                                    .call = name_call,
                                    .iter = name_iter,
                                    .next = name_iter,
                                    .python_type = name_type,
                                    .rebuild = name_rebuild,
                                    .known = name_known,
                                    .walk = name_walk,
                                    .known_int = name_known_int};
