/* Items of lists and tuples as rows of arrays, for the hidden iteration of a loop (roll.c).
 *
 * `for c in coefficients`, `for w, b in layers`: where all items are alike (floats, ints, arrays of
 * one dtype and layout, tuples and lists of these), the item of an iteration whose index is not
 * known is a row of a stack: an array with the numbers, which capture makes, or with the arrays one
 * behind the other, which the graph makes in front of the loop. A list that an earlier loop has
 * appended to has its stacks already (rows.c).
 *
 * Such an item is lent: it has the value of the real item, and is not that object. Sometimes that
 * makes a difference: the item is written to, leaves the capture, or is compared by `is`; or the
 * real item changes while something still refers to the lent one. Then capture starts again, and
 * the loop gets its items one by one. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/guard.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/rolled.h"
#include "frontend/values/rolled_internal.h"
#include "frontend/values/values.h"
#include "loom_ops_shapes.h"

struct gathered {
  uint16_t place;
  value **of; /* the items when they were looked at */
  Py_ssize_t first, count;
  value *like;
  loom_value *stacks;
  value **lenders;
  uint32_t leaves, lender_count, lender_capacity;
};

static bool gather_is_container(const value *v) { return tuple_is_plain(v) || value_is_list(v); }

static const loom_adapter *gather_owner(const value *leaf) {
  for (const loom_adapter *const *a = loom_adapters(); *a; a++)
    if ((*a)->lender && (*a)->lender((value *)leaf)) return *a;
  return NULL;
}

/* ---- are they alike? ---- */

static const char *const gather_differ = "its items differ in type, dtype, size or layout";
static const char *const gather_odd = "its items are objects, each looked at by itself";

/* A name beside what is made a row: "weights" in ("weights", array). */
static bool gather_is_name(const value *v) {
  return value_is_const(v) && PyUnicode_CheckExact(v->object);
}

static const char *gather_compare(tracer *t, value *like, value *item, int depth) {
  loom_dtype one, other;
  if (gather_is_container(like)) {
    bool same = depth && item->type == like->type && gather_is_container(item) &&
                item->seq.count == like->seq.count && like->seq.count;
    const char *why = same ? NULL : gather_differ;
    for (Py_ssize_t i = 0; !why && i < like->seq.count; i++)
      why = gather_compare(t, like->seq.items[i], item->seq.items[i], depth - 1);
    return why;
  }
  if (rows_number(t, like, &one))
    return rows_number(t, item, &other) && one == other ? NULL : gather_differ;
  const loom_adapter *owner = gather_owner(like);
  if (!owner && depth < GATHER_DEPTH && gather_is_name(like) && gather_is_name(item)) return NULL;
  if (!owner) return gather_odd;
  if (gather_owner(item) != owner || !owner->row_like(like, item)) return gather_differ;
  return owner->row_is_small(t, like)
             ? NULL
             : "its items are large arrays: to put them beside each other would cost more";
}

const char *gather_refuses(tracer *t, const value *base, Py_ssize_t first, Py_ssize_t end) {
  const char *why = first < end ? NULL : gather_odd;
  for (Py_ssize_t i = first; i < end && !why; i++)
    why = gather_compare(t, base->seq.items[first], base->seq.items[i], GATHER_DEPTH);
  return why;
}

/* ---- stacks ---- */

static int gather_leaves(value *item, value **leaves, int room) {
  int count = 0;
  if (gather_is_name(item)) return 0;
  if (!gather_is_container(item)) return room < 1 ? -1 : (leaves[0] = item, 1);
  for (Py_ssize_t i = 0; i < item->seq.count; i++) {
    int more = gather_leaves(item->seq.items[i], leaves + count, room - count);
    if (more < 0) return -1;
    count += more;
  }
  return count;
}

static value *gather_leaf(const gathered *g, Py_ssize_t i, uint32_t k) {
  value *leaves[GATHER_LEAVES];
  gather_leaves(g->of[i], leaves, GATHER_LEAVES);
  return leaves[k];
}

