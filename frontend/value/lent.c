/* Which object a lent value stands for (gather.c).
 *
 * In the iteration that stands for all, an item of a list is a row of an array. Behind the loop
 * a name may still stand for it: `last = v`. The item's index is a number that grows by one in
 * every iteration, as what the code computes of the index does, so that it is known again there;
 * and the item of the list with that index is the object. */
#include "frontend/value/value.h"

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

static bool lent_is_sequence(const value *v) {
  return v->type == &value_tuple_type || v->type == &value_list_type;
}

static value *lent_find(tracer *t, const lent_item *item) {
  if (item->whole) {
    value *whole = lent_find(t, item->whole);
    bool has = whole && lent_is_sequence(whole) && item->at < whole->seq.count;
    return has ? whole->seq.items[item->at] : NULL;
  }
  if (LOOM_STRIDE_IS_SYM(item->index) || item->index < 0) return NULL;
  if (item->of) return gather_real(item->of, item->index);
  if (item->list->type == &value_long_list_type) return long_single(t, item->list, item->index);
  bool has = lent_is_sequence(item->list) && item->index < item->list->seq.count;
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
  bool rows = list && list->type == &value_long_list_type && !LOOM_STRIDE_IS_SYM(item->index) &&
              pointer_map_get(&t->rebuilt, list);
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
