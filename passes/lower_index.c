/* Index forms and how views change them (lower.h).
 *
 * A reshape keeps an index affine where it can: dimensions are taken in groups of equal products,
 * as NumPy does; within a group the linear index is divided by each size, and a division whose
 * terms split into multiples of the divisor and a rest that stays below it needs no instruction.
 */
#include "loom_ops_shapes.h"
#include "passes/lower.h"

#include <string.h>

lower_at *lower_at_new(lower *l, int64_t rank) {
  static lower_at spare; /* only read, after out-of-memory has set `failed` */
  lower_at *at = loom_arena_alloc(l->arena, sizeof *at + (size_t)rank * sizeof at->dims[0]);
  if (!at) {
    l->failed = true;
    return rank == 0 ? &spare : NULL;
  }
  at->rank = rank;
  return at;
}

const lower_at *lower_at_intern(lower *l, lower_at *at) {
  size_t size = sizeof *at + (size_t)at->rank * sizeof at->dims[0];
  for (int i = l->interned_count - 1; i >= 0; i--)
    if (l->interned[i]->rank == at->rank && memcmp(l->interned[i], at, size) == 0)
      return l->interned[i];
  if (l->interned_count == l->interned_capacity) {
    int capacity = l->interned_capacity ? 2 * l->interned_capacity : 32;
    const lower_at **grown = loom_arena_alloc(l->arena, sizeof *grown * (size_t)capacity);
    if (!grown) {
      l->failed = true;
      return at;
    }
    if (l->interned_count) memcpy(grown, l->interned, sizeof *grown * (size_t)l->interned_count);
    l->interned = grown;
    l->interned_capacity = capacity;
  }
  l->interned[l->interned_count++] = at;
  return at;
}

const lower_at *lower_at_identity(lower *l, int64_t rank, int first) {
  lower_at *at = lower_at_new(l, rank);
  for (int64_t d = 0; at && d < rank; d++)
    if (l->vars[first + d].extent != 1) at->dims[d].coef[first + d] = 1;
  return at ? lower_at_intern(l, at) : NULL;
}

bool lower_index_range(const lower *l, const lower_index *index, int64_t *low, int64_t *high) {
  *low = *high = index->constant;
  if (index->opaque.ptr) return false;
  for (int v = 0; v < l->var_count; v++) {
    const lower_var *var = &l->vars[v];
    int64_t coef = index->coef[v];
    if (!coef) continue;
    bool up = loom_num_low(coef) >= 0;
    if (!up && loom_num_high(coef) > 0) return false;
    int64_t top = loom_num_sub(loom_num_sub(var->extent, var->cut), 1);
    *low = loom_num_add(*low, loom_num_mul(coef, up ? var->low : top));
    *high = loom_num_add(*high, loom_num_mul(coef, up ? top : var->low));
  }
  return true;
}

uint32_t lower_index_vars(const lower_index *index) {
  uint32_t vars = index->opaque_vars;
  for (int v = 0; v < LOWER_VARS; v++)
    if (index->coef[v]) vars |= 1u << v;
  return vars;
}

int lower_index_level(const lower *l, const lower_index *index) {
  int level = index->opaque.ptr ? index->opaque_level : 0;
  for (int v = 0; v < l->var_count; v++)
    if (index->coef[v] && l->vars[v].iv.ptr && l->vars[v].level > level) level = l->vars[v].level;
  return level;
}

bool lower_index_lanes(const lower *l, const lower_index *index) {
  if (l->lane_var >= 0 && index->coef[l->lane_var] && l->vars[l->lane_var].iv.ptr) return true;
  return index->opaque.ptr && !l->dry && mlirTypeIsAVector(mlirValueGetType(index->opaque));
}

/* ---- an index as a value ---- */

static MlirValue index_term(lower *l, loom_builder *b, MlirValue sum, MlirValue iv, int64_t coef) {
  MlirType type = mlirValueGetType(iv);
  if (coef != 1) iv = lane_op2(b, "arith.muli", iv, lower_int_like(l, b, type, coef));
  return sum.ptr ? lane_op2(b, "arith.addi", sum, iv) : iv;
}

/* Computes an index. Terms are added from the outermost scope inwards, so that each partial sum is
 * computed in the outermost scope that knows it. */