static uint64_t gather_bits(PyObject *number) {
  uint64_t bits;
  double x = PyFloat_CheckExact(number) ? PyFloat_AS_DOUBLE(number) : 0;
  if (!PyFloat_CheckExact(number)) return (uint64_t)PyLong_AsLongLong(number);
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* Numbers that are known; LOOM_NO_VALUE with nothing pending: some are not. */
static loom_value gather_numbers(tracer *t, const gathered *g, uint32_t k) {
  uint64_t *bits = trace_alloc(t, sizeof *bits * (size_t)g->count);
  loom_dtype dtype;
  if (!bits || !rows_number(t, gather_leaf(g, 0, k), &dtype)) return LOOM_NO_VALUE;
  for (Py_ssize_t i = 0; i < g->count; i++) {
    const value *leaf = gather_leaf(g, i, k);
    if (!value_is_const(leaf)) return LOOM_NO_VALUE;
    bits[i] = gather_bits(leaf->object);
  }
  return loom_adapters()[0]->numbers(t, dtype, bits, g->count);
}

static bool gather_lend(tracer *t, gathered *g, value *lender) {
  if (!lender || lender->lender) return true;
  g->lenders = trace_more(t, g->lenders, g->lender_count, &g->lender_capacity, sizeof(value *));
  if (!g->lenders) return false;
  g->lenders[g->lender_count++] = lender;
  lender->lender = g->place;
  return true;
}

/* Rows one behind the other, by and by: a kernel takes only so many. */
static loom_value gather_join(tracer *t, loom_value *parts, Py_ssize_t count) {
  const loom_attr axis = {.kind = LOOM_ATTR_I64};
  while (count > 1) {
    Py_ssize_t joined = 0;
    for (Py_ssize_t i = 0; i < count; i += GATHER_JOIN) {
      Py_ssize_t n = count - i < GATHER_JOIN ? count - i : GATHER_JOIN;
      parts[joined] =
          n == 1 ? parts[i]
                 : trace_node(t, LOOM_OP_CONCATENATE, parts + i, (uint32_t)n, &axis, 1, NULL);
      if (parts[joined++] == LOOM_NO_VALUE) return LOOM_NO_VALUE;
    }
    count = joined;
  }
  return parts[0];
}

static loom_value gather_stack(tracer *t, gathered *g, uint32_t k) {
  loom_value stack = gather_numbers(t, g, k);
  if (stack != LOOM_NO_VALUE || trace_pending(t)) return stack;
  loom_value *parts = trace_alloc(t, sizeof *parts * (size_t)g->count);
  for (Py_ssize_t i = 0; parts && i < g->count; i++) {
    value *leaf = gather_leaf(g, i, k);
    const loom_adapter *owner = gather_owner(leaf);
    if (owner && !gather_lend(t, g, owner->lender(leaf))) return LOOM_NO_VALUE;
    parts[i] = rows_single(t, owner ? owner->read(t, leaf) : rows_node(t, leaf));
    if (parts[i] == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  }
  return parts ? gather_join(t, parts, g->count) : LOOM_NO_VALUE;
}

/* Lists, which may be changed: that of the items, and those among these. */
static bool gather_lend_lists(tracer *t, gathered *g, value *v, int depth) {
  if (!gather_is_container(v)) return true;
  if (value_is_list(v) && !gather_lend(t, g, v)) return false;
  for (Py_ssize_t i = 0; depth && i < v->seq.count; i++)
    if (!gather_lend_lists(t, g, v->seq.items[i], depth - 1)) return false;
  return true;
}

/* Can the stacks be made anywhere: without nodes? */
static bool gather_is_known(const value *item) {
  bool known = value_is_const(item);
  if (gather_is_container(item)) {
    known = true;
    for (Py_ssize_t i = 0; i < item->seq.count && known; i++)
      known = gather_is_known(item->seq.items[i]);
  }
  return known;
}

gathered *gather_make(tracer *t, uint16_t place, value *base, Py_ssize_t first, Py_ssize_t end) {
  gathered *g = trace_alloc(t, sizeof *g);
  value *leaves[GATHER_LEAVES], *all = value_tuple(t, base->seq.items + first, end - first);
  if (!g || !all || !place || gather_refuses(t, base, first, end)) return NULL;
  int count = gather_leaves(base->seq.items[first], leaves, GATHER_LEAVES);
  if (count < 1) return NULL;
  *g = (gathered){.place = place,
                  .of = all->seq.items,
                  .first = first,
                  .count = end - first,
                  .like = base->seq.items[first],
                  .leaves = (uint32_t)count};
  g->stacks = trace_alloc(t, sizeof *g->stacks * (size_t)count);
  if (!g->stacks || !gather_lend_lists(t, g, base, GATHER_DEPTH)) return NULL;
  for (uint32_t k = 0; k < g->leaves; k++)
    if ((g->stacks[k] = gather_stack(t, g, k)) == LOOM_NO_VALUE) return NULL;
  return g;
}

/* ---- items that are asked for by the index ---- */

struct gathered_list {
  struct gathered_list *next;
  value *base;
  gathered *rows;
};

static bool gather_all_known(const value *base) {
  for (Py_ssize_t i = 0; i < base->seq.count; i++)
    if (!gather_is_known(base->seq.items[i])) return false;
  return true;
}

/* The stacks of a whole list. `hidden`: they would be made in every iteration, unless they need no
 * nodes; then they are made in front of the loop the next time. */
static gathered *gather_whole(tracer *t, uint16_t place, value *base, bool hidden) {
  const Py_ssize_t count = base->seq.count;
  struct gathered_list *l = t->live.gathered;
  while (l &&
         (l->base != base || !gather_holds(l->rows, base, 0, count) || l->rows->place != place))
    l = l->next;
  if (l) return l->rows;
  if (gather_refuses(t, base, 0, count)) return NULL;
  if (hidden && !gather_all_known(base)) return loom_loops->lends_early(t, true), NULL;
  gathered *rows = gather_make(t, place, base, 0, count);
  if (!rows || !(l = trace_alloc(t, sizeof *l))) return NULL;
  *l = (struct gathered_list){t->live.gathered, base, rows};
  t->live.gathered = l;
  return rows;
}

value *gather_at(tracer *t, value *base, value *key) {
  const Py_ssize_t count = base->seq.count;
  bool whole = value_is_number(key) || (value_is_const(key) && PyLong_CheckExact(key->object));
  int64_t index;
  if (!whole || count <= loom_config.unroll_limit || !t->loops.rolls || tuple_class(base) ||
      !value_size_of(t, key, &index))
    return NULL;
  const bool looped = LOOM_STRIDE_IS_SYM(index) && size_is_looped(t, index);
  const uint16_t place = looped || loom_loops->lends_early(t, false) ? loom_loops->lends(t) : 0;
  if (!place || (LOOM_STRIDE_IS_SYM(index) && !looped)) return NULL;
  int below = size_less(t, index, 0);
  if (below > 0 && !size_op(t, LOOM_EXPR_ADD, index, count, &index)) return NULL;
  int within = below < 0 ? -1 : size_less(t, index, count), low = below > 0;
  if (within > 0 && low) low = size_less(t, index, 0);
  if (within <= 0 || low) return NULL;
  gathered *rows = gather_whole(t, place, base, looped);
  return rows ? gather_item(t, rows, index) : NULL;
}

void gather_leave(tracer *t, uint16_t place) {
  for (struct gathered_list *l = t->live.gathered; l; l = l->next)
    if (l->rows->place == place) gather_over(l->rows);
}

bool gather_holds(const gathered *g, const value *base, Py_ssize_t first, Py_ssize_t end) {
  return g && first >= g->first && end == g->first + g->count &&
         !memcmp(base->seq.items + first, g->of + (first - g->first),
                 sizeof *g->of * (size_t)(end - first));
}

void gather_over(gathered *g) {
  for (uint32_t i = 0; g && i < g->lender_count; i++)
    g->lenders[i]->lender = 0;
}

/* ---- lists that existed before ---- */

value *gather_live(tracer *t, PyObject *list, const source *s) {
  const roll_bans *bans = &t->kept->bans;
  Py_ssize_t count = PyList_GET_SIZE(list);
  if (bans->all || bans->apart_count == ROLL_APART || count <= loom_config.unroll_limit)
    return NULL;
  for (int i = 0; i < bans->apart_count; i++)
    if (bans->apart[i] == list) return NULL;
  loom_value stacks[ROWS_LEAVES];
  value *like = NULL, *all = value_list(t, NULL, 0), *block = value_new(t, &value_rows_type);
  rows *r = trace_alloc(t, sizeof *r);
  if (!all || !block || !r) return NULL;
  *r = (rows){.each = 1, .live = true};
  for (const loom_adapter *const *a = loom_adapters(); *a && !like; a++)
    if ((*a)->stack_live && !(*a)->stack_live(t, list, s, &like, stacks, ROWS_LEAVES, &r->count))
      like = NULL;
  value *items = like ? value_tuple(t, &like, 1) : NULL, *leaves[ROWS_LEAVES];
  if (!items || trace_pending(t)) return NULL;
  r->total = r->count;
  r->items = items->seq.items;
  r->leaves = (uint32_t)gather_leaves(like, leaves, ROWS_LEAVES);
  r->stacks = trace_alloc(t, sizeof stacks);
  if (!r->stacks) return NULL;
  memcpy(r->stacks, stacks, sizeof *stacks * r->leaves);
  block->any.a = r;
  if (!seq_append(t, all, block)) return NULL;
  all->type = &value_long_list_type;
  all->source = s;
  all->object = trace_keep(t, Py_NewRef(list));
  return all->object ? all : NULL;
}

bool gather_is_live(const value *v) {
  const value *block = list_is_long(v) ? v->seq.items[0] : NULL;
  return block && rows_of(block) && rows_of(block)->live;
}

void gather_apart(tracer *t, PyObject *list) {
  roll_bans *bans = &t->kept->bans;
  if (trace_pending(t)) return;
  t->state = TRACE_RESTART;
  if (bans->apart_count < ROLL_APART) bans->apart[bans->apart_count++] = list;
}

/* ---- items ---- */

static value *gather_new(tracer *t, uint16_t place, const loom_value *stacks, value *like,
                         int64_t row, uint32_t *leaf, lent_item *from) {
  value *v;
  if (!from) return NULL;
  if (gather_is_name(like)) {
    v = value_new(t, &value_lent_type);
  } else if (!gather_is_container(like)) {
    const loom_adapter *owner = gather_owner(like);
    loom_value node = rows_slice(t, stacks[(*leaf)++], row);
    if (node == LOOM_NO_VALUE) return NULL;
    v = owner ? owner->row_new(t, like, node) : value_new(t, &value_number_type);
    if (v && !owner) v->number.node = node;
  } else {
    v = value_tuple(t, like->seq.items, like->seq.count);
    if (v) v->type = like->type;
    for (Py_ssize_t i = 0; v && i < like->seq.count; i++)
      if (!(v->seq.items[i] =
                gather_new(t, place, stacks, like->seq.items[i], row, leaf, lent_part(t, from, i))))
        return NULL;
  }
  if (v) v->lent = place;
  if (v) v->from = from;
  return v;
}

value *gather_item(tracer *t, const gathered *g, int64_t index) {
  uint32_t leaf = 0;
  int64_t row;
  if (!size_op(t, LOOM_EXPR_ADD, index, -(int64_t)g->first, &row)) return NULL;
  return gather_new(t, g->place, g->stacks, g->like, row, &leaf, lent_new(t, g, NULL, index));
}

value *gather_real(const gathered *g, int64_t index) {
  bool known = !LOOM_STRIDE_IS_SYM(index) && index >= g->first && index < g->first + g->count;
  return known ? g->of[index - g->first] : NULL;
}

value *gather_row(tracer *t, uint16_t place, value *list, const rows *r, int64_t row,
                  int64_t index) {
  uint32_t leaf = 0;
  lent_item *from = lent_new(t, NULL, list, index);
  value *v = gather_new(t, place, r->stacks, r->items[0], row, &leaf, from);
  if (v && !list->lender) list->lender = place;
  return v;
}
