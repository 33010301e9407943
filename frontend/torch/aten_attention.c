/* Scaled dot-product attention and its gradient, from products and a softmax over (batch, heads,
 * queries, keys). */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "graph/emit.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"
#include "loom_ops_reductions.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* Where an overload has its arguments; NOWHERE: it has none such. torch has one for the CPU, and on
 * CUDA three, which it chooses from by dtypes, sizes and masks. */
#define NOWHERE INT_MAX
typedef struct attention_form {
  const char *name; /* the row's text */
  int dropout, causal, mask, scale;
  int result, lse;    /* of a gradient: what the forward has given */
  bool square_causal; /* what causal means for other numbers of keys is not the op's */
} attention_form;

static const attention_form attention_forms[] = {
    {"", 3, 4, 5, 6, NOWHERE, NOWHERE, false},
    {"efficient", 5, 6, 3, 7, NOWHERE, NOWHERE, false},
    {"flash", 3, 4, NOWHERE, 6, NOWHERE, NOWHERE, true},
    {"cudnn", 5, 6, 3, 8, NOWHERE, NOWHERE, true},
    {"gradient", 6, 7, 8, 9, 4, 5, false},
    {"efficient gradient", 9, 11, 4, 12, 5, 6, false},
    {"flash gradient", 10, 11, NOWHERE, 14, 4, 5, true},
    {"cudnn gradient", 13, 14, 8, 15, 4, 5, true}};

static const attention_form *attention_find(const fx_call *c) {
  const attention_form *form = attention_forms;
  while (strcmp(form->name, c->text) != 0)
    form++;
  return form;
}

/* The operands of loom.attention. */
typedef struct attention_call {
  loom_value values[5];
  uint32_t count;
  loom_dtype dtype; /* of sums */
  bool causal;
} attention_call;

/* What both directions read from a call. */
typedef struct attention {
  loom_value q, k, v, scores; /* scores: scaled and masked */
  loom_type type;             /* of the scores */
  double scale;
} attention;

static loom_value attention_like(fx_call *c, const attention *a, double x) {
  return loom_emit_float(c->b, &a->type, x);
}

static loom_value attention_spread(fx_call *c, const attention *a, loom_value v) {
  return loom_emit_broadcast_to(c->b, v, a->type.rank, a->type.dims);
}

/* Keys after the query do not count. */
static loom_value attention_causal(fx_call *c, const attention *a, loom_value scores) {
  loom_type places = a->type;
  places.dtype = LOOM_I64;
  loom_value query = loom_emit_iota(c->b, &places, 2), key = loom_emit_iota(c->b, &places, 3);
  loom_value seen = loom_emit_compare(c->b, "ge", query, key);
  return loom_emit_select(c->b, seen, scores, attention_like(c, a, -INFINITY));
}

/* Operands q, k, v at `at`... */
static bool attention_read(fx_call *c, int at, const attention_form *form, attention *a) {
  double p;
  bool is_causal;
  loom_emitter *b = c->b;
  if (!fx_double(c, form->dropout, &p) || !fx_bool(c, form->causal, &is_causal)) return false;
  if (p != 0) return fx_decline(c, "dropout");
  a->q = fx_tensor_as(c, at, LOOM_F32);
  a->k = fx_tensor_as(c, at + 1, LOOM_F32);
  a->v = fx_tensor_as(c, at + 2, LOOM_F32);
  loom_value given = fx_tensor(c, at);
  if (given == LOOM_NO_VALUE) return false;
  if (loom_emit_type(b, given)->dtype == LOOM_F64) {
    a->q = fx_tensor(c, at);
    a->k = fx_tensor(c, at + 1);
    a->v = fx_tensor(c, at + 2);
  }
  const loom_type *q = loom_emit_type(b, a->q);
  if (q->rank != 4 || LOOM_DIM_IS_SYM(q->dims[3])) return fx_decline(c, "not four dimensions");
  a->scale = 1 / sqrt((double)q->dims[3]);
  if (fx_has(c, form->scale) && !fx_double(c, form->scale, &a->scale)) return false;
  loom_value dot = loom_emit_dot(c->b, a->q, a->k, 2, 3, 3);
  if (dot == LOOM_NO_VALUE) return false;
  a->type = *loom_emit_type(b, dot);
  if (fx_count(&a->type, ~0u) == 0) return fx_decline(c, "nothing to attend to");
  a->scores = loom_emit2(b, LOOM_OP_MUL, dot, attention_like(c, a, a->scale));
  if (fx_has(c, form->mask)) {
    loom_value m = fx_tensor_as(c, form->mask, a->type.dtype);
    a->scores = loom_emit2(b, LOOM_OP_ADD, a->scores, attention_spread(c, a, m));
  }
  if (is_causal) a->scores = attention_causal(c, a, a->scores);
  return true;
}

