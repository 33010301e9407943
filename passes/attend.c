/* loom-attend: a softmax of products between two products becomes an attention.
 *
 * before:
 *     %s = loom.dot_general %q, %k        (perhaps times a scale, plus a mask or selected by one)
 *     %m = loom.reduce "max" %s           (along keys, broadcast back)
 *     %e = loom.exp (%s - %m)
 *     %p = %e / loom.reduce "sum" %e      (the same)
 *     %o = loom.dot_general %p, %v
 *
 * after:
 *     %o, %lse = loom.attention %q, %k, %v, %scale, %mask causal = false empty = "nan"
 *
 * requires: loom-simplify, which brings views and constants to one form.
 *
 * keeps: values up to rounding: sums are scaled once more and divided at the end. A row that holds
 * NaN, an infinity or nothing but -inf gives NaN either way.
 *
 * breaks: nothing.
 *
 * Nothing else may read what is in between, which is never made then. Few queries or keys stay as
 * they are: their scores fit the cache, and the products fuse with what is around them. An
 * attention, made here or elsewhere, whose k and v repeat heads reads the heads themselves.
 */
#include <string.h>

#include "dialects/ir.h"
#include "dialects/pass.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"
#include "loom_ops_reductions.h"
#include "loom_ops_shapes.h"
#include "passes/passes.h"

#define ATTEND_QUERIES 16
#define ATTEND_KEYS 32
#define ATTEND_COLUMNS 256

typedef struct attend_match {
  MlirOperation scores, result; /* the products */
  loom_type type;               /* of what the softmax is taken of */
  int64_t place[4];             /* its dimension i is the place[i] of four */
  loom_dim batch, heads;
  MlirValue scale, mask; /* or null */
  bool divides;          /* by the scale */
  bool hides;            /* the mask is bool: where the score is -inf */
} attend_match;

static bool attend_reads(MlirValue value, int wanted) {
  int count = 0;
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use))
    count++;
  return count == wanted;
}

/* The op of this name that makes a value which is read so often. */
static bool attend_def(MlirValue value, loom_opcode code, int reads, MlirOperation *out) {
  *out = loom_def(value);
  return out->ptr && loom_is(*out, code) && attend_reads(value, reads);
}

/* Is `value` the broadcast of a reduction of `of` along its last dimension? */
static bool attend_row(MlirValue value, const char *kind, MlirValue of, int rank) {
  MlirOperation broadcast, reduce;
  int64_t dims[LOOM_MAX_RANK], axes[LOOM_MAX_RANK];
  if (!attend_def(value, LOOM_OP_BROADCAST, 1, &broadcast) ||
      !attend_def(loom_operand(broadcast, 0), LOOM_OP_REDUCE, 1, &reduce) ||
      !loom_str_is(loom_get_str(reduce, "kind"), kind) || loom_operand(reduce, 0).ptr != of.ptr ||
      loom_get_i64s(reduce, "axes", axes, LOOM_MAX_RANK) != 1 || axes[0] != rank - 1 ||
      loom_get_i64s(broadcast, "dims", dims, LOOM_MAX_RANK) != rank - 1)
    return false;
  for (int i = 0; i < rank - 1; i++)
    if (dims[i] != i) return false;
  return true;
}

/* What is under reshapes that keep the last two dimensions and that nothing else reads. */
static MlirValue attend_under(MlirValue value) {
  loom_type in, out;
  for (MlirOperation def;
       (def = loom_def(value)).ptr && loom_info(def)->alias && attend_reads(value, 1);) {
    MlirValue under = loom_operand(def, 0);
    if (!loom_type_from_mlir(mlirValueGetType(under), &in) ||
        !loom_type_from_mlir(mlirValueGetType(value), &out) || in.rank < 2 || out.rank < 2 ||
        in.dims[in.rank - 1] != out.dims[out.rank - 1] ||
        in.dims[in.rank - 2] != out.dims[out.rank - 2])
      break;
    value = under;
  }
  return value;
}

/* ---- from the softmax to the scores ---- */

static bool attend_scores(MlirValue value, attend_match *m) {
  return attend_def(attend_under(value), LOOM_OP_DOT_GENERAL, 1, &m->scores);
}

