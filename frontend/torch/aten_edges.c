/* Padding with what an array holds (reflected, repeated at the ends), its gradients, and roll.
 *
 * Along an axis the result is the operand between two pieces of it, so that rows are copied as they
 * lie. The gradient is that of the middle plus those of the pieces, added at the places that the
 * pieces came from. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "graph/emit.h"
#include "loom_ops_arithmetic.h"

#include <string.h>

#define EDGES_MAX 3 /* axes */

typedef struct edges_axis {
  int axis;
  int64_t size, low, high; /* elements of the operand, added before and behind; below 0: cut off */
} edges_axis;

static int64_t edges_added(int64_t count) { return count > 0 ? count : 0; }
static int64_t edges_cut(int64_t count) { return count < 0 ? -count : 0; }
static int64_t edges_kept(const edges_axis *e) {
  return e->size - edges_cut(e->low) - edges_cut(e->high);
}

/* The elements of an axis that one piece of the result is, in their order or the opposite one. */
static loom_value edges_piece(fx_call *c, loom_value v, const edges_axis *e, int64_t first,
                              int64_t count, bool reversed) {
  if (!reversed) return loom_emit_slice(c->b, v, e->axis, first, count, 1);
  return loom_emit_slice(c->b, v, e->axis, first + count - 1, count, -1);
}

/* `v`, which has one element along the axis, `count` times. */
static loom_value edges_repeat(fx_call *c, loom_value v, int axis, int64_t count) {
  if (v == LOOM_NO_VALUE) return v;
  loom_type type = *loom_emit_type(c->b, v);
  type.dims[axis] = count;
  return loom_emit_broadcast_to(c->b, v, type.rank, type.dims);
}

static loom_value edges_around(fx_call *c, loom_value v, const edges_axis *axes, int count);

/* What is added before or behind `v` along the last of the axes, padded along the others. */
static loom_value edges_end(fx_call *c, loom_value v, const edges_axis *axes, int count,
                            bool high) {
  const edges_axis *e = &axes[count - 1];
  bool reflected = *c->text == 'r';
  int64_t added = high ? e->high : e->low, last = e->size - 1;
  int64_t first = reflected ? (high ? last - added : 1) : (high ? last : 0);
  v = edges_piece(c, v, e, first, reflected ? added : 1, reflected);
  v = edges_around(c, v, axes, count - 1);
  return reflected ? v : edges_repeat(c, v, e->axis, added);
}

/* `v` padded along each of the axes. Pieces of one axis are padded along the others before they are
 * put together: nothing is read from a padded array, so that one kernel makes the result. */
