/* Lists that a loop captured once has appended to (roll_list.c).
 *
 * Capture does not make 100,000 items one by one. They are rows of arrays of the graph, and become
 * objects only when the run is over, each an array that owns its memory. Behind the loop such a
 * list is a long list: its items are ordinary ones and blocks of rows. One item, the length, or all
 * items as one array can be read without making the items. Any other use makes an ordinary list of
 * it, if it is short, or breaks. In the hidden iteration the list is hidden: it accepts items, and
 * when it is read, the loop is captured in another way. */
#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/rolled.h"
#include "frontend/values/rolled_internal.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"
#include "loom_ops_elements.h"
#include "loom_ops_shapes.h"

#define ROWS_DEPTH 8      /* of tuples and lists in an item */
#define ROWS_ORDINARY 200 /* items of a long list that is made an ordinary one */

/* ---- items ---- */

/* NULL: a Python number. */
static const loom_adapter *rows_owner(const value *leaf) {
  for (const loom_adapter *const *a = loom_adapters(); *a; a++)
    if ((*a)->row_at && (*a)->row_at((value *)leaf, NULL)) return *a;
  return NULL;
}

loom_value *rows_at(value *leaf, const void *parts[2]) {
  parts[0] = parts[1] = NULL;
  for (const loom_adapter *const *a = loom_adapters(); *a; a++) {
    loom_value *at = (*a)->row_at ? (*a)->row_at(leaf, parts) : NULL;
    if (at) return at;
  }
  return NULL;
}

/* The type of a Python number as data; false: it is none, or too large. */
bool rows_number(tracer *t, value *v, loom_dtype *out) {
  PyObject *type = value_is_number(v)  ? value_type_of(t, v)
                   : value_is_const(v) ? (PyObject *)Py_TYPE(v->object)
                                       : NULL;
  int overflow = 0;
  if (type == (PyObject *)&PyLong_Type && value_is_const(v))
    PyLong_AsLongLongAndOverflow(v->object, &overflow);
  *out = type == (PyObject *)&PyFloat_Type  ? LOOM_F64
         : type == (PyObject *)&PyBool_Type ? LOOM_BOOL
                                            : LOOM_I64;
  return !overflow && (type == (PyObject *)&PyFloat_Type || type == (PyObject *)&PyBool_Type ||
                       type == (PyObject *)&PyLong_Type);
}

bool rows_is_container(const value *item) {
  return (tuple_is_plain(item) || value_is_list(item)) && !item->source && !item->object;
}

static int leaves_of(tracer *t, value *item, value **leaves, int room, int depth) {
  loom_dtype dtype;
  if (rows_is_container(item)) {
    int count = 0;
    for (Py_ssize_t i = 0; i < item->seq.count && count >= 0; i++) {
      value *part = item->seq.items[i];
      int more = depth ? leaves_of(t, part, leaves + count, room - count, depth - 1) : -1;
      count = more < 0 ? -1 : count + more;
    }
    return count;
  }
  if (room < 1 || (!rows_owner(item) && !rows_number(t, item, &dtype))) return -1;
  leaves[0] = item;
  return 1;
}

int rows_leaves(tracer *t, value *item, value **leaves, int room) {
  return leaves_of(t, item, leaves, room, ROWS_DEPTH);
}

loom_value rows_node(tracer *t, value *leaf) {
  const void *parts[2];
  loom_value *at = rows_at(leaf, parts);
  if (at) return *at;
  if (value_is_number(leaf))
    return number_is_size(leaf) ? size_node(t, leaf->number.size) : number_node(t, leaf);
  loom_attr attr = {.kind = LOOM_ATTR_SCALAR};
  loom_type type = {0};
  if (!rows_number(t, leaf, &type.dtype)) return LOOM_NO_VALUE;
  double number = type.dtype == LOOM_F64 ? PyFloat_AS_DOUBLE(leaf->object) : 0;
  if (type.dtype == LOOM_F64)
    memcpy(&attr.bits, &number, sizeof number);
  else
    attr.bits = (uint64_t)PyLong_AsLongLong(leaf->object);
  return trace_node(t, LOOM_OP_CONSTANT, NULL, 0, &attr, 1, &type);
}

