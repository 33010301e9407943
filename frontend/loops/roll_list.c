/* Lists that the body of a loop appends to.
 *
 * Code that never reads a list does not see how long it is. So of a list that exists when a loop
 * begins, only the items it had then are part of the loop's state. In the hidden iteration, a list
 * that has grown since is hidden (value_hidden_list_type in values/rows.c). The items that an
 * iteration appends go into stacks: loop-carried arrays of the graph, with one row an iteration.
 * The items that earlier, unrolled iterations have appended are the first rows. Behind the loop the
 * rows become items of the list again.
 *
 * An appended item has to be an object of its own that keeps its content. Three checks establish
 * that. Aliases of the last items are part of the state, the same before every iteration. The
 * iteration must not have changed any item that existed before it. What it appends must not be in a
 * list already. Items with aliases stay ordinary items behind the loop, so that `out[-1] is x` is
 * right. When a body reads the last items only (`out[-1]`), capture starts again with these items
 * as part of the state. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/loops/internal.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/live.h"
#include "frontend/values/numbers.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"
#include "loom_ops_shapes.h"

#include <string.h>

#define LIST_LEAVES ROWS_LEAVES       /* arrays and numbers that an iteration appends to one list */
#define LIST_BYTES ((int64_t)1 << 30) /* of a stack: it is there beside the items themselves */

roll_lists *roll_lists_new(tracer *t, const roll_ban_row *row) {
  roll_lists *l = trace_alloc(t, sizeof *l);
  if (l) l->visible = row ? row->visible : 0;
  return l;
}

/* ---- looking ---- */

/* The row of a list that the loop has found; NULL: it is another. */
static roll_list *list_find(const roll_lists *l, const value *v) {
  for (uint32_t i = 0; l && i < l->count; i++)
    if (l->all[i].v == v) return &l->all[i];
  return NULL;
}

static bool list_add(roll_walk *w, value *v) {
  roll_lists *l = w->lists;
  l->all = trace_more(w->t, l->all, l->count, &l->capacity, sizeof *l->all);
  if (!l->all) return roll_refuse(w, "memory"), false;
  l->all[l->count++] = (roll_list){.v = v, .base = v->seq.count};
  return true;
}

void roll_walk_list(roll_walk *w, value *v) {
  Py_ssize_t count = v->seq.count, known = count;
  roll_pointer(w, v->object);
  /* One of the caller's is come to when it has been appended to; others are made by the first
   * iterations. */
  bool live = v->source || shadow_is_pending(w->t, v) || w->scrub == LOOM_NO_VALUE;
  bool later = w->lists && w->lists->noted && !list_find(w->lists, v) && live;
  if (w->lists && (!w->lists->noted || later) && !list_add(w, v)) return;
  const roll_list *list = w->lists ? list_find(w->lists, v) : NULL;
  if (list && list->base < known) known = list->base;
  roll_token(w, (uint64_t)known);
  for (Py_ssize_t i = 0; i < known; i++)
    roll_value(w, &v->seq.items[i]);
  for (Py_ssize_t d = 1; list && d <= w->lists->visible && d <= count; d++)
    roll_value(w, &v->seq.items[count - d]);
}

static bool tail_known(roll_walk *w, const void *object) {
  uintptr_t known = object ? (uintptr_t)pointer_map_get(&w->seen, object) : 0;
  if (known) roll_token(w, known);
  return known != 0;
}

/* The same of a number, which is a slot's. Only so near to the end: a variable may hold the first
 * item all the time. What nobody has made here is told from what was, as the last item. */
static bool tail_number(roll_walk *w, const value *item, Py_ssize_t back) {
  uint32_t slot = back <= LIST_VISIBLE ? roll_object_slot(w, item) : 0;
  if (back == 1 && item->source) roll_pointer(w, item->source);
  if (!slot) return false;
  roll_token(w, (uint64_t)back << 32 | slot);
  return true;
}

/* Can this item, `back` from the end, or a part of it be come to in another way? From here on it
 * can. */
