/* ATen ops that read at positions given by tensors (index.h). */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "frontend/torch/fx.h"
#include "frontend/torch/fx_internal.h"
#include "frontend/torch/index_internal.h"
#include "graph/emit.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_elements.h"
#include "loom_ops_logic.h"

#include <string.h>

const loom_type *index_type(fx_call *c, int i) {
  loom_value v = fx_tensor(c, i);
  return v == LOOM_NO_VALUE ? &c->types[0] : loom_emit_type(c->b, v);
}

loom_type index_type1(fx_call *c, int i) {
  loom_type type = *index_type(c, i);
  if (!type.rank) type.dims[type.rank++] = 1;
  return type;
}

loom_value index_tensor1(fx_call *c, int i) {
  const loom_type type = index_type1(c, i);
  return loom_emit_reshape(c->b, fx_tensor(c, i), type.rank, type.dims);
}

loom_value index_gather(fx_call *c, loom_value v, loom_value indices, int axis) {
  loom_attr attrs[2] = {{.kind = LOOM_ATTR_I64, .i = axis},
                        {.kind = LOOM_ATTR_STR, .str = "raise"}};
  return loom_emit(c->b, LOOM_OP_GATHER, (loom_value[]){v, indices}, 2, attrs, 2, NULL, 0);
}

loom_value index_checked(fx_call *c, loom_value indices, int64_t n, bool negative) {
  loom_emitter *b = c->b;
  loom_value v = loom_emit_convert(b, indices, LOOM_I64);
  if (v == LOOM_NO_VALUE) return v;
  const loom_type type = *loom_emit_type(b, v);
  loom_value zero = loom_emit_int(b, &type, 0);
  loom_value never = loom_emit_int(b, &type, INT64_MAX / 2);
  if (negative) {
    loom_value from_end = loom_emit2(b, LOOM_OP_ADD, v, fx_number_value(c, &type, n));
    v = loom_emit_select(b, loom_emit_compare(b, "lt", v, zero), from_end, v);
  }
  return loom_emit_select(b, loom_emit_compare(b, "lt", v, zero), never, v);
}

/* The result of a graph with an index out of bounds is that of eager torch: so is that of a check.
 */
bool index_check(fx_call *c, loom_value good) {
  loom_type one = loom_type_make(LOOM_I8, 1, (loom_dim[]){1});
  loom_value wrong = loom_emit_convert(c->b, loom_emit1(c->b, LOOM_OP_NOT, good), LOOM_I64);
  c->im->checks = true;
  return index_gather(c, loom_emit_int(c->b, &one, 0), wrong, 0) != LOOM_NO_VALUE;
}

/* _assert_async.default and .msg(self, message): no result. The error is that of eager torch. */
bool aten_assert_async(fx_call *c, loom_value *out) {
  loom_emitter *b = c->b;
  (void)out;
  loom_value v = fx_tensor(c, 0);
  if (v == LOOM_NO_VALUE) return false;
  if (loom_type_elements(loom_emit_type(b, v)) != 1) return fx_decline(c, "no single value");
  return index_check(c, loom_emit_convert(b, loom_emit_reshape(b, v, 0, NULL), LOOM_BOOL));
}

/* ---- one index tensor along one axis ---- */

bool aten_embedding(fx_call *c, loom_value *out) {
  int64_t n = loom_stride_of_dim(index_type(c, 0)->dims[0]);
  out[0] = index_gather(c, fx_tensor(c, 0), index_checked(c, fx_tensor(c, 1), n, false), 0);
  return true;
}

/* A result in its declared shape; nothing is read for one without elements. */
static bool index_done(fx_call *c, loom_value v, loom_value *out) {
  out[0] = loom_emit_reshape(c->b, v, c->types[0].rank, c->types[0].dims);
  return out[0] != LOOM_NO_VALUE;
}

bool aten_index_select(fx_call *c, loom_value *out) {
  int axis;
  const loom_type from = index_type1(c, 0);
  if (!fx_axis(c, 1, from.rank, &axis)) return false;
  if (loom_type_elements(&c->types[0]) == 0 && from.dims[axis] == 0)
    return index_done(c, loom_emit_int(c->b, &c->types[0], 0), out);
  int64_t n = loom_stride_of_dim(from.dims[axis]);
  loom_value at = index_checked(c, index_tensor1(c, 2), n, false);
  return index_done(c, index_gather(c, index_tensor1(c, 0), at, axis), out);
}