bool lower_index_base(lower *l, const lower_index *index, lower_value *out) {
  lower_value sum = {{NULL}, 0, false, LOOM_I64};
  if (index->constant) sum = lower_int(l, index->constant);
  for (int level = 0; level <= l->depth; level++) {
    loom_builder b = lower_at_level(l, level);
    for (int v = 0; v < l->var_count; v++) {
      const lower_var *var = &l->vars[v];
      if (!index->coef[v] || !var->iv.ptr || var->level != level) continue;
      sum.v = index_term(l, &b, sum.v, var->iv, index->coef[v]);
      sum.level = level;
    }
    if (index->opaque.ptr && index->opaque_level == level &&
        !mlirTypeIsAVector(mlirValueGetType(index->opaque))) {
      sum.v = index_term(l, &b, sum.v, index->opaque, 1);
      sum.level = level;
    }
  }
  *out = sum;
  return sum.v.ptr != NULL;
}

lower_value lower_index_value(lower *l, const lower_index *index) {
  lower_value base;
  if (!lower_index_base(l, index, &base)) base = lower_int(l, 0);
  base.lanes = lower_index_lanes(l, index);
  if (!base.lanes || l->width == 1) return base;
  int level = lower_index_level(l, index);
  loom_builder b = lower_at_level(l, level > base.level ? level : base.level);
  MlirType type = lane_int(b.ctx, 64, l->width);
  MlirValue sum = lane_splat(&b, base.v, l->width);
  int64_t coef = l->lane_var >= 0 ? index->coef[l->lane_var] : 0;
  if (coef) {
    MlirValue step = lane_id(&b, type);
    if (coef != 1) step = lane_op2(&b, "arith.muli", step, lower_int_like(l, &b, type, coef));
    /* Lanes that are off repeat lane 0, so that they raise nothing of their own. */
    if (l->mask.ptr) step = lane_select(&b, l->mask, step, lane_const_int(&b, type, 0));
    sum = lane_op2(&b, "arith.addi", sum, step);
  }
  if (index->opaque.ptr && mlirTypeIsAVector(mlirValueGetType(index->opaque)))
    sum = lane_op2(&b, "arith.addi", sum, index->opaque);
  base.v = sum;
  if (level > base.level) base.level = level;
  return base;
}

void lower_index_opaque(lower *l, lower_value value, uint32_t vars, lower_index *out) {
  memset(out, 0, sizeof *out);
  out->opaque = value.v;
  out->opaque_level = value.level;
  out->opaque_vars = vars;
  if (!l->dry) return;
  l->individual |= vars;
  out->opaque.ptr = (void *)(uintptr_t)(8 * (1 + l->serial++)); /* only told apart, never read */
}

/* ---- views ---- */

static void index_scale_add(lower_index *sum, const lower_index *index, int64_t scale) {
  for (int v = 0; v < LOWER_VARS; v++)
    if (index->coef[v])
      sum->coef[v] = loom_num_add(sum->coef[v], loom_num_mul(scale, index->coef[v]));
  sum->constant = loom_num_add(sum->constant, loom_num_mul(scale, index->constant));
}

/* index = divisor * multiple + rest, term by term; the constant of `rest` is not negative. */
static void index_split(const lower *l, const lower_index *index, int64_t divisor,
                        lower_index *multiple, lower_index *rest) {
  memset(multiple, 0, sizeof *multiple);
  memset(rest, 0, sizeof *rest);
  if (!loom_num_divide(index->constant, divisor, &multiple->constant)) {
    bool known = !LOOM_STRIDE_IS_SYM(index->constant) && !LOOM_STRIDE_IS_SYM(divisor);
    multiple->constant = known ? loom_num_div(index->constant, divisor) : 0;
    rest->constant = loom_num_sub(index->constant, loom_num_mul(multiple->constant, divisor));
  }
  for (int v = 0; v < l->var_count; v++)
    if (index->coef[v] && !loom_num_divide(index->coef[v], divisor, &multiple->coef[v])) {
      multiple->coef[v] = 0;
      rest->coef[v] = index->coef[v];
    }
}