static bool tail_item(roll_walk *w, value *item, Py_ssize_t back) {
  const void *parts[3] = {item, NULL, NULL};
  bool other = false;
  bool list = value_is_list(item), whole = rows_is_container(item);
  if (list && (!whole || pointer_map_get(&w->seen, item))) {
    w->looped = true; /* as below: others may change it */
    return roll_pointer(w, item), false;
  }
  if (list && !trace_map_set(w->t, &w->seen, item, (void *)(uintptr_t)(w->seen.count + 1)))
    roll_refuse(w, "memory");
  if (whole) {
    parts[0] = list ? NULL : item;
    for (Py_ssize_t i = 0; i < item->seq.count; i++)
      other |= tail_item(w, item->seq.items[i], back);
  } else if (value_is_number(item) || value_is_const(item)) {
    w->looped |= number_is_size(item) && size_is_looped(w->t, item->number.size);
    return tail_number(w, item, back);
  } else if (rows_of(item)) {
    return roll_refuse(w, "a loop in it appends to a list"), false;
  } else if (!rows_at(item, parts + 1)) {
    w->looped = true; /* perhaps: it can be no row, and has to be the only one */
    return roll_pointer(w, item), false;
  }
  for (int i = 0; i < 3; i++)
    other |= tail_known(w, parts[i]);
  if (other) roll_token(w, (uint64_t)back);
  for (int i = 0; i < 3; i++)
    if (parts[i] && !pointer_map_get(&w->seen, parts[i]) &&
        !trace_map_set(w->t, &w->seen, parts[i], (void *)(uintptr_t)(w->seen.count + 1)))
      roll_refuse(w, "memory");
  return other;
}

void roll_walk_tails(roll_walk *w) {
  roll_lists *l = w->lists;
  if (!l || w->refused) return;
  l->noted = true;
  w->counts = trace_alloc(w->t, sizeof *w->counts * (l->count + 1u));
  w->list_count = w->counts ? l->count : 0;
  for (uint32_t i = 0; i < w->list_count; i++) {
    roll_list *list = &l->all[i];
    Py_ssize_t count = list->v->seq.count, tail = count - list->base;
    w->counts[i] = count;
    list->deep = tail > 0 && l->visible < tail ? l->visible : tail > 0 ? tail : 0;
    for (Py_ssize_t d = 1; d <= tail; d++)
      if (tail_item(w, list->v->seq.items[count - d], d)) list->deep = d;
  }
}

void roll_lists_grow(roll *r, const roll_walk *from, const roll_walk *to) {
  for (uint32_t i = 0; r->lists && i < r->lists->count; i++) {
    bool known = i < from->list_count && i < to->list_count;
    r->lists->all[i].each = known ? to->counts[i] - from->counts[i] : 0;
  }
}

/* ---- hiding ---- */

/* The arrays and numbers of a group that begins at item `at`; -1: it has others. */
static int list_leaves(tracer *t, const roll_list *list, Py_ssize_t at, value **leaves) {
  int count = 0;
  for (Py_ssize_t i = 0; i < list->each; i++) {
    int more = rows_leaves(t, list->v->seq.items[at + i], leaves + count, LIST_LEAVES - count);
    if (more < 0) return -1;
    count += more;
  }
  return count;
}

/* Has the loop made this number, for all that is known? */
static bool number_is_own(roll *r, const value *number) {
  if (!roll_object(number)) return true;
  uint32_t slot = roll_object_slot(r->before, number);
  return !number->source && (!slot || r->carried[slot - 1]);
}

/* Are all numbers in a group objects of the loop's own, for all that is known? */
static bool list_is_own(tracer *t, roll *r, const roll_list *list, Py_ssize_t at) {
  value *leaves[LIST_LEAVES];
  int count = list_leaves(t, list, at, leaves);
  for (int n = 0; n < count; n++)
    if (!number_is_own(r, leaves[n])) return false;
  return count >= 0;
}

static bool list_alike(tracer *t, const roll_list *list, Py_ssize_t at) {
  for (Py_ssize_t i = 0; i < list->each; i++)
    if (!rows_like(t, list->rows->items[i], list->v->seq.items[at + i])) return false;
  return true;
}

/* May the group of items before the first row become a row, too? */
static bool list_fits(tracer *t, roll *r, const roll_list *list) {
  return list_is_own(t, r, list, list->first - list->each);
}

/* The groups in front of the last one that are like it become rows, too. */
static int64_t list_absorb(tracer *t, roll *r, roll_list *list) {
  value *leaves[LIST_LEAVES];
  int64_t groups = 1;
  list->first = list->start - list->each;
  while (list->first - list->each >= list->base &&
         list_leaves(t, list, list->first - list->each, leaves) == (int)list->rows->leaves &&
         list_alike(t, list, list->first - list->each) && list_fits(t, r, list)) {
    list->first -= list->each;
    groups++;
  }
  return groups;
}