/* Fewer queries than it takes to fill a vector, or heads that the op's kernels do not take. */
static bool attention_is_composed(fx_call *c, const attention_call *a) {
  const loom_type *q = loom_emit_type(c->b, a->values[0]);
  const loom_type *v = loom_emit_type(c->b, a->values[2]);
  if (LOOM_DIM_IS_SYM(v->dims[3]) || v->dims[3] > LOOM_ATTENTION_COLUMNS ||
      q->dims[3] > LOOM_ATTENTION_COLUMNS)
    return true;
  return !LOOM_DIM_IS_SYM(q->dims[2]) && q->dims[2] < 4;
}

/* q, k, v, scale and the mask if there is one, as the op takes them. */
static bool attention_operands(fx_call *c, int at, const attention_form *form, attention_call *a) {
  double p, factor;
  loom_emitter *b = c->b;
  if (!fx_double(c, form->dropout, &p) || !fx_bool(c, form->causal, &a->causal)) return false;
  if (p != 0) return fx_decline(c, "dropout");
  for (int i = 0; i < 3; i++)
    a->values[i] = fx_tensor(c, at + i);
  if (a->values[0] == LOOM_NO_VALUE) return false;
  if (a->values[1] == LOOM_NO_VALUE || a->values[2] == LOOM_NO_VALUE) return false;
  const loom_type *q = loom_emit_type(b, a->values[0]);
  if (q->rank != 4 || LOOM_DIM_IS_SYM(q->dims[3])) return fx_decline(c, "not four dimensions");
  if (a->causal && form->square_causal && q->dims[2] != loom_emit_type(b, a->values[1])->dims[2])
    return fx_decline(c, "causal, with another number of keys than of queries");
  a->dtype = loom_dtype_is_half(q->dtype) ? LOOM_F32 : q->dtype;
  factor = 1 / sqrt((double)q->dims[3]);
  if (fx_has(c, form->scale) && !fx_double(c, form->scale, &factor)) return false;
  loom_type scalar = loom_type_make(a->dtype, 0, NULL);
  a->values[3] = loom_emit_float(b, &scalar, factor);
  a->count = 4;
  if (!fx_has(c, form->mask)) return true;
  loom_value m = fx_tensor_as(c, form->mask, a->dtype);
  if (m == LOOM_NO_VALUE) return false;
  const loom_type *type = loom_emit_type(b, m);
  loom_dim dims[4] = {1, 1, 1, 1};
  if (type->rank > 4) return fx_decline(c, "a mask of more than four dimensions");
  for (int i = 0; i < type->rank; i++)
    dims[4 - type->rank + i] = type->dims[i];
  a->values[a->count++] = loom_emit_reshape(b, m, 4, dims);
  return true;
}

/* The logarithms of sums (batch, heads, queries) as the overload has them: rounded up to 32
 * queries, with an axis more, or not at all; and what else it has but its output: states of random
 * numbers, which nobody draws without dropout, are zeros. */