static bool attend_scaled(MlirValue value, attend_match *m) {
  MlirOperation def;
  m->scale.ptr = NULL;
  m->divides = false;
  if (attend_scores(value, m)) return true;
  value = attend_under(value);
  for (int side = 0; attend_def(value, LOOM_OP_MUL, 1, &def) && side < 2; side++) {
    m->scale = loom_operand(def, side);
    if (loom_is_splat(m->scale) && attend_scores(loom_operand(def, 1 - side), m)) return true;
  }
  m->divides = attend_def(value, LOOM_OP_DIV, 1, &def);
  if (!m->divides) return false;
  m->scale = loom_operand(def, 1);
  return loom_is_splat(m->scale) && attend_scores(loom_operand(def, 0), m);
}

static bool attend_is_lowest(MlirValue value) {
  MlirAttribute attr = loom_constant_of(value);
  if (!attr.ptr || !mlirAttributeIsAFloat(attr)) return false;
  double x = mlirFloatAttrGetValueDouble(attr);
  return x < 0 && x - x != 0; /* -inf - -inf is NaN */
}

/* Scores and a mask that is added to them. */
static bool attend_added(MlirOperation add, attend_match *m) {
  for (int side = 0; side < 2; side++) {
    m->mask = loom_operand(add, side);
    if (!loom_constant_of(m->mask).ptr && attend_scaled(loom_operand(add, 1 - side), m))
      return true;
  }
  return false;
}

/* Scores where a mask says so, and -inf elsewhere. */
static bool attend_selected(MlirOperation select, attend_match *m) {
  m->mask = loom_operand(select, 0);
  m->hides = attend_is_lowest(loom_operand(select, 1));
  if (!m->hides && !attend_is_lowest(loom_operand(select, 2))) return false;
  return attend_scaled(loom_operand(select, m->hides ? 2 : 1), m);
}

/* Scores that are multiplied or divided last, so that the product is read once. */
static bool attend_scaled_last(MlirOperation op, bool divides, attend_match *m) {
  int side = !divides && loom_is_splat(loom_operand(op, 0)) ? 0 : 1;
  m->scale = loom_operand(op, side);
  m->divides = divides;
  return loom_is_splat(m->scale) && attend_scores(loom_operand(op, 1 - side), m);
}

/* The scores as they enter the softmax, which reads them twice. */
static bool attend_masked(MlirValue value, attend_match *m) {
  MlirOperation def = loom_def(value);
  m->mask.ptr = NULL;
  m->hides = false;
  if (!def.ptr || !attend_reads(value, 2)) return false;
  switch (loom_op_of(def)) {
  case LOOM_OP_ADD: return attend_added(def, m);
  case LOOM_OP_SELECT: return attend_selected(def, m);
  case LOOM_OP_MUL: return attend_scaled_last(def, false, m);
  case LOOM_OP_DIV: return attend_scaled_last(def, true, m);
  case LOOM_OP_RESHAPE: return attend_scaled(loom_operand(def, 0), m);
  case LOOM_OP_DOT_GENERAL:
    m->scale.ptr = NULL;
    m->divides = false;
    m->scores = def;
    return true;
  default: return false;
  }
}

static bool attend_softmax(MlirValue value, attend_match *m) {
  MlirOperation div, exp, sub;
  if (!attend_def(attend_under(value), LOOM_OP_DIV, 1, &div)) return false;
  if (!attend_def(loom_operand(div, 0), LOOM_OP_EXP, 2, &exp) ||
      !attend_def(loom_operand(exp, 0), LOOM_OP_SUB, 1, &sub))
    return false;
  MlirValue e = loom_operand(div, 0), scores = loom_operand(sub, 0);
  if (!loom_type_from_mlir(mlirValueGetType(scores), &m->type) ||
      !attend_row(loom_operand(div, 1), "sum", e, m->type.rank) ||
      !attend_row(loom_operand(sub, 1), "max", scores, m->type.rank))
    return false;
  return attend_masked(scores, m);
}

/* ---- products ---- */

/* One side of a product: its batch dimensions, then the two others, `first` being the free one or
 * the contracted one. False unless there are these. */