static bool list_is_large(tracer *t, const loom_type *type) {
  __int128 bytes = (__int128)loom_dtype_size(type->dtype);
  for (int i = 0; i < type->rank; i++)
    bytes *= size_hint(t, loom_stride_of_dim(type->dims[i]));
  return bytes > LIST_BYTES;
}

/* A stack with the k-th array or number of the groups so far. */
static loom_value list_stack_begin(tracer *t, const roll_list *list, uint32_t k, int64_t groups) {
  value *leaves[LIST_LEAVES];
  loom_type type;
  const loom_attr zero = {.kind = LOOM_ATTR_SCALAR};
  if (list_leaves(t, list, list->first, leaves) <= (int)k ||
      !rows_stack_type(t, leaves[k], list->rows->total, &type) || list_is_large(t, &type))
    return LOOM_NO_VALUE;
  loom_value stack = trace_node(t, LOOM_OP_CONSTANT, NULL, 0, &zero, 1, &type);
  for (int64_t g = 0; g < groups && stack != LOOM_NO_VALUE; g++) {
    if (list_leaves(t, list, list->first + g * list->each, leaves) < 0) return LOOM_NO_VALUE;
    stack = rows_put(t, stack, rows_node(t, leaves[k]), g);
  }
  return stack;
}

static bool list_begin(tracer *t, roll *r, roll_list *list) {
  value *leaves[LIST_LEAVES];
  rows *made = list->rows = trace_alloc(t, sizeof *made);
  value *items =
      made ? value_tuple(t, list->v->seq.items + list->start - list->each, list->each) : NULL;
  int count = items ? list_leaves(t, list, list->start - list->each, leaves) : -1;
  if (count < 0) return false;
  *made = (rows){.each = list->each, .items = items->seq.items, .leaves = (uint32_t)count};
  made->stacks = trace_alloc(t, sizeof *made->stacks * (size_t)(count + 1));
  made->outputs = trace_alloc(t, sizeof *made->outputs * (size_t)(count + 1));
  list->inits = trace_alloc(t, sizeof *list->inits * (size_t)(count + 1));
  list->before = trace_alloc(t, sizeof *list->before * (size_t)(count + 1));
  made->fixed = trace_alloc(t, sizeof *made->fixed * (size_t)(count + 1));
  list->leaves = trace_alloc(t, sizeof leaves);
  if (!made->stacks || !made->outputs || !list->inits || !list->before || !made->fixed ||
      !list->leaves)
    return false;
  memcpy(list->leaves, leaves, sizeof leaves);
  int64_t groups = list_absorb(t, r, list);
  if (!size_op(t, LOOM_EXPR_ADD, r->count, groups, &made->total)) return false;
  for (uint32_t k = 0; k < made->leaves; k++) {
    made->outputs[k] = -1;
    list->inits[k] = list_stack_begin(t, list, k, groups);
    list->before[k] = roll_copy(t, list->inits[k]);
    if (list->before[k] == LOOM_NO_VALUE) return false;
  }
  return true;
}

bool roll_lists_hide(tracer *t, roll *r) {
  roll_lists *l = r->lists;
  for (uint32_t i = 0; l && i < l->count; i++) {
    roll_list *list = &l->all[i];
    list->start = list->first = list->v->seq.count;
    list->rows = NULL;
    if (list->start <= list->base) continue;
    l->why = r->tested ? "it appends to a list, and nobody knows how often"
                       : "it appends what cannot be a row of an array";
    bool good = !r->tested && list->each >= 0 && list->each <= list->start - list->base;
    if (!good || (list->each && !list_begin(t, r, list))) return false;
    l->why = NULL;
  }
  for (uint32_t i = 0; l && i < l->count; i++) {
    roll_list *list = &l->all[i];
    if (list->start <= list->base) continue;
    list->type = list->v->type;
    list->v->type = &value_hidden_list_type;
  }
  return true;
}

/* Numbers that a slot holds, too, are what that holds in the hidden iteration. */
static void note_numbers(roll *r, value **holder) {
  value *item = *holder;
  if (rows_is_container(item))
    for (Py_ssize_t i = 0; i < item->seq.count; i++)
      note_numbers(r, &item->seq.items[i]);
  uint32_t slot = roll_object(item) ? roll_object_slot(r->before, item) : 0;
  if (slot && r->carried[slot - 1]) *holder = r->before->slots[slot - 1].hidden;
}