static bool attention_others(fx_call *c, loom_value lse, loom_value *out) {
  const loom_type *wanted = &c->types[1], *type;
  loom_emitter *b = c->b;
  for (uint32_t i = 2; i < c->result_count; i++)
    if (c->present[i]) out[i] = loom_emit_int(b, &c->types[i], 0);
  if (c->present[1] && fx_count(wanted, ~0u) == 0)
    return out[1] = loom_emit_int(b, wanted, 0), out[1] != LOOM_NO_VALUE;
  if (lse == LOOM_NO_VALUE) return false;
  type = loom_emit_type(b, lse);
  if (wanted->rank == 3 && wanted->dims[2] != type->dims[2]) {
    int64_t low[3] = {0}, high[3] = {0};
    loom_type scalar = loom_type_make(type->dtype, 0, NULL);
    if (LOOM_DIM_IS_SYM(wanted->dims[2]) || LOOM_DIM_IS_SYM(type->dims[2]))
      return fx_decline(c, "sizes that change");
    high[2] = wanted->dims[2] - type->dims[2];
    if (high[2] < 0) return fx_decline(c, "fewer sums than queries");
    lse = loom_emit_pad(b, lse, loom_emit_float(b, &scalar, INFINITY), low, high);
  }
  lse = loom_emit_reshape(b, lse, wanted->rank, wanted->dims);
  out[1] = loom_emit_convert(b, lse, wanted->dtype);
  return out[1] != LOOM_NO_VALUE;
}

/* Products and a softmax. */
static bool attention_composed(fx_call *c, const attention_form *form, loom_value *out) {
  attention a = {0};
  loom_emitter *b = c->b;
  if (!attention_read(c, 0, form, &a)) return false;
  loom_value max = loom_emit_reduce(b, "max", a.scores, 1u << 3, true);
  const loom_type rows = max == LOOM_NO_VALUE ? a.type : *loom_emit_type(b, max);
  loom_value zero = loom_emit_float(b, &rows, 0), low = loom_emit_float(b, &rows, -INFINITY);
  loom_value none = loom_emit_compare(b, "eq", max, low);
  max = loom_emit_select(b, none, zero, max);
  loom_value e = loom_emit2(b, LOOM_OP_SUB, a.scores, attention_spread(c, &a, max));
  e = loom_emit1(b, LOOM_OP_EXP, e);
  loom_value sum = loom_emit_reduce(b, "sum", e, 1u << 3, true);
  sum = loom_emit_select(b, none, loom_emit_float(b, &rows, 1), sum);
  loom_value p = loom_emit2(b, LOOM_OP_DIV, e, attention_spread(c, &a, sum));
  out[0] = fx_round(c, 0, loom_emit_dot(c->b, p, a.v, 2, 3, 2));
  loom_value lse = loom_emit2(b, LOOM_OP_ADD, max, loom_emit1(b, LOOM_OP_LOG, sum));
  lse = loom_emit_reshape(b, lse, 3, a.type.dims);
  return attention_others(c, lse, out) && out[0] != LOOM_NO_VALUE;
}

/* _scaled_dot_product_flash_attention_for_cpu(q, k, v, dropout_p, is_causal, attn_mask, scale) and
 * those of CUDA: output and the logarithm of the sum of exponentials of each query. torch's kernel
 * gives zeros for a query whose keys are all masked. */
bool aten_attention(fx_call *c, loom_value *out) {
  attention_call a;
  const attention_form *form = attention_find(c);
  if (!attention_operands(c, 0, form, &a)) return false;
  if (attention_is_composed(c, &a)) return attention_composed(c, form, out);
  loom_attr attrs[2] = {{.kind = LOOM_ATTR_BOOL, .i = a.causal},
                        {.kind = LOOM_ATTR_STR, .str = "zero"}};
  loom_value made = loom_emit(c->b, LOOM_OP_ATTENTION, a.values, a.count, attrs, 2, NULL, 0);
  if (made == LOOM_NO_VALUE) return false;
  out[0] = made;
  return attention_others(c, made + 1, out);
}

/* What the forward has given of each query, as (batch, heads, queries). */
static loom_value attention_lse(fx_call *c, const attention_form *form, loom_dtype dtype,
                                const loom_dim *rows) {
  loom_value lse = fx_tensor_as(c, form->lse, dtype);
  if (lse == LOOM_NO_VALUE) return lse;
  const loom_type *type = loom_emit_type(c->b, lse);
  if (type->rank == 3 && type->dims[2] != rows[2])
    lse = loom_emit_slice(c->b, lse, 2, 0, loom_stride_of_dim(rows[2]), 1);
  return loom_emit_reshape(c->b, lse, 3, rows);
}