static bool attend_side(MlirOperation dot, int side, bool contract_last, int64_t *perm, int *rank) {
  static const char *const names[][2] = {{"lhs_batch", "lhs_contract"},
                                         {"rhs_batch", "rhs_contract"}};
  int64_t contract[LOOM_MAX_RANK];
  intptr_t batch = loom_get_i64s(dot, names[side][0], perm, LOOM_MAX_RANK);
  *rank = (int)mlirShapedTypeGetRank(mlirValueGetType(loom_operand(dot, side)));
  if (loom_get_i64s(dot, names[side][1], contract, LOOM_MAX_RANK) != 1 || batch != *rank - 2)
    return false;
  int64_t left = 0;
  for (int d = 0; d < *rank; d++)
    left += d;
  for (intptr_t i = 0; i < batch; i++)
    left -= perm[i];
  left -= contract[0];
  perm[*rank - 2] = contract_last ? left : contract[0];
  perm[*rank - 1] = contract_last ? contract[0] : left;
  return true;
}

static bool attend_in_order(const int64_t *perm, int rank) {
  for (int i = 0; i < rank; i++)
    if (perm[i] != i) return false;
  return true;
}

/* Do the sizes fit, and is there enough of them? */
static bool attend_fits(attend_match *m) {
  int64_t perm[LOOM_MAX_RANK];
  loom_type scores, k, v;
  int rank, r = m->type.rank;
  if (r < 2 || r > 4 || (m->type.dtype != LOOM_F32 && m->type.dtype != LOOM_F64)) return false;
  for (int side = 0; side < 2; side++)
    if (!attend_side(m->scores, side, true, perm, &rank)) return false;
  if (!loom_type_from_mlir(mlirValueGetType(loom_operand(m->scores, 1)), &k) ||
      LOOM_DIM_IS_SYM(k.dims[perm[rank - 1]]) || k.dims[perm[rank - 1]] > ATTEND_COLUMNS)
    return false;
  if (!attend_side(m->result, 1, false, perm, &rank) ||
      !loom_type_from_mlir(mlirValueGetType(loom_operand(m->result, 1)), &v) ||
      LOOM_DIM_IS_SYM(v.dims[perm[rank - 1]]) || v.dims[perm[rank - 1]] > ATTEND_COLUMNS)
    return false;
  if (!loom_type_from_mlir(mlirValueGetType(loom_result(m->scores, 0)), &scores) ||
      scores.dims[scores.rank - 1] != m->type.dims[r - 1] ||
      scores.dims[scores.rank - 2] != m->type.dims[r - 2])
    return false;
  m->batch = r > 2 ? m->type.dims[0] : 1;
  m->heads = r > 3 ? m->type.dims[1] : 1;
  for (int i = 0; i < r; i++)
    m->place[i] = i >= r - 2 ? i + 4 - r : i;
  return !LOOM_DIM_IS_SYM(m->heads) &&
         loom_num_hint(loom_num_dim(m->type.dims[r - 2])) >= ATTEND_QUERIES &&
         loom_num_hint(loom_num_dim(m->type.dims[r - 1])) >= ATTEND_KEYS;
}

/* ---- building ---- */

static MlirValue attend_transpose(loom_builder *b, MlirValue value, const int64_t *perm) {
  loom_type in, out;
  if (!loom_type_from_mlir(mlirValueGetType(value), &in) || attend_in_order(perm, in.rank))
    return value;
  out = in;
  for (int i = 0; i < in.rank; i++)
    out.dims[i] = in.dims[perm[i]];
  MlirType type = loom_type_to_mlir(b->ctx, &out);
  loom_named attr = {"perm", loom_attr_i64s(b->ctx, in.rank, perm)};
  return loom_result(loom_build_op(b, LOOM_OP_TRANSPOSE, 1, &value, 1, &type, 1, &attr), 0);
}

static MlirValue attend_reshape(loom_builder *b, MlirValue value, const loom_type *to) {
  MlirType type = loom_type_to_mlir(b->ctx, to);
  if (mlirTypeEqual(type, mlirValueGetType(value))) return value;
  return loom_build_op1(b, LOOM_OP_RESHAPE, value, type);
}