loom_value index_flat(fx_call *c, loom_value index, int axis) {
  loom_emitter *b = c->b;
  const loom_type from = index_type1(c, 0);
  if (index == LOOM_NO_VALUE) return index;
  const loom_type *shape = loom_emit_type(b, index);
  const loom_type places = loom_type_make(LOOM_I64, shape->rank, shape->dims);
  int64_t n = loom_stride_of_dim(from.dims[axis]), stride = 1;
  loom_value at = index_checked(c, index, n, false);
  loom_value flat = loom_emit_int(b, &places, 0);
  for (int i = from.rank - 1; i >= 0; i--) {
    loom_value coordinate = i == axis ? at : loom_emit_iota(b, &places, i);
    loom_value scaled = loom_emit2(b, LOOM_OP_MUL, coordinate, fx_number_value(c, &places, stride));
    flat = loom_emit2(b, LOOM_OP_ADD, flat, scaled);
    if (!loom_stride_combine(c->im->graph, LOOM_EXPR_MUL, stride, loom_stride_of_dim(from.dims[i]),
                             &stride))
      return loom_emit_fail(b, "a size is too complicated");
  }
  /* What was out of bounds stays so, although the product may have wrapped. */
  loom_value wrong = loom_emit_compare(b, "ge", at, fx_number_value(c, &places, n));
  return loom_emit_select(b, wrong, loom_emit_int(b, &places, INT64_MAX), flat);
}

loom_value index_strided(fx_call *c, const loom_type *places, const int64_t *strides,
                         int64_t offset) {
  loom_emitter *b = c->b;
  loom_value flat = loom_emit_int(b, places, offset);
  for (int i = 0; i < places->rank; i++) {
    if (places->dims[i] == 1 || strides[i] == 0) continue;
    loom_value step = loom_emit_int(b, places, strides[i]);
    step = loom_emit2(b, LOOM_OP_MUL, loom_emit_iota(b, places, i), step);
    flat = loom_emit2(b, LOOM_OP_ADD, flat, step);
  }
  return flat;
}

bool index_line(fx_call *c, int *axis, loom_dim *elements) {
  const loom_type from = index_type1(c, 0);
  if (!fx_axis(c, 1, from.rank, axis)) return false;
  return (loom_type_elements_in(c->im->graph, &from, elements) && *elements != 0) ||
         fx_decline(c, "a size that is unknown or 0");
}

/* gather(self, dim, index). */
bool aten_gather(fx_call *c, loom_value *out) {
  int axis;
  loom_dim elements;
  if (loom_type_elements(&c->types[0]) == 0)
    return index_done(c, loom_emit_int(c->b, &c->types[0], 0), out);
  if (!index_line(c, &axis, &elements)) return false;
  loom_value line = loom_emit_reshape(c->b, fx_tensor(c, 0), 1, &elements);
  loom_value at = index_flat(c, index_tensor1(c, 2), axis);
  return index_done(c, index_gather(c, line, at, 0), out);
}

/* take(self, index): operand 0 as if flat. */
bool aten_take(fx_call *c, loom_value *out) {
  const loom_type from = *index_type(c, 0);
  loom_dim elements;
  if (loom_type_elements(&c->types[0]) == 0)
    return index_done(c, loom_emit_int(c->b, &c->types[0], 0), out);
  if (!loom_type_elements_in(c->im->graph, &from, &elements) || elements == 0)
    return fx_decline(c, "a size that is unknown or 0");
  loom_value line = loom_emit_reshape(c->b, fx_tensor(c, 0), 1, &elements);
  loom_value at = index_checked(c, fx_tensor(c, 1), loom_stride_of_dim(elements), true);
  return index_done(c, index_gather(c, line, at, 0), out);
}

/* ---- index.Tensor: several index tensors ----------------------------------------------------- */

bool index_collect(fx_call *c, PyObject *list, index_axes *x) {
  const loom_type from = *index_type(c, 0);
  Py_ssize_t given = PySequence_Fast_GET_SIZE(list);
  int last = -1, rest = 0, others[LOOM_MAX_RANK];
  x->first = -1;
  for (int i = 0; i < from.rank; i++) {
    PyObject *item = i < given ? PySequence_Fast_GET_ITEM(list, i) : Py_None;
    const fx_value *v = item == Py_None ? NULL : fx_value_of(c->im, item);
    if (!v) {
      others[rest++] = i;
      continue;
    }
    loom_dtype dtype = v->kind == FX_TENSOR ? loom_emit_type(c->b, v->value)->dtype : LOOM_BOOL;
    if (!loom_dtype_is_integer(dtype) || dtype == LOOM_U8) /* torch takes bytes for truths */
      return fx_decline(c, "a mask as index");
    if (x->first < 0) x->first = i;
    if (last >= 0 && last != i - 1) x->first = 0; /* apart: the result comes first */
    last = i;
    x->sizes[x->count] = loom_stride_of_dim(from.dims[i]);
    x->at[x->count] = v->value;
    x->perm[x->count++] = i;
  }
  for (int i = 0; i < rest; i++)
    x->perm[x->count + i] = others[i];
  return x->count > 0 || fx_decline(c, "no index tensor");
}

