/* Random numbers: frameloom.random.default, which torch's random ops are decomposed into
 * (python/frameloom/_torch_random.py).
 *
 * Its arguments: size, seed (two int64, drawn from torch's generator when the graph runs), number
 * (of the draw in the graph), kind, low, high. Each draw has the seed's first word as its key and a
 * sequence of counters of its own. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "graph/emit.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"

#include <math.h>
#include <string.h>

static loom_value random_draw(fx_call *c, const char *kind, loom_dtype dtype) {
  int64_t number;
  loom_type pair = loom_type_make(LOOM_U64, 1, (loom_dim[]){2});
  loom_type type = c->types[0];
  if (!fx_int(c, 2, &number)) return LOOM_NO_VALUE;
  loom_value key = loom_emit_convert(c->b, fx_tensor(c, 1), LOOM_U64);
  loom_value counter = loom_emit2(c->b, LOOM_OP_MUL, loom_emit_iota(c->b, &pair, 0),
                                  loom_emit_int(c->b, &pair, number));
  loom_attr attr = {.kind = LOOM_ATTR_STR, .str = kind};
  type.dtype = dtype;
  return loom_emit(c->b, c->op, (loom_value[]){key, counter}, 2, &attr, 1, &type, 1);
}

/* [0, 1) in steps that the dtype can tell apart, so that rounding never gives 1. */
static loom_value random_steps(fx_call *c, loom_value v, int bits) {
  loom_type type = *loom_emit_type(c->b, v);
  loom_value scale = loom_emit_float(c->b, &type, ldexp(1, bits));
  v = loom_emit1(c->b, LOOM_OP_FLOOR, loom_emit2(c->b, LOOM_OP_MUL, v, scale));
  return loom_emit2(c->b, LOOM_OP_MUL, v, loom_emit_float(c->b, &type, ldexp(1, -bits)));
}

/* Integers from `low` to below `high`: the remainder of random bits, as in torch. */
static loom_value random_integers(fx_call *c) {
  int64_t low, high;
  if (!fx_int(c, 4, &low) || !fx_int(c, 5, &high)) return LOOM_NO_VALUE;
  uint64_t span = (uint64_t)high - (uint64_t)low;
  if (high <= low || span > INT64_MAX) {
    fx_decline(c, "a range of integers that is too wide");
    return LOOM_NO_VALUE;
  }
  loom_value v = random_draw(c, "bits", span < UINT32_MAX ? LOOM_U32 : LOOM_U64);
  if (v == LOOM_NO_VALUE) return v;
  loom_type type = *loom_emit_type(c->b, v);
  v = loom_emit2(c->b, LOOM_OP_REM, v, loom_emit_int(c->b, &type, (int64_t)span));
  v = loom_emit_convert(c->b, v, LOOM_I64);
  type.dtype = LOOM_I64;
  v = loom_emit2(c->b, LOOM_OP_ADD, v, loom_emit_int(c->b, &type, low));
  return loom_emit_convert(c->b, v, c->types[0].dtype);
}

bool aten_random(fx_call *c, loom_value *out) {
  const char *kind = fx_text(c, 3);
  loom_dtype dtype = c->types[0].dtype;
  if (!strcmp(kind, "integers")) {
    out[0] = random_integers(c);
  } else if (!loom_dtype_is_float(dtype)) {
    return fx_decline(c, "random numbers of this dtype");
  } else {
    loom_value v = random_draw(c, kind, fx_compute_dtype(dtype));
    bool half = fx_compute_dtype(dtype) != dtype && !strcmp(kind, "uniform");
    if (v != LOOM_NO_VALUE && half) v = random_steps(c, v, dtype == LOOM_F16 ? 11 : 8);
    out[0] = loom_emit_convert(c->b, v, dtype);
  }
  return out[0] != LOOM_NO_VALUE;
}
