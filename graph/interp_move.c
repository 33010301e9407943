/* The interpreter's views and moves: where does each element of the result come from?
 *
 * A view is a function from an index of the result to an index of an operand; ops that move
 * elements by indices that are data have functions of their own.
 */
#include "graph/arrays.h"
#include "graph/interp.h"
#include "loom_ops_arithmetic.h"

#include <string.h>

const loom_buffer *interp_map_broadcast(const interp_call *c, const int64_t *out, int64_t *in) {
  const loom_buffer *from = &c->operands[0];
  for (int i = 0; i < from->type.rank; i++)
    in[i] = from->type.dims[i] == 1 ? 0 : out[c->view->attrs[0].ints[i]];
  return from;
}

const loom_buffer *interp_map_reshape(const interp_call *c, const int64_t *out, int64_t *in) {
  const loom_type *from = &c->operands[0].type, *to = &c->results[0].type;
  int64_t linear = 0;
  for (int i = 0; i < to->rank; i++)
    linear = linear * to->dims[i] + out[i];
  for (int i = from->rank - 1; i >= 0; i--) {
    in[i] = linear % from->dims[i];
    linear /= from->dims[i];
  }
  return &c->operands[0];
}

const loom_buffer *interp_map_transpose(const interp_call *c, const int64_t *out, int64_t *in) {
  for (int i = 0; i < c->operands[0].type.rank; i++)
    in[c->view->attrs[0].ints[i]] = out[i];
  return &c->operands[0];
}

const loom_buffer *interp_map_slice(const interp_call *c, const int64_t *out, int64_t *in) {
  for (int i = 0; i < c->operands[0].type.rank; i++)
    in[i] = c->view->attrs[0].ints[i] + out[i] * c->view->attrs[2].ints[i];
  return &c->operands[0];
}

const loom_buffer *interp_map_windows(const interp_call *c, const int64_t *out, int64_t *in) {
  int rank = c->operands[0].type.rank;
  for (int i = 0; i < rank; i++)
    in[i] = out[i] * c->view->attrs[1].ints[i] + out[rank + i] * c->view->attrs[2].ints[i];
  return &c->operands[0];
}

const loom_buffer *interp_map_same(const interp_call *c, const int64_t *out, int64_t *in) {
  memcpy(in, out, sizeof *in * LOOM_MAX_RANK);
  return &c->operands[0];
}

const loom_buffer *interp_map_concatenate(const interp_call *c, const int64_t *out, int64_t *in) {
  int64_t axis = c->view->attrs[0].i;
  const loom_buffer *from = c->operands;
  memcpy(in, out, sizeof *in * LOOM_MAX_RANK);
  for (; in[axis] >= from->type.dims[axis]; from++)
    in[axis] -= from->type.dims[axis];
  return from;
}

const loom_buffer *interp_map_pad(const interp_call *c, const int64_t *out, int64_t *in) {
  const loom_buffer *from = &c->operands[0];
  for (int i = 0; i < from->type.rank; i++) {
    in[i] = out[i] - c->view->attrs[0].ints[i];
    if (in[i] < 0 || in[i] >= from->type.dims[i]) return &c->operands[1];
  }
  return from;
}

bool interp_move(const interp_call *c, interp_map map) {
  int64_t out[LOOM_MAX_RANK] = {0}, in[LOOM_MAX_RANK] = {0};
  if (interp_empty(&c->results[0].type)) return true;
  do {
    const loom_buffer *from = map(c, out, in);
    interp_copy_element(&c->results[0], out, from, in);
  } while (interp_next(&c->results[0].type, out));
  return true;
}

bool interp_update_slice(const interp_call *c) {
  const loom_buffer *update = &c->operands[1];
  int64_t from[LOOM_MAX_RANK] = {0}, to[LOOM_MAX_RANK];
  interp_copy(&c->results[0], &c->operands[0]);
  if (interp_empty(&update->type)) return true;
  do {
    for (int i = 0; i < update->type.rank; i++)
      to[i] = c->view->attrs[0].ints[i] + from[i] * c->view->attrs[1].ints[i];
    interp_copy_element(&c->results[0], to, update, from);
  } while (interp_next(&update->type, from));
  return true;
}