bool roll_lists_note(tracer *t, roll *r) {
  roll_lists *l = r->lists;
  for (uint32_t i = 0; l && i < l->count; i++) {
    const roll_list *list = &l->all[i];
    for (Py_ssize_t k = list->start - list->deep; list->type && k < list->start; k++)
      note_numbers(r, &list->v->seq.items[k]);
  }
  if (l) l->content_count = 0;
  for (uint32_t i = 0; l && i < l->count; i++) {
    const roll_list *list = &l->all[i];
    for (Py_ssize_t k = list->base; list->type && k < list->start; k++) {
      value *leaves[LIST_LEAVES];
      const void *parts[2];
      int count = rows_leaves(t, list->v->seq.items[k], leaves, LIST_LEAVES);
      for (int n = 0; n < count; n++) {
        loom_value *at = rows_at(leaves[n], parts);
        if (!at) continue;
        l->contents =
            trace_more(t, l->contents, l->content_count, &l->content_capacity, sizeof *l->contents);
        if (!l->contents) return false;
        l->contents[l->content_count++] = (roll_content){at, *at};
      }
    }
  }
  return true;
}

static bool list_has_rows(const value *v) {
  for (Py_ssize_t i = 0; i < v->seq.count; i++)
    if (rows_of(v->seq.items[i])) return true;
  return false;
}

void roll_lists_show(roll *r) {
  for (uint32_t i = 0; r->lists && i < r->lists->count; i++) {
    roll_list *list = &r->lists->all[i];
    if (!list->type) continue;
    bool plain = list->type->kinds & VALUE_IS_SEQUENCE && list_has_rows(list->v);
    list->v->type = plain ? &value_long_list_type : list->type;
    list->type = NULL;
  }
}

/* ---- reading ---- */

Py_ssize_t roll_list_visible(tracer *t, const value *v) {
  Py_ssize_t least = v->seq.count;
  for (const roll *r = t->loops.rolls; r; r = r->next) {
    const roll_list *list = r->stage == ROLL_HIDDEN ? list_find(r->lists, v) : NULL;
    if (!list || !list->type) continue;
    Py_ssize_t now = v->seq.count - list->start + r->lists->visible;
    if (now < least) least = now;
  }
  return least;
}

void roll_reads_list(tracer *t, value *v, Py_ssize_t from_end) {
  for (const roll *r = t->loops.rolls; r; r = r->next) {
    const roll_list *list = r->stage == ROLL_HIDDEN ? list_find(r->lists, v) : NULL;
    if (!list || !list->type || trace_pending(t)) continue;
    Py_ssize_t needed = from_end - (v->seq.count - list->start);
    roll_ban_row *row = roll_learn(t, r->frame->code->object, r->pc);
    if (row && needed > row->visible && needed <= LIST_VISIBLE)
      row->visible = (int)needed;
    else if (row)
      row->reads = true;
  }
  if (!trace_pending(t)) trace_break(t, BREAK_LIMIT, "a list that a loop appends to is read");
}

/* ---- behind the hidden iteration ---- */

/* Are the tuples and lists in an item of this iteration? */
static bool list_is_made(const roll *r, const value *item) {
  if (!rows_is_container(item)) return true;
  bool made = !pointer_map_get(&r->before->seen, item);
  for (Py_ssize_t i = 0; made && i < item->seq.count; i++)
    made = list_is_made(r, item->seq.items[i]);
  return made;
}

/* Is leaf k the same object in all groups that are rows? */
static bool list_is_fixed(tracer *t, const roll_list *list, uint32_t k) {
  value *leaves[LIST_LEAVES];
  for (Py_ssize_t at = list->first; at < list->start; at += list->each)
    if (list_leaves(t, list, at, leaves) <= (int)k ||
        roll_object(leaves[k]) != roll_object(list->leaves[k]))
      return false;
  return true;
}

/* A number that was carried into the iteration and is appended there: what is carried into the next
 * one has to be another. */
static bool list_carries(const roll *r, const roll_walk *now, const value *number,
                         pointer_map *appended) {
  for (uint32_t i = 0; i < r->before->slot_count; i++) {
    const roll_slot *slot = &r->before->slots[i];
    if (!slot->holder || !r->carried[i] || slot->hidden != number) continue;
    const value *next = now->slots[i].held;
    const void *object = roll_object(next);
    if (!object || next->lent) continue; /* the next row is refused, or nothing to tell apart */
    if (next->source || pointer_map_get(appended, object)) return false;
    for (uint32_t j = 0; j < r->before->slot_count; j++) {
      const roll_slot *held = &r->before->slots[j];
      if (!held->holder) continue;
      if (next == (r->carried[j] ? held->hidden : held->held)) return false;
      if (j == i || !r->carried[j] || !pointer_map_get(appended, held->hidden)) continue;
      if (held->held == slot->held || now->slots[j].held == next) return false;
    }
  }
  return true;
}