static bool attention_backward_composed(fx_call *c, const attention_form *form, loom_value *out) {
  attention a = {0};
  loom_emitter *b = c->b;
  if (!attention_read(c, 1, form, &a)) return false;
  loom_dtype dtype = a.type.dtype;
  loom_value grad = fx_tensor_as(c, 0, dtype), result = fx_tensor_as(c, form->result, dtype);
  loom_dim kept[4] = {a.type.dims[0], a.type.dims[1], a.type.dims[2], 1};
  loom_value lse = loom_emit_reshape(b, attention_lse(c, form, dtype, kept), 4, kept);
  loom_value p = loom_emit2(b, LOOM_OP_SUB, a.scores, attention_spread(c, &a, lse));
  p = loom_emit1(b, LOOM_OP_EXP, p);
  loom_value d =
      loom_emit_reduce(b, "sum", loom_emit2(b, LOOM_OP_MUL, grad, result), 1u << 3, true);
  loom_value dp = loom_emit_dot(c->b, grad, a.v, 2, 3, 3);
  dp = loom_emit2(b, LOOM_OP_SUB, dp, attention_spread(c, &a, d));
  loom_value ds =
      loom_emit2(b, LOOM_OP_MUL, loom_emit2(b, LOOM_OP_MUL, p, dp), attention_like(c, &a, a.scale));
  out[0] = fx_round(c, 0, loom_emit_dot(c->b, ds, a.k, 2, 3, 2));
  out[1] = fx_round(c, 1, loom_emit_dot(c->b, ds, a.q, 2, 2, 2));
  out[2] = fx_round(c, 2, loom_emit_dot(c->b, p, grad, 2, 2, 2));
  return out[0] != LOOM_NO_VALUE && out[1] != LOOM_NO_VALUE && out[2] != LOOM_NO_VALUE;
}

/* ..._backward(grad_out, q, k, v, out, logsumexp, dropout_p, is_causal, attn_mask, scale) and those
 * of CUDA: the gradients of q, k and v. */
bool aten_attention_backward(fx_call *c, loom_value *out) {
  attention_call a;
  const attention_form *form = attention_find(c);
  loom_emitter *b = c->b;
  if (c->result_count > 3 && c->present[3] && fx_count(&c->types[3], ~0u) != 0)
    return fx_decline(c, "the gradient of a mask");
  if (c->result_count > 3 && c->present[3]) out[3] = loom_emit_int(b, &c->types[3], 0);
  if (!attention_operands(c, 1, form, &a)) return false;
  if (attention_is_composed(c, &a)) return attention_backward_composed(c, form, out);
  loom_value grad = fx_tensor(c, 0);
  if (grad == LOOM_NO_VALUE) return false;
  const loom_type *type = loom_emit_type(b, grad);
  loom_dim rows[3] = {type->dims[0], type->dims[1], type->dims[2]};
  loom_value product = loom_emit2(b, LOOM_OP_MUL, fx_tensor_as(c, 0, a.dtype),
                                  fx_tensor_as(c, form->result, a.dtype));
  loom_value dot = loom_emit_reduce(b, "sum", product, 1u << 3, false);
  loom_value lse = attention_lse(c, form, a.dtype, rows);
  if (lse == LOOM_NO_VALUE) return false;
  loom_value values[8] = {grad, a.values[0], a.values[1], a.values[2], lse, dot, a.values[3]};
  if (a.count > 4) values[7] = a.values[4];
  loom_attr causal = {.kind = LOOM_ATTR_BOOL, .i = a.causal};
  loom_value made =
      loom_emit(b, LOOM_OP_ATTENTION_GRADIENT, values, a.count + 3, &causal, 1, NULL, 0);
  for (uint32_t i = 0; i < 3; i++)
    out[i] = made == LOOM_NO_VALUE ? made : made + i;
  return made != LOOM_NO_VALUE;
}