/* A side of a product as (batch, heads, ., .). What was reshaped from there is read there. */
static MlirValue attend_operand(loom_builder *b, const attend_match *m, MlirOperation dot, int side,
                                bool contract_last) {
  int64_t perm[LOOM_MAX_RANK], four[4] = {0, 1, 2, 3};
  int rank;
  loom_type in, under;
  MlirValue value = loom_operand(dot, side);
  MlirOperation def = loom_def(value);
  if (!attend_side(dot, side, contract_last, perm, &rank) ||
      !loom_type_from_mlir(mlirValueGetType(value), &in))
    return value;
  if (rank == 3 && perm[0] == 0 && def.ptr && loom_info(def)->alias &&
      loom_type_from_mlir(mlirValueGetType(loom_operand(def, 0)), &under) && under.rank == 4 &&
      under.dims[0] == m->batch && under.dims[1] == m->heads && under.dims[2] == in.dims[1] &&
      under.dims[3] == in.dims[2]) {
    four[2] = perm[1] + 1;
    four[3] = perm[2] + 1;
    return attend_transpose(b, loom_operand(def, 0), four);
  }
  loom_type to = {
      in.dtype, 4, {m->batch, m->heads, in.dims[perm[rank - 2]], in.dims[perm[rank - 1]]}};
  return attend_reshape(b, attend_transpose(b, value, perm), &to);
}

/* The mask with four dimensions, of which those that it does not have are 1. */
static MlirValue attend_mask(loom_builder *b, const attend_match *m) {
  int64_t dims[LOOM_MAX_RANK];
  loom_type in, to = {m->type.dtype, 4, {1, 1, 1, 1}};
  MlirValue value = m->mask;
  MlirOperation def = loom_def(value);
  for (int i = 0; i < m->type.rank; i++)
    dims[i] = i;
  if (def.ptr && loom_is(def, LOOM_OP_BROADCAST)) {
    loom_get_i64s(def, "dims", dims, LOOM_MAX_RANK);
    value = loom_operand(def, 0);
  }
  if (!loom_type_from_mlir(mlirValueGetType(value), &in)) return value;
  to.dtype = in.dtype;
  for (int i = 0; i < in.rank; i++)
    to.dims[m->place[dims[i]]] = in.dims[i];
  if (m->hides) value = loom_build_op1(b, LOOM_OP_NOT, value, mlirValueGetType(value));
  return attend_reshape(b, value, &to);
}

static MlirValue attend_constant(loom_builder *b, MlirType type, MlirAttribute attr) {
  loom_named value = {"value", attr};
  return loom_result(loom_build_op(b, LOOM_OP_CONSTANT, 0, NULL, 1, &type, 1, &value), 0);
}

static MlirValue attend_scale(loom_builder *b, const attend_match *m) {
  loom_type scalar = {.dtype = m->type.dtype};
  MlirType type = loom_type_to_mlir(b->ctx, &scalar),
           element = loom_dtype_to_mlir(b->ctx, scalar.dtype);
  MlirAttribute unit = mlirFloatAttrDoubleGet(b->ctx, element, 1);
  if (!m->scale.ptr) return attend_constant(b, type, unit);
  MlirAttribute constant = loom_constant_of(m->scale);
  if (constant.ptr) {
    if (m->divides && mlirAttributeIsAFloat(constant))
      constant = mlirFloatAttrDoubleGet(b->ctx, element, 1 / mlirFloatAttrGetValueDouble(constant));
    return attend_constant(b, type, constant);
  }
  MlirValue value = loom_operand(loom_def(m->scale), 0);
  if (!m->divides) return value;
  return loom_build_op2(b, LOOM_OP_DIV, attend_constant(b, type, unit), value, type);
}

static void attend_build(attend_match *m) {
  loom_builder b = loom_builder_before(m->result);
  loom_type q, v, result;
  MlirValue operands[5];
  operands[0] = attend_operand(&b, m, m->scores, 0, true);
  operands[1] = attend_operand(&b, m, m->scores, 1, true);
  operands[2] = attend_operand(&b, m, m->result, 1, false);
  operands[3] = attend_scale(&b, m);
  if (m->mask.ptr) operands[4] = attend_mask(&b, m);
  MlirType old = mlirValueGetType(loom_result(m->result, 0));
  if (!loom_type_from_mlir(mlirValueGetType(operands[0]), &q) ||
      !loom_type_from_mlir(mlirValueGetType(operands[2]), &v) || !loom_type_from_mlir(old, &result))
    return;
  loom_type out = q, rows = q;
  out.dims[3] = v.dims[3];
  rows.rank = 3;
  rows.dims[3] = 0;
  MlirType types[] = {loom_type_to_mlir(b.ctx, &out), loom_type_to_mlir(b.ctx, &rows)};
  loom_named attrs[] = {{"causal", mlirBoolAttrGet(b.ctx, 0)},
                        {"empty", loom_attr_str(b.ctx, "nan")}};
  MlirOperation made =
      loom_build_op(&b, LOOM_OP_ATTENTION, m->mask.ptr ? 5 : 4, operands, 2, types, 2, attrs);
  if (!made.ptr) return;
  mlirValueReplaceAllUsesOfWith(loom_result(m->result, 0),
                                attend_reshape(&b, loom_result(made, 0), &result));
  mlirOperationDestroy(m->result);
}