/* Is a number that has been appended an object of its own in every row, or the same in all? */
static bool list_number_is_new(tracer *t, roll *r, roll_list *list, uint32_t k, value *number,
                               pointer_map *appended) {
  const void *object = roll_object(number);
  if (number->lent) return false;
  if (!object) return true;
  if (object == roll_object(list->leaves[k])) {
    list->rows->fixed[k] = number;
    return list_is_fixed(t, list, k);
  }
  return number_is_own(r, number) && number_is_own(r, list->leaves[k]) &&
         !pointer_map_get(appended, object) && trace_map_set(t, appended, object, (void *)number);
}

/* Has nobody else what has been appended: no list, and not twice? */
static bool list_is_new(tracer *t, roll *r, value *item) {
  roll_lists *l = r->lists;
  value *leaves[LIST_LEAVES];
  const void *parts[2];
  if (!list_is_made(r, item)) return false;
  int count = rows_leaves(t, item, leaves, LIST_LEAVES);
  for (int n = 0; n < count; n++) {
    loom_value *at = rows_at(leaves[n], parts);
    for (uint32_t c = 0; at && c < l->content_count; c++)
      if (l->contents[c].at == at) return false;
    if (!at) continue;
    l->contents =
        trace_more(t, l->contents, l->content_count, &l->content_capacity, sizeof *l->contents);
    if (!l->contents) return false;
    l->contents[l->content_count++] = (roll_content){at, *at};
  }
  return count >= 0;
}

static bool lists_numbers_hold(tracer *t, roll *r, const roll_walk *now) {
  roll_lists *l = r->lists;
  value *leaves[LIST_LEAVES];
  const void *parts[2];
  pointer_map appended = {0};
  for (int carried = 0; carried < 2; carried++)
    for (uint32_t i = 0; l && i < l->count; i++) {
      roll_list *list = &l->all[i];
      int count = list->rows ? list_leaves(t, list, list->start, leaves) : 0;
      for (int k = 0; k < count; k++) {
        if (rows_at(leaves[k], parts)) continue;
        if (carried ? !list_carries(r, now, leaves[k], &appended)
                    : !list_number_is_new(t, r, list, (uint32_t)k, leaves[k], &appended))
          return false;
      }
    }
  return true;
}

bool roll_lists_hold(tracer *t, roll *r, const roll_walk *now) {
  roll_lists *l = r->lists;
  if (l && (now->list_count != l->count || r->before->list_count != l->count)) return false;
  for (uint32_t i = 0; l && i < l->count; i++) {
    roll_list *list = &l->all[i];
    Py_ssize_t each = now->counts[i] - r->before->counts[i];
    if (each != (list->rows ? list->each : 0)) return false;
    if (list->rows && !list_alike(t, list, list->start)) return false;
  }
  for (uint32_t c = 0; l && c < l->content_count; c++)
    if (*l->contents[c].at != l->contents[c].node) return false;
  for (uint32_t i = 0; l && i < l->count; i++)
    for (Py_ssize_t k = 0; l->all[i].rows && k < l->all[i].each; k++)
      if (!list_is_new(t, r, l->all[i].v->seq.items[l->all[i].start + k])) return false;
  return lists_numbers_hold(t, r, now);
}

uint32_t roll_lists_stacks(const roll *r) {
  uint32_t count = 0;
  for (uint32_t i = 0; r->lists && i < r->lists->count; i++)
    count += r->lists->all[i].rows ? r->lists->all[i].rows->leaves : 0;
  return count;
}

bool roll_lists_close(tracer *t, roll *r, loom_value *inits, loom_value *before,
                      loom_value *after) {
  uint32_t n = 0;
  for (uint32_t i = 0; r->lists && i < r->lists->count; i++) {
    const roll_list *list = &r->lists->all[i];
    value *leaves[LIST_LEAVES];
    int64_t at;
    if (!list->rows) continue;
    if (list_leaves(t, list, list->start, leaves) != (int)list->rows->leaves ||
        !size_op(t, LOOM_EXPR_ADD, r->symbol, (list->start - list->first) / list->each, &at))
      return false;
    for (uint32_t k = 0; k < list->rows->leaves; k++, n++) {
      inits[n] = list->inits[k];
      before[n] = list->before[k];
      after[n] = rows_put(t, before[n], rows_node(t, leaves[k]), at);
      if (after[n] == LOOM_NO_VALUE) return false;
    }
  }
  return true;
}