/* Brings an index into [0, n) by the mode, or fails. */
static bool interp_index(const interp_call *c, const char *mode, const loom_buffer *indices,
                         const int64_t *at, int64_t n, int64_t *out) {
  loom_cell cell = interp_load(indices, at);
  bool huge = indices->type.dtype == LOOM_U64 && cell.i < 0;
  int64_t i = huge ? INT64_MAX : cell.i;
  if (strcmp(mode, "wrap") == 0) {
    *out = huge ? (int64_t)((uint64_t)cell.i % (uint64_t)n) : (i % n + n) % n;
  } else if (strcmp(mode, "clip") == 0) {
    *out = i < 0 ? 0 : i >= n ? n - 1 : i;
  } else {
    *out = i < 0 ? i + n : i;
    if (i < -n || i >= n)
      return loom_fail(c->err, "index %lld is out of bounds for an axis of size %lld", (long long)i,
                       (long long)n);
  }
  return true;
}

/* Splits an index of np.take's result into the index of the operand and the one of the indices. */
static bool interp_take(const interp_call *c, const char *mode, const int64_t *out, int64_t *in) {
  const loom_buffer *from = &c->operands[0], *indices = &c->operands[1];
  int axis = (int)c->view->attrs[0].i, many = indices->type.rank;
  for (int i = 0; i < from->type.rank; i++)
    in[i] = i < axis ? out[i] : i > axis ? out[i + many - 1] : 0;
  return interp_index(c, mode, indices, out + axis, from->type.dims[axis], &in[axis]);
}

/* The index of the operand's element that an update of one element goes to. */
static bool interp_along(const interp_call *c, const int64_t *at, int64_t *in) {
  const loom_buffer *from = &c->operands[0], *indices = &c->operands[1];
  int axis = (int)c->view->attrs[0].i;
  memcpy(in, at, sizeof *in * (size_t)from->type.rank);
  return interp_index(c, "raise", indices, at, from->type.dims[axis], &in[axis]);
}

bool interp_gather(const interp_call *c) {
  int64_t out[LOOM_MAX_RANK] = {0}, in[LOOM_MAX_RANK];
  if (interp_empty(&c->results[0].type)) return true;
  do {
    if (!interp_take(c, c->view->attrs[1].str, out, in)) return false;
    interp_copy_element(&c->results[0], out, &c->operands[0], in);
  } while (interp_next(&c->results[0].type, out));
  return true;
}

static bool interp_combine(const char *kind, loom_dtype dtype, loom_cell a, loom_cell b,
                           loom_cell *out) {
  static const struct {
    const char *kind;
    loom_opcode op;
  } rows[] = {
      {"add", LOOM_OP_ADD}, {"mul", LOOM_OP_MUL}, {"min", LOOM_OP_MIN}, {"max", LOOM_OP_MAX}};
  *out = b;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (strcmp(rows[i].kind, kind) == 0)
      return loom_cell_apply(rows[i].op, dtype, (loom_cell[]){a, b}, out);
  return true;
}

bool interp_scatter(const interp_call *c) {
  const loom_buffer *updates = &c->operands[2], *to = &c->results[0];
  int64_t at[LOOM_MAX_RANK] = {0}, in[LOOM_MAX_RANK];
  loom_cell cell;
  bool along = loom_scatter_is_along(&to->type, &c->operands[1].type, &updates->type);
  interp_copy(to, &c->operands[0]);
  if (interp_empty(&updates->type)) return true;
  do {
    if (!(along ? interp_along(c, at, in) : interp_take(c, "raise", at, in))) return false;
    if (!interp_combine(c->view->attrs[1].str, to->type.dtype, interp_load(to, in),
                        interp_load(updates, at), &cell))
      return loom_fail(c->err, "'scatter' cannot combine %s", loom_dtype_name(to->type.dtype));
    interp_store(to, in, cell);
  } while (interp_next(&updates->type, at));
  return true;
}