/* ---- repeated heads ---- */

/* (batch, groups, keys, .) under a broadcast to (batch, groups, times, keys, .) and a reshape to
 * (batch, heads, keys, .); null when it is not so. */
static MlirValue attend_once(MlirValue value, loom_type *out) {
  MlirOperation reshape = loom_def(value), broadcast;
  int64_t dims[LOOM_MAX_RANK];
  loom_type wide, all;
  MlirValue none = {NULL};
  if (!reshape.ptr || !loom_info(reshape)->alias) return none;
  broadcast = loom_def(loom_operand(reshape, 0));
  if (!broadcast.ptr || !loom_is(broadcast, LOOM_OP_BROADCAST) ||
      !loom_type_from_mlir(mlirValueGetType(value), &all) ||
      !loom_type_from_mlir(mlirValueGetType(loom_operand(reshape, 0)), &wide) ||
      !loom_type_from_mlir(mlirValueGetType(loom_operand(broadcast, 0)), out) || wide.rank != 5)
    return none;
  intptr_t count = loom_get_i64s(broadcast, "dims", dims, LOOM_MAX_RANK);
  for (intptr_t i = 0; i < count; i++)
    if (dims[i] != (count == 5 ? i : i < 2 ? i : i + 1)) return none;
  if (wide.dims[0] != all.dims[0] || wide.dims[3] != all.dims[2] || wide.dims[4] != all.dims[3])
    return none;
  loom_type once = {wide.dtype, 4, {wide.dims[0], wide.dims[1], wide.dims[3], wide.dims[4]}};
  bool fits = count == 4 ? loom_type_equal(out, &once)
                         : count == 5 && out->dims[2] == 1 && out->dims[0] == once.dims[0] &&
                               out->dims[1] == once.dims[1] && out->dims[3] == once.dims[2] &&
                               out->dims[4] == once.dims[3];
  *out = once;
  return fits ? loom_operand(broadcast, 0) : none;
}

static void attend_unrepeat(MlirOperation op) {
  loom_type types[2];
  MlirValue once[2];
  for (int i = 0; i < 2; i++) {
    once[i] = attend_once(loom_operand(op, i + 1), &types[i]);
    if (!once[i].ptr) return;
  }
  if (types[0].dims[1] != types[1].dims[1]) return;
  loom_builder b = loom_builder_before(op);
  for (int i = 0; i < 2; i++)
    mlirOperationSetOperand(op, i + 1, attend_reshape(&b, once[i], &types[i]));
}

/* ---- the pass ---- */

static bool attend_visit(MlirOperation op, void *user) {
  attend_match m = {.result = op};
  int64_t perm[LOOM_MAX_RANK];
  int rank;
  if (loom_is(op, LOOM_OP_DOT_GENERAL) && attend_side(op, 0, true, perm, &rank) &&
      attend_in_order(perm, rank) && attend_softmax(loom_operand(op, 0), &m)) {
    bool fits = attend_fits(&m);
    loom_count(0, fits);
    loom_remark(fits ? LOOM_REMARK_PASSED : LOOM_REMARK_MISSED, mlirOperationGetLocation(op),
                "attend", "a softmax between two products is %s",
                fits ? "an attention" : "no attention: its kernel does not take these types");
    if (fits) attend_build(&m);
  }
  return true;
}

static bool attend_visit_made(MlirOperation op, void *user) {
  if (loom_is(op, LOOM_OP_ATTENTION)) attend_unrepeat(op);
  return true;
}

static bool attend_run(MlirOperation function) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
  return !block.ptr || (loom_walk_block(block, attend_visit, NULL) &&
                        loom_walk_block(block, attend_visit_made, NULL));
}

MlirPass loom_make_attend_pass(void) {
  static const loom_pass_spec spec = {
      .name = "LoomAttend",
      .flag = "loom-attend",
      .summary = "Turn a softmax between two products into an attention",
      .root = "builtin.module",
      .each_function = true,
      .run = attend_run,
      .counters = {{"attentions", "softmaxes that became attentions"}}};
  return loom_pass_of(&spec);
}