/* ---- behind the loop ---- */

static bool leave_is_slot(const roll_walk *now, const loom_value *at, value **holder) {
  for (uint32_t i = 0; i < now->slot_count; i++)
    if ((at && now->slots[i].at == at) || (!at && now->slots[i].holder == holder)) return true;
  return false;
}

/* An item of the list that stays an ordinary value becomes row `row` of the stacks. *holder is the
 * place that holds the item. */
static bool leave_item(tracer *t, roll_walk *now, const rows *r, value **holder, int64_t row,
                       uint32_t *leaf) {
  const void *parts[2];
  value *item = *holder;
  if (rows_is_container(item)) {
    for (Py_ssize_t i = 0; i < item->seq.count; i++)
      if (!leave_item(t, now, r, &item->seq.items[i], row, leaf)) return false;
    return true;
  }
  value *fixed = r->fixed ? r->fixed[*leaf] : NULL;
  loom_value *at = rows_at(item, parts), stack = r->stacks[(*leaf)++];
  if (leave_is_slot(now, at, holder)) return true;
  uint32_t slot = at || !roll_object(item) ? 0 : roll_object_slot(now, item);
  if (fixed || slot) return *holder = fixed ? fixed : *now->slots[slot - 1].holder, true;
  loom_value node = rows_slice(t, stack, row);
  if (node == LOOM_NO_VALUE) return false;
  if (at)
    *at = node;
  else
    *holder = rows_leaf_new(t, item, node);
  return *holder != NULL;
}

/* The last `groups` groups stay ordinary items; the others become a block. */
static bool leave_list(tracer *t, roll_walk *now, roll_list *list, int64_t groups) {
  rows *r = list->rows;
  Py_ssize_t kept = (Py_ssize_t)groups * list->each, at = list->v->seq.count - kept;
  value *block = value_new(t, &value_rows_type), *all = value_list(t, list->v->seq.items, at);
  int64_t row;
  if (!block || !all || !size_minus(t, r->total, groups, &r->count)) return false;
  for (int64_t g = 0; g < groups; g++) {
    uint32_t leaf = 0;
    if (!size_op(t, LOOM_EXPR_ADD, r->count, g, &row)) return false;
    for (Py_ssize_t i = 0; i < list->each; i++)
      if (!leave_item(t, now, r, &list->v->seq.items[at + g * list->each + i], row, &leaf))
        return false;
  }
  r->ends = list->v->seq.items + at;
  r->end_count = kept;
  r->contents = trace_alloc(t, sizeof *r->contents * ROWS_LEAVES * (size_t)(kept + 1));
  if (!r->contents) return false;
  for (Py_ssize_t i = 0; i < kept && list->each == 1; i++) {
    value *leaves[ROWS_LEAVES];
    int count = rows_leaves(t, r->ends[i], leaves, ROWS_LEAVES);
    for (int k = 0; k < ROWS_LEAVES; k++)
      r->contents[i * ROWS_LEAVES + k] = k < count ? rows_node(t, leaves[k]) : LOOM_NO_VALUE;
  }
  block->any.a = r;
  all->seq.count = list->first;
  if (r->count != 0 && !seq_append(t, all, block)) return false;
  for (Py_ssize_t i = 0; i < kept; i++)
    if (!seq_append(t, all, r->ends[i])) return false;
  list->v->seq = all->seq;
  if (value_is_list(list->v) && r->count != 0) list->v->type = &value_long_list_type;
  return true;
}

bool roll_lists_leave(tracer *t, roll *r, roll_walk *now, const loom_value *results) {
  for (uint32_t i = 0; r->lists && i < r->lists->count; i++) {
    roll_list *list = &r->lists->all[i];
    if (!list->rows) continue;
    for (uint32_t k = 0; k < list->rows->leaves; k++)
      list->rows->stacks[k] = *results++;
    int64_t groups = (list->deep + list->each - 1) / list->each;
    int enough = groups ? size_less(t, groups - 1, r->count) : 1;
    if (enough < 0) return false;
    if (!enough || list->v->seq.count - groups * list->each < list->first) {
      roll_restart(t, r, ROLL_NEVER, 1);
      return false;
    }
    if (!leave_list(t, now, list, groups)) return false;
  }
  return true;
}