bool index_places(fx_call *c, index_axes *x) {
  x->places = loom_type_make(LOOM_I64, 0, NULL);
  for (int k = 0; k < x->count; k++) {
    int rank = loom_emit_type(c->b, x->at[k])->rank;
    if (rank > x->places.rank) x->places.rank = rank;
  }
  for (int i = 0; i < x->places.rank; i++)
    x->places.dims[i] = 1;
  for (int k = 0; k < x->count; k++) {
    const loom_type *type = loom_emit_type(c->b, x->at[k]);
    int shift = x->places.rank - type->rank;
    for (int i = 0; i < type->rank; i++)
      if (type->dims[i] != 1) x->places.dims[shift + i] = type->dims[i];
  }
  return true;
}

loom_value index_joined(fx_call *c, const index_axes *x) {
  loom_emitter *b = c->b;
  const loom_type *places = &x->places;
  loom_value flat = loom_emit_int(b, places, 0), wrong = LOOM_NO_VALUE;
  if (x->count == 1) /* gather and scatter count from the end and refuse what is out of bounds */
    return loom_emit_broadcast_to(b, loom_emit_convert(b, x->at[0], LOOM_I64), places->rank,
                                  places->dims);
  for (int k = 0; k < x->count; k++) {
    loom_value at = index_checked(c, x->at[k], x->sizes[k], true);
    at = loom_emit_broadcast_to(b, at, places->rank, places->dims);
    loom_value bad = loom_emit_compare(b, "ge", at, fx_number_value(c, places, x->sizes[k]));
    wrong = k ? loom_emit2(b, LOOM_OP_OR, wrong, bad) : bad;
    flat = loom_emit2(b, LOOM_OP_MUL, flat, fx_number_value(c, places, x->sizes[k]));
    flat = loom_emit2(b, LOOM_OP_ADD, flat, at);
  }
  return loom_emit_select(b, wrong, loom_emit_int(b, places, INT64_MAX), flat);
}

loom_value index_operand(fx_call *c, const index_axes *x, loom_type *out) {
  const loom_type from = *index_type(c, 0);
  *out = loom_type_make(from.dtype, 1, (loom_dim[]){1});
  for (int k = 0; k < x->count; k++)
    if (!loom_dim_combine(c->im->graph, LOOM_EXPR_MUL, out->dims[0], from.dims[x->perm[k]],
                          &out->dims[0]))
      return loom_emit_fail(c->b, "a size is too complicated");
  for (int i = x->count; i < from.rank; i++)
    out->dims[out->rank++] = from.dims[x->perm[i]];
  loom_value v = loom_emit_transpose(c->b, fx_tensor(c, 0), x->perm);
  return loom_emit_reshape(c->b, v, out->rank, out->dims);
}

/* Indexed axes side by side: they are joined where they are, and the places take their place. */
static loom_value index_in_place(fx_call *c, const index_axes *x) {
  const loom_type from = *index_type(c, 0);
  loom_type joined = loom_type_make(from.dtype, 0, NULL);
  for (int i = 0; i < from.rank; i++) {
    bool more = i > x->first && i < x->first + x->count;
    if (!more)
      joined.dims[joined.rank++] = from.dims[i];
    else if (!loom_dim_combine(c->im->graph, LOOM_EXPR_MUL, joined.dims[x->first], from.dims[i],
                               &joined.dims[x->first]))
      return loom_emit_fail(c->b, "a size is too complicated");
  }
  loom_value v = loom_emit_reshape(c->b, fx_tensor(c, 0), joined.rank, joined.dims);
  return index_gather(c, v, index_joined(c, x), x->first);
}

bool aten_index(fx_call *c, loom_value *out) {
  index_axes x = {.count = 0};
  loom_type joined;
  if (!PyList_Check(c->args[1]) && !PyTuple_Check(c->args[1])) return fx_decline(c, "no list");
  if (!index_collect(c, c->args[1], &x) || !index_places(c, &x)) return false;
  if (x.perm[x.count - 1] - x.perm[0] == x.count - 1) {
    out[0] = index_in_place(c, &x);
    return out[0] != LOOM_NO_VALUE;
  }
  loom_value v = index_operand(c, &x, &joined);
  v = index_gather(c, v, index_joined(c, &x), 0);
  out[0] = v; /* places, then the other axes */
  return v != LOOM_NO_VALUE;
}