bool rows_like(tracer *t, value *a, value *b) {
  loom_dtype one, other;
  if (rows_is_container(a) || rows_is_container(b)) {
    bool like = a->type == b->type && rows_is_container(a) && rows_is_container(b) &&
                a->seq.count == b->seq.count;
    for (Py_ssize_t i = 0; like && i < a->seq.count; i++)
      like = rows_like(t, a->seq.items[i], b->seq.items[i]);
    return like;
  }
  const loom_adapter *owner = rows_owner(a);
  if (owner != rows_owner(b)) return false;
  if (owner) return owner->row_like(a, b);
  return rows_number(t, a, &one) && rows_number(t, b, &other) && one == other;
}

value *rows_leaf_new(tracer *t, value *like, loom_value node) {
  const loom_adapter *owner = rows_owner(like);
  if (node == LOOM_NO_VALUE) return NULL;
  if (owner) return owner->row_new(t, like, node);
  value *number = value_new(t, &value_number_type);
  if (number) number->number.node = node;
  return number;
}

/* ---- stacks ---- */

bool rows_stack_type(tracer *t, value *leaf, int64_t count, loom_type *out) {
  const loom_adapter *owner = rows_owner(leaf);
  *out = (loom_type){.rank = 1};
  if (owner) return owner->row_fits(t, leaf, out, count);
  return rows_number(t, leaf, &out->dtype) && size_admit(t, count, &out->dims[0]);
}

static loom_value rows_stack_slice(tracer *t, loom_value stack, int64_t from, int64_t count) {
  if (stack == LOOM_NO_VALUE) return stack;
  loom_type type = *loom_graph_type(trace_graph(t), stack);
  int64_t starts[LOOM_MAX_RANK] = {from}, sizes[LOOM_MAX_RANK], steps[LOOM_MAX_RANK];
  if (!size_admit(t, count, &type.dims[0])) return LOOM_NO_VALUE;
  for (int i = 0; i < type.rank; i++) {
    sizes[i] = i ? loom_stride_of_dim(type.dims[i]) : count;
    steps[i] = 1;
  }
  loom_attr attrs[3] = {{.kind = LOOM_ATTR_I64S, .count = type.rank, .ints = starts},
                        {.kind = LOOM_ATTR_I64S, .count = type.rank, .ints = sizes},
                        {.kind = LOOM_ATTR_I64S, .count = type.rank, .ints = steps}};
  return trace_node(t, LOOM_OP_SLICE, &stack, 1, attrs, 3, &type);
}

static loom_value rows_reshape(tracer *t, loom_value v, const loom_type *type) {
  return v == LOOM_NO_VALUE ? v : trace_node(t, LOOM_OP_RESHAPE, &v, 1, NULL, 0, type);
}

loom_value rows_slice(tracer *t, loom_value stack, int64_t i) {
  loom_value part = rows_stack_slice(t, stack, i, 1);
  if (part == LOOM_NO_VALUE) return part;
  loom_type from = *loom_graph_type(trace_graph(t), part);
  loom_type type = {.dtype = from.dtype, .rank = from.rank - 1};
  memcpy(type.dims, from.dims + 1, sizeof *type.dims * (size_t)type.rank);
  return rows_reshape(t, part, &type);
}

/* One row as a stack of it. */
loom_value rows_single(tracer *t, loom_value row) {
  if (row == LOOM_NO_VALUE) return row;
  loom_type from = *loom_graph_type(trace_graph(t), row);
  loom_type type = {.dtype = from.dtype, .rank = from.rank + 1, .dims = {1}};
  memcpy(type.dims + 1, from.dims, sizeof *type.dims * (size_t)from.rank);
  return rows_reshape(t, row, &type);
}