void lower_index_divmod(lower *l, const lower_index *index, int64_t divisor, lower_index *quotient,
                        lower_index *remainder) {
  lower_index multiple, rest;
  int64_t low, high;
  index_split(l, index, divisor, &multiple, &rest);
  if (!index->opaque.ptr && lower_index_range(l, &rest, &low, &high) && loom_num_at_most(0, low) &&
      loom_num_below(high, divisor)) {
    *quotient = multiple;
    *remainder = rest;
    return;
  }
  uint32_t vars = lower_index_vars(index);
  lower_value value = {{NULL}, 0, false, LOOM_I64}, part;
  if (!l->dry) value = lower_index_value(l, index);
  for (int i = 0; i < 2; i++) {
    part = value;
    if (!l->dry) {
      loom_builder b = lower_at_level(l, value.level);
      MlirType type = mlirValueGetType(value.v);
      MlirValue by = LOOM_STRIDE_IS_SYM(divisor)
                         ? lane_splat(&b, lower_divisor(l, divisor).v, lane_width(type))
                         : lane_const_int(&b, type, divisor);
      part.v = lane_op2(&b, i ? "arith.remui" : "arith.divui", value.v, by);
    }
    lower_index_opaque(l, part, vars, i ? remainder : quotient);
  }
}

/* The sum of two opaque parts, or of one scaled. */
static void index_add_opaque(lower *l, lower_index *sum, const lower_index *index, int64_t scale) {
  uint32_t vars = sum->opaque_vars | index->opaque_vars;
  lower_value total = {{NULL}, 0, false, LOOM_I64};
  if (!l->dry) {
    lower_index a = {0}, c = {0};
    a.opaque = sum->opaque, a.opaque_level = sum->opaque_level;
    c.opaque = index->opaque, c.opaque_level = index->opaque_level;
    lower_value x = lower_index_value(l, &c), y = {{NULL}, 0, false, LOOM_I64};
    if (sum->opaque.ptr) y = lower_index_value(l, &a);
    total.level = x.level > y.level ? x.level : y.level;
    loom_builder b = lower_at_level(l, total.level);
    int width = x.lanes || y.lanes ? l->width : 1;
    total.v = index_term(l, &b, y.v.ptr ? lane_splat(&b, y.v, width) : y.v,
                         lane_splat(&b, x.v, width), scale);
  }
  lower_index opaque;
  lower_index_opaque(l, total, vars, &opaque);
  sum->opaque = opaque.opaque;
  sum->opaque_level = opaque.opaque_level;
  sum->opaque_vars = vars;
}

static void index_accumulate(lower *l, lower_index *sum, const lower_index *index, int64_t scale) {
  index_scale_add(sum, index, scale);
  if (index->opaque.ptr && (scale != 1 || sum->opaque.ptr)) {
    index_add_opaque(l, sum, index, scale);
  } else if (index->opaque.ptr) {
    sum->opaque = index->opaque;
    sum->opaque_level = index->opaque_level;
    sum->opaque_vars = index->opaque_vars;
  }
}

void lower_index_negate(lower *l, lower_index *index) {
  lower_index was = *index;
  memset(index, 0, sizeof *index);
  index_accumulate(l, index, &was, -1);
}

void lower_index_linear(lower *l, const loom_type *type, const lower_at *at, lower_index *out) {
  int64_t stride = 1;
  memset(out, 0, sizeof *out);
  for (int d = type->rank - 1; d >= 0; d--) {
    index_accumulate(l, out, &at->dims[d], stride);
    stride = loom_num_mul(stride, loom_num_dim(type->dims[d]));
  }
}

/* Takes dimensions of both types until their products are equal: the next of those that have the
 * smaller one, as far as that can be told. */
static void index_group(const loom_type *from, const loom_type *to, int *i, int *j) {
  int64_t have_i = loom_num_dim(from->dims[(*i)++]);
  int64_t have_j = *j < to->rank ? loom_num_dim(to->dims[(*j)++]) : 1, ratio;
  while (have_i != have_j) {
    bool less = LOOM_STRIDE_IS_SYM(have_i) || LOOM_STRIDE_IS_SYM(have_j)
                    ? !loom_num_divide(have_i, have_j, &ratio)
                    : have_i < have_j;
    if (*j == to->rank) less = true;
    if (less && *i < from->rank)
      have_i = loom_num_mul(have_i, loom_num_dim(from->dims[(*i)++]));
    else if (*j < to->rank)
      have_j = loom_num_mul(have_j, loom_num_dim(to->dims[(*j)++]));
    else
      break;
  }
}