static loom_value edges_around(fx_call *c, loom_value v, const edges_axis *axes, int count) {
  if (count == 0 || v == LOOM_NO_VALUE) return v;
  const edges_axis *e = &axes[count - 1];
  loom_value pieces[3];
  uint32_t parts = 0;
  if (e->low > 0) pieces[parts++] = edges_end(c, v, axes, count, false);
  loom_value middle = edges_piece(c, v, e, edges_cut(e->low), edges_kept(e), false);
  pieces[parts++] = edges_around(c, middle, axes, count - 1);
  if (e->high > 0) pieces[parts++] = edges_end(c, v, axes, count, true);
  for (uint32_t i = 0; i < parts; i++)
    if (pieces[i] == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  return parts == 1 ? pieces[0] : loom_emit_concatenate(c->b, pieces, parts, e->axis);
}

/* `v` at element `first` of an axis that is zero elsewhere. */
static loom_value edges_placed(fx_call *c, loom_value v, const edges_axis *e, int64_t first) {
  int64_t low[LOOM_MAX_RANK] = {0}, high[LOOM_MAX_RANK] = {0};
  if (v == LOOM_NO_VALUE) return v;
  low[e->axis] = first;
  high[e->axis] = e->size - first - loom_emit_type(c->b, v)->dims[e->axis];
  return loom_emit_pad_zeros(c->b, v, low, high);
}

/* What the gradients of a piece of the result add: those of reflected elements each to its own. */
static loom_value edges_returned(fx_call *c, loom_value grad, const edges_axis *e, int64_t first,
                                 int64_t count, bool low) {
  if (*c->text == 'r') {
    loom_value piece = edges_piece(c, grad, e, first, count, true);
    return edges_placed(c, piece, e, low ? 1 : e->size - 1 - count);
  }
  loom_value piece = edges_piece(c, grad, e, first, count, false);
  piece = loom_emit_reduce(c->b, "sum", piece, 1u << e->axis, true);
  return edges_placed(c, piece, e, low ? 0 : e->size - 1);
}

static loom_value edges_back(fx_call *c, loom_value grad, const edges_axis *e) {
  int64_t before = edges_added(e->low), kept = edges_kept(e);
  loom_value v = edges_piece(c, grad, e, before, kept, false);
  v = edges_placed(c, v, e, edges_cut(e->low));
  if (e->low > 0) v = loom_emit2(c->b, LOOM_OP_ADD, v, edges_returned(c, grad, e, 0, e->low, true));
  if (e->high > 0)
    v = loom_emit2(c->b, LOOM_OP_ADD, v, edges_returned(c, grad, e, before + kept, e->high, false));
  return v;
}

/* The axes of a call whose padding, for the last axis first, is argument `at`. */
static int edges_read(fx_call *c, int at, const loom_type *from, edges_axis *out) {
  int64_t list[2 * EDGES_MAX];
  int given = fx_ints(c, at, list, 2 * EDGES_MAX), count = given / 2;
  if (given < 0) return -1;
  if (fx_is_empty(from) || !fx_sizes_known(from, from->rank - count))
    return fx_decline(c, "a size that is symbolic or 0"), -1;
  for (int i = 0; i < count; i++) {
    int axis = from->rank - 1 - i;
    out[i] = (edges_axis){axis, from->dims[axis], list[2 * i], list[2 * i + 1]};
    if (edges_kept(&out[i]) <= 0) return fx_decline(c, "nothing is left of an axis"), -1;
  }
  return count;
}

/* reflection_pad*(self, padding) (`text` "r") and replication_pad* ("e"). */
bool aten_pad_edges(fx_call *c, loom_value *out) {
  edges_axis axes[EDGES_MAX];
  loom_value v = fx_tensor(c, 0);
  if (v == LOOM_NO_VALUE) return false;
  const loom_type from = *loom_emit_type(c->b, v);
  int count = edges_read(c, 1, &from, axes);
  if (count < 0 || fx_is_empty(&c->types[0])) return fx_decline(c, "a size of 0");
  out[0] = edges_around(c, v, axes, count);
  return out[0] != LOOM_NO_VALUE;
}

/* reflection_pad*_backward(grad_output, self, padding) and replication_pad*_backward. */
bool aten_pad_edges_gradient(fx_call *c, loom_value *out) {
  edges_axis axes[EDGES_MAX];
  loom_value v = fx_tensor_as(c, 0, fx_compute_dtype(c->types[0].dtype));
  int count = edges_read(c, 2, &c->types[0], axes);
  if (count < 0) return false;
  for (int i = 0; i < count && v != LOOM_NO_VALUE; i++)
    v = edges_back(c, v, &axes[i]);
  out[0] = fx_round(c, 0, v);
  return out[0] != LOOM_NO_VALUE;
}

/* roll(self, shifts, dims); without dims the flat array. */
bool aten_roll(fx_call *c, loom_value *out) {
  int64_t shifts[LOOM_MAX_RANK], dims[LOOM_MAX_RANK] = {0};
  loom_value v = fx_tensor(c, 0);
  if (v == LOOM_NO_VALUE) return false;
  const loom_type from = *loom_emit_type(c->b, v);
  int count = fx_ints(c, 1, shifts, LOOM_MAX_RANK), given = fx_ints(c, 2, dims, LOOM_MAX_RANK);
  bool flat = count == 1 && given == 0;
  if (count <= 0 || (given != count && !flat)) return fx_decline(c, "shifts and axes differ");
  if (fx_is_empty(&from) || !fx_sizes_known(&from, 0))
    return fx_decline(c, "a size that is symbolic or 0");
  if (flat) v = loom_emit_reshape(c->b, v, 1, (loom_dim[]){loom_type_elements(&from)});
  for (int i = 0; i < count && v != LOOM_NO_VALUE; i++) {
    const loom_type type = *loom_emit_type(c->b, v);
    int64_t axis = dims[i] < 0 ? dims[i] + type.rank : dims[i];
    if (axis < 0 || axis >= type.rank) return fx_decline(c, "an axis that there is not");
    edges_axis e = {.axis = (int)axis, .size = type.dims[axis]};
    int64_t by = (shifts[i] % e.size + e.size) % e.size;
    if (by == 0) continue;
    loom_value pieces[] = {edges_piece(c, v, &e, e.size - by, by, false),
                           edges_piece(c, v, &e, 0, e.size - by, false)};
    v = loom_emit_concatenate(c->b, pieces, 2, e.axis);
  }
  out[0] = loom_emit_reshape(c->b, v, from.rank, from.dims);
  return out[0] != LOOM_NO_VALUE;
}