loom_value rows_put(tracer *t, loom_value stack, loom_value row, int64_t i) {
  loom_value part = rows_single(t, row);
  if (part == LOOM_NO_VALUE || stack == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  int64_t starts[LOOM_MAX_RANK] = {i}, steps[LOOM_MAX_RANK];
  int32_t rank = loom_graph_type(trace_graph(t), stack)->rank;
  for (int k = 0; k < rank; k++)
    steps[k] = 1;
  loom_attr attrs[2] = {{.kind = LOOM_ATTR_I64S, .count = rank, .ints = starts},
                        {.kind = LOOM_ATTR_I64S, .count = rank, .ints = steps}};
  return trace_node(t, LOOM_OP_UPDATE_SLICE, (loom_value[]){stack, part}, 2, attrs, 2, NULL);
}

/* ---- one group as ordinary items ---- */

static value *rows_item(tracer *t, const rows *r, value *like, int64_t row, uint32_t *leaf) {
  if (!rows_is_container(like)) {
    const uint32_t k = (*leaf)++;
    if (r->fixed && r->fixed[k]) return r->fixed[k];
    return rows_leaf_new(t, like, rows_slice(t, r->stacks[k], row));
  }
  value *v = value_tuple(t, like->seq.items, like->seq.count);
  if (v) v->type = like->type;
  for (Py_ssize_t i = 0; v && i < like->seq.count; i++)
    if (!(v->seq.items[i] = rows_item(t, r, like->seq.items[i], row, leaf))) return NULL;
  return v;
}

static bool rows_group(tracer *t, const rows *r, int64_t group, value *into) {
  int64_t row;
  uint32_t leaf = 0;
  if (!size_op(t, LOOM_EXPR_ADD, r->from, group, &row)) return false;
  for (Py_ssize_t i = 0; i < r->each; i++) {
    value *item = rows_item(t, r, r->items[i], row, &leaf);
    if (!item || !seq_append(t, into, item)) return false;
  }
  return true;
}

/* A block of some of the groups, unless there are surely none. */
static bool rows_part(tracer *t, const rows *r, int64_t first, int64_t count, value *into) {
  if (count == 0) return true;
  value *v = value_new(t, &value_rows_type);
  rows *part = v ? trace_alloc(t, sizeof *part) : NULL;
  if (!part) return false;
  *part = *r;
  part->end_count = -1;
  part->count = count;
  v->any.a = part;
  return size_op(t, LOOM_EXPR_ADD, r->from, first, &part->from) && seq_append(t, into, v);
}

/* Group `group` of the block at `at` becomes ordinary items. */
static bool rows_split(tracer *t, value *v, Py_ssize_t at, int64_t group) {
  const rows *r = rows_of(v->seq.items[at]);
  value *parts = value_list(t, v->seq.items, at);
  int64_t behind, after;
  if (!parts || !size_minus(t, r->count, group, &behind) || !size_minus(t, behind, 1, &behind) ||
      !size_op(t, LOOM_EXPR_ADD, group, 1, &after) || !rows_part(t, r, 0, group, parts) ||
      !rows_group(t, r, group, parts) || !rows_part(t, r, after, behind, parts))
    return false;
  for (Py_ssize_t i = at + 1; i < v->seq.count; i++)
    if (!seq_append(t, parts, v->seq.items[i])) return false;
  v->seq = parts->seq;
  return true;
}

bool list_settle(tracer *t, value *v) {
  int64_t total = 0;
  if (list_is_hidden(v)) return loom_loops->reads_list(t, v, v->seq.count), false;
  if (!list_is_long(v)) return true;
  if (gather_is_live(v)) return gather_apart(t, v->object), false;
  for (Py_ssize_t i = 0; i < v->seq.count && total >= 0; i++) {
    const rows *r = rows_of(v->seq.items[i]);
    bool many = r && (LOOM_STRIDE_IS_SYM(r->count) || r->count > ROWS_ORDINARY);
    total = many || total > ROWS_ORDINARY ? -1 : total + (r ? r->count * r->each : 1);
  }
  if (total < 0) {
    trace_break(t, BREAK_LIMIT, "the items of a list that a loop has appended to");
    return false;
  }
  value *all = value_list(t, NULL, 0);
  for (Py_ssize_t i = 0; all && i < v->seq.count; i++) {
    const rows *r = rows_of(v->seq.items[i]);
    if (!r && !seq_append(t, all, v->seq.items[i])) return false;
    for (int64_t k = 0; r && k < r->count; k++)
      if (!rows_group(t, r, k, all)) return false;
  }
  if (!all) return false;
  v->seq = all->seq;
  v->type = &value_list_type;
  return true;
}

/* ---- what is answered without ---- */

bool long_count(tracer *t, value *v, int64_t *out) {
  int64_t more;
  *out = 0;
  for (Py_ssize_t i = 0; i < v->seq.count; i++) {
    const rows *r = rows_of(v->seq.items[i]);
    more = 1;
    if ((r && !size_op(t, LOOM_EXPR_MUL, r->count, r->each, &more)) ||
        !size_op(t, LOOM_EXPR_ADD, *out, more, out))
      return false;
  }
  return true;
}

static value *long_length(tracer *t, value *v) {
  int64_t total;
  return long_count(t, v, &total) ? value_size(t, total) : NULL;
}

/* Item `index` from the front, or (negative) from the back, made an ordinary one: its place, or -1,
 * perhaps with something pending. */
static Py_ssize_t long_find(tracer *t, value *v, int64_t index) {
  bool back = index < 0;
  int64_t left = back ? -1 - index : index, group;
  for (Py_ssize_t k = 0; k < v->seq.count; k++) {
    Py_ssize_t at = back ? v->seq.count - 1 - k : k;
    const rows *r = rows_of(v->seq.items[at]);
    if (!r && left-- == 0) return at;
    if (!r) continue;
    group = left / r->each;
    int within = size_less(t, group, r->count);
    if (within < 0) return -1;
    if (!within) {
      if (LOOM_STRIDE_IS_SYM(r->count)) return -1;
      left -= r->count * r->each;
      continue;
    }
    if (back && (!size_minus(t, r->count, group, &group) || !size_minus(t, group, 1, &group)))
      return -1;
    return rows_split(t, v, at, group) ? long_find(t, v, index) : -1;
  }
  return -1;
}

/* In a loop that may be captured once, an item that lies in the rows is lent. */
static value *long_lent(tracer *t, value *v, value *key) {
  uint16_t place = loom_loops->lends(t);
  Py_ssize_t prefix;
  int64_t index, count;
  if (!place || !long_direct(t, v, &prefix) || !value_size_of(t, key, &index) ||
      !long_count(t, v, &count))
    return NULL;
  int below = size_less(t, index, 0);
  if (below > 0 && !size_op(t, LOOM_EXPR_ADD, index, count, &index)) return NULL;
  int within = below < 0 ? -1 : size_less(t, index, count), low = below > 0;
  if (within > 0 && low) low = size_less(t, index, 0);
  return within > 0 && !low ? long_item(t, place, v, index) : NULL;
}

/* An item of a list that existed before is the object itself. */
static value *long_live(tracer *t, value *v, int64_t index) {
  int64_t count;
  if (!long_count(t, v, &count)) return NULL;
  if (LOOM_STRIDE_IS_SYM(count)) return size_know(t, count), NULL;
  if (index < 0) index += count;
  if (index < 0 || index >= count)
    return trace_raise(t, PyExc_IndexError, "list index out of range");
  PyObject *key = trace_keep(t, PyLong_FromLongLong(index));
  const source *s = key ? trace_source(t, SOURCE_ITEM, v->source, NULL, key, 0) : NULL;
  return s ? value_wrap(t, PyList_GET_ITEM(v->object, index), s) : NULL;
}

value *long_single(tracer *t, value *v, int64_t index) {
  if (gather_is_live(v)) return long_live(t, v, index);
  Py_ssize_t at = long_find(t, v, index);
  return at < 0 ? NULL : v->seq.items[at];
}

static value *long_get_item(tracer *t, value *v, value *key) {
  int64_t index;
  value *lent = value_is_slice(key) ? NULL : long_lent(t, v, key);
  if (lent || trace_pending(t)) return lent;
  bool single = !value_is_slice(key) && value_known_int(t, key, &index);
  value *found = single ? long_single(t, v, index) : NULL;
  if (found || (single && gather_is_live(v))) return found;
  return !trace_pending(t) && list_settle(t, v) ? trace_get_item(t, v, key) : NULL;
}

/* The items behind the block at `at` are its last rows, as they were there. */
static bool rows_ends(tracer *t, const value *v, Py_ssize_t at, const rows *r) {
  int64_t count;
  if (r->end_count != v->seq.count - at - 1) return false;
  for (Py_ssize_t i = 0; i < r->end_count; i++) {
    value *leaves[ROWS_LEAVES];
    if (v->seq.items[at + 1 + i] != r->ends[i]) return false;
    int each = rows_leaves(t, r->ends[i], leaves, ROWS_LEAVES);
    if (each < 0) return false;
    for (int k = 0; k < ROWS_LEAVES; k++)
      if ((k < each ? rows_node(t, leaves[k]) : LOOM_NO_VALUE) != r->contents[i * ROWS_LEAVES + k])
        return false;
  }
  return size_op(t, LOOM_EXPR_ADD, r->from, r->count, &count) &&
         size_op(t, LOOM_EXPR_ADD, count, r->end_count, &count) && count == r->total;
}

static bool rows_is_whole(tracer *t, const value *v, const rows *r) {
  return r->from == 0 && r->each == 1 && rows_ends(t, v, 0, r);
}

const rows *long_direct(tracer *t, const value *v, Py_ssize_t *prefix) {
  const rows *r = NULL;
  if (!list_is_long(v)) return NULL;
  for (*prefix = 0; *prefix < v->seq.count; ++*prefix)
    if ((r = rows_of(v->seq.items[*prefix]))) break;
  return r && r->each == 1 && rows_ends(t, v, *prefix, r) ? r : NULL;
}

value *long_item(tracer *t, uint16_t place, value *v, int64_t index) {
  Py_ssize_t prefix;
  int64_t row;
  const rows *r = long_direct(t, v, &prefix);
  if (!r) return NULL;
  int early = prefix ? size_less(t, index, prefix) : 0;
  if (early < 0) return NULL;
  if (early && LOOM_STRIDE_IS_SYM(index)) return size_know(t, index), NULL;
  if (early) return v->seq.items[index];
  return size_op(t, LOOM_EXPR_ADD, index, -(int64_t)prefix, &row) &&
                 size_op(t, LOOM_EXPR_ADD, row, r->from, &row)
             ? gather_row(t, place, v, r, row, index)
             : NULL;
}

/* A value like all items; NULL: the items differ. */
static value *stack_like(const value *v) {
  value *like = NULL;
  for (Py_ssize_t i = 0; i < v->seq.count; i++) {
    const rows *r = rows_of(v->seq.items[i]);
    if (!r) continue;
    if (r->each != 1 || r->leaves != 1 || rows_is_container(r->items[0])) return NULL;
    like = r->items[0];
  }
  return like;
}

value *list_stack(tracer *t, value *v, list_reader read, loom_value *node) {
  value *like = list_is_long(v) ? stack_like(v) : NULL;
  loom_value *parts = trace_alloc(t, sizeof *parts * (size_t)(v->seq.count + 1));
  if (!like || !parts) return NULL;
  for (Py_ssize_t i = 0; i < v->seq.count; i++) {
    const rows *r = rows_of(v->seq.items[i]);
    if (r && i == 0 && rows_is_whole(t, v, r)) return *node = r->stacks[0], like;
    if (r ? !rows_like(t, like, r->items[0]) : !read(t, v->seq.items[i], like, &parts[i]))
      return NULL;
    if (r)
      parts[i] = r->from == 0 && r->count == r->total
                     ? r->stacks[0]
                     : rows_stack_slice(t, r->stacks[0], r->from, r->count);
    else
      parts[i] = rows_single(t, parts[i]);
    if (parts[i] == LOOM_NO_VALUE) return NULL;
  }
  const loom_attr axis = {.kind = LOOM_ATTR_I64};
  *node = v->seq.count == 1
              ? parts[0]
              : trace_node(t, LOOM_OP_CONCATENATE, parts, (uint32_t)v->seq.count, &axis, 1, NULL);
  return *node == LOOM_NO_VALUE ? NULL : like;
}

/* ---- as results ---- */

static recipe *rows_rebuild_leaf(tracer *t, value *like, loom_value stack, int64_t *output) {
  const loom_adapter *owner = rows_owner(like);
  if (owner) return owner->row_recipe(t, like, stack, output);
  if (*output < 0) *output = trace_output(t, stack, NULL);
  recipe *r = trace_recipe(t, RECIPE_ROW);
  if (r) r->number = *output;
  return r;
}

static recipe *rows_rebuild_item(tracer *t, const rows *r, value *like, uint32_t *leaf) {
  if (!rows_is_container(like)) {
    uint32_t k = (*leaf)++;
    value *fixed = r->fixed ? r->fixed[k] : NULL; /* the second call makes it a shared recipe */
    if (fixed) return trace_rebuild(t, fixed) ? trace_rebuild(t, fixed) : NULL;
    return rows_rebuild_leaf(t, like, r->stacks[k], &r->outputs[k]);
  }
  recipe *tuple = trace_recipe(t, value_is_list(like) ? RECIPE_LIST : RECIPE_TUPLE);
  if (!tuple || !(tuple->items = calloc((size_t)like->seq.count + 1, sizeof *tuple->items)))
    return trace_fail(t);
  for (; tuple->count < like->seq.count; tuple->count++)
    if (!(tuple->items[tuple->count] =
              rows_rebuild_item(t, r, like->seq.items[tuple->count], leaf)))
      return NULL;
  return tuple;
}

static recipe *rows_rebuild(tracer *t, value *v) {
  const rows *r = v->any.a;
  recipe *made = trace_recipe(t, RECIPE_ROWS);
  int64_t *from = malloc(sizeof *from);
  if (made && from) {
    *from = r->from;
    made->payload = from;
    made->payload_size = sizeof *from;
    made->number = r->count;
    made->items = calloc((size_t)r->each, sizeof *made->items);
  } else {
    free(from);
  }
  if (!made || !made->items) return trace_fail(t);
  uint32_t leaf = 0;
  for (; made->count < r->each; made->count++)
    if (!(made->items[made->count] = rows_rebuild_item(t, r, r->items[made->count], &leaf)))
      return NULL;
  return made;
}

static recipe *long_rebuild(tracer *t, value *v) {
  recipe *r = trace_recipe(t, v->source ? RECIPE_SOURCE : RECIPE_LIST);
  if (!r) return NULL;
  r->source = v->source;
  return v->source ? r : trace_rebuild_items(t, r, v);
}

static void rows_walk(roll_walk *w, value *v) {
  const rows *r = v->any.a;
  const int64_t numbers[3] = {r->from, r->count, r->total};
  for (int i = 0; i < 3; i++)
    roll_token(w, (uint64_t)numbers[i]);
  roll_token(w, (uint64_t)r->each);
  if (r->live) return; /* inputs of the graph */
  for (uint32_t i = 0; i < r->leaves; i++)
    roll_node(w, &r->stacks[i], NULL, NULL);
}

/* ---- everything else: of the ordinary list ---- */

static value *rolled_binary(tracer *t, int op, value *l, value *r, bool inplace) {
  if (inplace && op == 0 && list_is_rolled(l) && !list_is_rolled(r) && value_is_sequence(r))
    return value_mutable(t, l) && list_extend(t, l, r) ? l : NULL;
  if (!list_settle(t, l) || !list_settle(t, r)) return NULL;
  return trace_binary(t, op, l, r, inplace);
}

static value *rolled_compare(tracer *t, int op, value *l, value *r) {
  return list_settle(t, l) && list_settle(t, r) ? trace_compare(t, op, l, r) : NULL;
}

static int long_truth(tracer *t, value *v) { return 1; }

static int hidden_truth(tracer *t, value *v) { return list_settle(t, v) ? trace_truth(t, v) : -1; }

static value *hidden_length(tracer *t, value *v) {
  return list_settle(t, v) ? trace_length(t, v) : NULL;
}

/* The last items may be read, so many as it has been tried with. */
static value *hidden_get_item(tracer *t, value *v, value *key) {
  int64_t index;
  bool single = !value_is_slice(key) && value_known_int(t, key, &index);
  if (trace_pending(t)) return NULL;
  Py_ssize_t back = single && index < 0 && index > -PY_SSIZE_T_MAX ? (Py_ssize_t)-index : 0;
  if (back && back <= loom_loops->list_visible(t, v)) return v->seq.items[v->seq.count - back];
  loom_loops->reads_list(t, v, back ? back : v->seq.count);
  return NULL;
}

static bool rolled_set_item(tracer *t, value *v, value *key, value *item) {
  return list_settle(t, v) && trace_set_item(t, v, key, item);
}

static int rolled_contains(tracer *t, value *v, value *item) {
  return list_settle(t, v) ? trace_contains(t, v, item) : -1;
}

static value *rolled_get_attr(tracer *t, value *v, PyObject *name) {
  return value_list_type.get_attr(t, v, name); /* a method: see builtin_method_call */
}

static value *rolled_iter(tracer *t, value *v) {
  if (list_is_long(v)) return iter_exactly(iter_over(t, v));
  return list_settle(t, v) ? trace_iter(t, v) : NULL;
}

static PyObject *rolled_python_type(tracer *t, value *v) { return (PyObject *)&PyList_Type; }

static recipe *hidden_rebuild(tracer *t, value *v) {
  list_settle(t, v);
  return NULL;
}

static value *rolled_reversed(tracer *t, value *v) {
  Py_ssize_t prefix;
  bool direct = long_direct(t, v, &prefix) != NULL;
  return direct || list_settle(t, v) ? iter_exactly(iter_reversed(t, v)) : NULL;
}

/* What both lists do alike. */
#define ROLLED_LIST_SLOTS                                                                          \
  .name = "list", .kinds = VALUE_IS_LIST | VALUE_IS_ROLLED, .binary = rolled_binary,               \
  .compare = rolled_compare, .set_item = rolled_set_item, .contains = rolled_contains,             \
  .get_attr = rolled_get_attr, .iter = rolled_iter, .python_type = rolled_python_type,             \
  .walk = roll_walk_any_list, .key = key_is_refused, .reversed = rolled_reversed

const value_type value_hidden_list_type = {ROLLED_LIST_SLOTS, .truth = hidden_truth,
                                           .length = hidden_length, .get_item = hidden_get_item,
                                           .rebuild = hidden_rebuild};

const value_type value_long_list_type = {ROLLED_LIST_SLOTS, .truth = long_truth,
                                         .length = long_length, .get_item = long_get_item,
                                         .rebuild = long_rebuild};

const value_type value_rows_type = {
    .name = "rows of a list", .rebuild = rows_rebuild, .walk = rows_walk};