/* Result index (type `to`) to operand index (type `from`), both of the same number of elements. */
static void index_reshape(lower *l, const loom_type *from, const loom_type *to, const lower_at *at,
                          lower_at *out) {
  int i = 0, j = 0;
  while (i < from->rank) {
    int first_i = i, first_j = j;
    index_group(from, to, &i, &j);
    lower_index linear = {0};
    int64_t stride = 1;
    for (int d = j - 1; d >= first_j; d--) {
      index_accumulate(l, &linear, &at->dims[d], stride);
      stride = loom_num_mul(stride, loom_num_dim(to->dims[d]));
    }
    int last = first_i; /* the outermost dimension that is not 1 takes what is left */
    while (last < i - 1 && from->dims[last] == 1)
      last++;
    for (int d = i - 1; d > last; d--) {
      if (from->dims[d] == 1) continue;
      lower_index quotient;
      lower_index_divmod(l, &linear, loom_num_dim(from->dims[d]), &quotient, &out->dims[d]);
      linear = quotient;
    }
    if (from->dims[last] != 1) out->dims[last] = linear;
  }
}

static void index_slice(lower *l, MlirOperation op, const lower_at *at, lower_at *out) {
  int64_t starts[LOOM_MAX_RANK], steps[LOOM_MAX_RANK];
  loom_get_i64s(op, "starts", starts, LOOM_MAX_RANK);
  loom_get_i64s(op, "steps", steps, LOOM_MAX_RANK);
  for (int64_t d = 0; d < at->rank; d++) {
    index_accumulate(l, &out->dims[d], &at->dims[d], steps[d]);
    out->dims[d].constant = loom_num_add(out->dims[d].constant, starts[d]);
  }
}

const lower_at *lower_at_slice(lower *l, MlirOperation op, const lower_at *at) {
  lower_at *out = lower_at_new(l, at->rank);
  if (!out) return at;
  index_slice(l, op, at, out);
  return lower_at_intern(l, out);
}

static void index_windows(lower *l, MlirOperation op, const lower_at *at, lower_at *out) {
  int64_t strides[LOOM_MAX_RANK], dilation[LOOM_MAX_RANK];
  loom_get_i64s(op, "strides", strides, LOOM_MAX_RANK);
  loom_get_i64s(op, "dilation", dilation, LOOM_MAX_RANK);
  for (int64_t d = 0; d < out->rank; d++) {
    index_accumulate(l, &out->dims[d], &at->dims[d], strides[d]);
    index_accumulate(l, &out->dims[d], &at->dims[out->rank + d], dilation[d]);
  }
}

const lower_at *lower_at_operand(lower *l, MlirOperation op, loom_opcode code, const lower_at *at) {
  if (loom_op_table[code].fusion != LOOM_CLASS_VIEW) return at;
  loom_type from, to;
  int64_t dims[LOOM_MAX_RANK];
  if (!loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &from) ||
      !loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &to)) {
    lower_fail(l, op, "a view of an unknown type");
    return at;
  }
  lower_at *out = lower_at_new(l, from.rank);
  if (!out) return at;
  out->guard = at->guard;
  out->guard_level = at->guard_level;
  switch (code) {
  case LOOM_OP_BROADCAST:
    loom_get_i64s(op, "dims", dims, LOOM_MAX_RANK);
    for (int d = 0; d < from.rank; d++)
      if (from.dims[d] != 1) out->dims[d] = at->dims[dims[d]];
    break;
  case LOOM_OP_TRANSPOSE:
    loom_get_i64s(op, "perm", dims, LOOM_MAX_RANK);
    for (int d = 0; d < from.rank; d++)
      out->dims[dims[d]] = at->dims[d];
    break;
  case LOOM_OP_SLICE: index_slice(l, op, at, out); break;
  case LOOM_OP_WINDOWS: index_windows(l, op, at, out); break;
  default: index_reshape(l, &from, &to, at, out);
  }
  return lower_at_intern(l, out);
}
