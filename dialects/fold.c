/* Folding: constants, identities that hold for every bit pattern, and views of views.
 *
 * A fold never changes a bit of a result and never hides a floating-point exception that the op
 * would report: constants are computed under a private floating-point environment and kept only
 * when no flag but "inexact" was raised. Ops whose kernels approximate (exp, sin, ...) are not
 * computed here, since the kernel's bits are its own. */
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_control.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"
#include "loom_ops_shapes.h"

typedef struct fold_call {
  MlirOperation op;
  loom_opcode opcode;
  loom_type type;    /* of the first result */
  loom_type operand; /* of the first operand */
  intptr_t count;
  const MlirAttribute *constants; /* for each operand, or null */
} fold_call;

static const loom_folded fold_none = {{NULL}, {NULL}};

static loom_folded fold_value(MlirValue value) { return (loom_folded){value, {NULL}}; }
static loom_folded fold_operand(const fold_call *f, intptr_t i) {
  return fold_value(loom_operand(f->op, i));
}
/* The op was changed in place. */
static loom_folded fold_self(const fold_call *f) { return fold_value(loom_result(f->op, 0)); }

static loom_folded fold_cell(const fold_call *f, loom_dtype dtype, loom_cell cell) {
  loom_attr scalar;
  loom_cell_to_attr(dtype, cell, &scalar);
  return (loom_folded){{NULL}, loom_scalar_to_mlir(mlirOperationGetContext(f->op), dtype, &scalar)};
}

static bool fold_constant(const fold_call *f, intptr_t i, loom_cell *out) {
  loom_attr scalar;
  if (i >= f->count || !f->constants[i].ptr ||
      !loom_scalar_from_mlir(f->constants[i], f->operand.dtype, &scalar))
    return false;
  *out = loom_cell_from_attr(f->operand.dtype, &scalar);
  return true;
}

static bool fold_is_integral(loom_dtype dtype) {
  return dtype == LOOM_BOOL || loom_dtype_is_integer(dtype);
}

/* May the operand go, though its elements were wanted? */
static bool fold_may_drop(const fold_call *f, intptr_t i) {
  return !loom_may_raise(loom_operand(f->op, i));
}

/* ---- constants ---- */

/* Are the op's bits the same on every implementation that keeps to IEEE 754? */
static bool fold_is_exact(const fold_call *f) {
  if (fold_is_integral(f->operand.dtype)) return true;
  if (f->operand.dtype != LOOM_F32 && f->operand.dtype != LOOM_F64) return false;
  return loom_op_table[f->opcode].rounded;
}

static bool fold_is_negative_power(const fold_call *f, loom_cell exponent) {
  return f->opcode == LOOM_OP_POW && loom_dtype_is_signed(f->operand.dtype) && exponent.i < 0;
}

static loom_folded fold_arithmetic(const fold_call *f) {
  loom_cell in[LOOM_CELL_OPERANDS] = {0}, result;
  fenv_t saved;
  if (!fold_is_exact(f) || f->count > LOOM_CELL_OPERANDS) return fold_none;
  for (int i = 0; i < f->count; i++)
    if (!fold_constant(f, i, &in[i])) return fold_none;
  if (fold_is_negative_power(f, in[1])) return fold_none;
  feholdexcept(&saved);
  bool good = loom_cell_apply(f->opcode, f->operand.dtype, in, &result);
  bool raised = fetestexcept(FE_ALL_EXCEPT & ~FE_INEXACT) != 0;
  fesetenv(&saved);
  /* The payload of a NaN is left to the kernel. */
  if (!good || raised || isnan(result.re)) return fold_none;
  return fold_cell(f, f->operand.dtype, result);
}

static loom_folded fold_convert(const fold_call *f) {
  loom_cell a;
  fenv_t saved;
  if (f->operand.dtype == f->type.dtype) return fold_operand(f, 0);
  if (!fold_constant(f, 0, &a) || isnan(a.re) || isnan(a.im)) return fold_none;
  feholdexcept(&saved);
  loom_cell result = loom_cell_convert(f->operand.dtype, f->type.dtype, a);
  bool raised = fetestexcept(FE_ALL_EXCEPT & ~FE_INEXACT) != 0;
  fesetenv(&saved);
  bool half = f->type.dtype == LOOM_F16 || f->type.dtype == LOOM_BF16;
  if (raised || (half && result.re != a.re)) return fold_none;
  return fold_cell(f, f->type.dtype, result);
}

static loom_folded fold_compare(const fold_call *f) {
  MlirStringRef name = loom_get_str(f->op, "direction");
  char direction[3] = {0};
  loom_cell a, b;
  if (name.length != 2) return fold_none;
  memcpy(direction, name.data, 2);
  bool same = mlirValueEqual(loom_operand(f->op, 0), loom_operand(f->op, 1));
  if (same && fold_is_integral(f->operand.dtype) && fold_may_drop(f, 0)) {
    a = b = (loom_cell){0};
  } else if (!fold_constant(f, 0, &a) || !fold_constant(f, 1, &b)) {
    return fold_none;
  }
  bool truth = loom_cell_compare(direction, f->operand.dtype, a, b);
  return fold_cell(f, LOOM_BOOL, (loom_cell){.i = truth});
}

static loom_folded fold_select(const fold_call *f) {
  loom_cell condition;
  if (mlirValueEqual(loom_operand(f->op, 1), loom_operand(f->op, 2)))
    return fold_may_drop(f, 0) ? fold_operand(f, 1) : fold_none;
  if (!fold_constant(f, 0, &condition)) return fold_none;
  intptr_t taken = condition.i ? 1 : 2;
  return fold_may_drop(f, 3 - taken) ? fold_operand(f, taken) : fold_none;
}

/* ---- identities ---- */

/* Is `value` the element that leaves the other operand as it is, whatever its bits? For floats: x *
 * 1, x / 1, x + -0.0 and x - 0.0 (but not x + 0.0, which turns -0.0 into 0.0). */
static bool fold_is_neutral(const fold_call *f, loom_cell value) {
  loom_dtype dtype = f->operand.dtype;
  bool integral = fold_is_integral(dtype);
  bool zero = integral ? value.i == 0 : value.re == 0 && value.im == 0;
  bool one = integral ? value.i == 1 : value.re == 1 && value.im == 0;
  bool complex = loom_dtype_is_complex(dtype);
  switch (f->opcode) {
  case LOOM_OP_ADD: return zero && !complex && (integral || signbit(value.re));
  case LOOM_OP_SUB: return zero && !complex && (integral || !signbit(value.re));
  case LOOM_OP_MUL:
  case LOOM_OP_DIV: return one && !complex;
  case LOOM_OP_FLOOR_DIV:
  case LOOM_OP_POW: return one && integral;
  case LOOM_OP_OR:
  case LOOM_OP_XOR:
  case LOOM_OP_SHL:
  case LOOM_OP_SHR: return zero;
  case LOOM_OP_AND: return dtype == LOOM_BOOL ? one : loom_cell_round(LOOM_I64, value).i == -1;
  default: return false;
  }
}

/* Does the element decide an integer op's result alone (x * 0, x & 0)? */
static bool fold_is_absorbing(const fold_call *f, loom_cell value) {
  if (!fold_is_integral(f->operand.dtype)) return false;
  bool decides_at_zero = f->opcode == LOOM_OP_MUL || f->opcode == LOOM_OP_AND;
  bool decides_at_one =
      f->operand.dtype == LOOM_BOOL && (f->opcode == LOOM_OP_ADD || f->opcode == LOOM_OP_OR);
  return (decides_at_zero && value.i == 0) || (decides_at_one && value.i == 1);
}

/* May an arithmetic op give its operand's place to its result? A bool that is read from memory or
 * moved there may be any byte, which the op turns into 0 or 1. */
static bool fold_may_stand_for(const fold_call *f, MlirValue value) {
  MlirOperation def = loom_def(value);
  return f->operand.dtype != LOOM_BOOL || (def.ptr && loom_info(def)->truth);
}

/* Twice "not" is nothing. */
static loom_folded fold_not(const fold_call *f) {
  MlirOperation inner = loom_def(loom_operand(f->op, 0));
  if (!inner.ptr || !loom_is(inner, LOOM_OP_NOT)) return fold_none;
  MlirValue value = loom_operand(inner, 0);
  return fold_may_stand_for(f, value) ? fold_value(value) : fold_none;
}

static loom_folded fold_same_operands(const fold_call *f) {
  switch (f->opcode) {
  case LOOM_OP_MAX:
  case LOOM_OP_MIN:
  case LOOM_OP_FMAX:
  case LOOM_OP_FMIN:
  case LOOM_OP_AND:
  case LOOM_OP_OR:
    return fold_may_stand_for(f, loom_operand(f->op, 0)) ? fold_operand(f, 0) : fold_none;
  case LOOM_OP_SUB:
  case LOOM_OP_XOR:
    if (!fold_is_integral(f->operand.dtype) || !fold_may_drop(f, 0)) return fold_none;
    return fold_cell(f, f->operand.dtype, (loom_cell){0});
  default: return fold_none;
  }
}

static loom_folded fold_binary(const fold_call *f) {
  loom_cell value;
  if (fold_constant(f, 1, &value)) {
    if (fold_is_neutral(f, value) && fold_may_stand_for(f, loom_operand(f->op, 0)))
      return fold_operand(f, 0);
    if (fold_is_absorbing(f, value) && fold_may_drop(f, 0))
      return fold_cell(f, f->operand.dtype, value);
  }
  /* Commutative ops carry a lone constant on the right. */
  if (mlirValueEqual(loom_operand(f->op, 0), loom_operand(f->op, 1))) {
    loom_folded same = fold_same_operands(f);
    if (same.value.ptr || same.attribute.ptr) return same;
  }
  return fold_arithmetic(f);
}

/* ---- views ---- */

static bool fold_is_identity(const int64_t *list, intptr_t count) {
  for (intptr_t i = 0; i < count; i++)
    if (list[i] != i) return false;
  return true;
}

/* The op that makes the operand, when it is of the same kind as this one. */
static bool fold_producer(const fold_call *f, MlirOperation *out) {
  loom_opcode opcode;
  *out = loom_def(loom_operand(f->op, 0));
  return out->ptr && loom_opcode_of(*out, &opcode) && opcode == f->opcode;
}

static loom_folded fold_compose(const fold_call *f, MlirOperation inner, const char *name,
                                const int64_t *list, intptr_t count) {
  MlirContext ctx = mlirOperationGetContext(f->op);
  if (name) loom_set_attr(f->op, name, loom_attr_i64s(ctx, count, list));
  mlirOperationSetOperand(f->op, 0, loom_operand(inner, 0));
  return fold_self(f);
}

/* broadcast and transpose: a list of result or operand dimensions. */
static loom_folded fold_dimension_list(const fold_call *f, const char *name) {
  int64_t outer[LOOM_MAX_RANK], inner[LOOM_MAX_RANK], both[LOOM_MAX_RANK];
  intptr_t count = loom_get_i64s(f->op, name, outer, LOOM_MAX_RANK);
  MlirOperation producer;
  if (count < 0 || count > LOOM_MAX_RANK) return fold_none;
  MlirType from = mlirValueGetType(loom_operand(f->op, 0));
  if (mlirTypeEqual(from, mlirValueGetType(loom_result(f->op, 0))) &&
      fold_is_identity(outer, count))
    return fold_operand(f, 0);
  if (!fold_producer(f, &producer)) return fold_none;
  intptr_t below = loom_get_i64s(producer, name, inner, LOOM_MAX_RANK);
  if (below < 0 || below > LOOM_MAX_RANK) return fold_none;
  bool transpose = f->opcode == LOOM_OP_TRANSPOSE;
  intptr_t kept = transpose ? count : below;
  for (intptr_t i = 0; i < kept; i++) {
    int64_t at = transpose ? outer[i] : inner[i], limit = transpose ? below : count;
    if (at < 0 || at >= limit) return fold_none;
    both[i] = transpose ? inner[at] : outer[at];
  }
  return fold_compose(f, producer, name, both, kept);
}

static loom_folded fold_reshape(const fold_call *f) {
  MlirOperation producer;
  MlirType type = mlirValueGetType(loom_result(f->op, 0));
  if (mlirTypeEqual(mlirValueGetType(loom_operand(f->op, 0)), type)) return fold_operand(f, 0);
  if (!fold_producer(f, &producer)) return fold_none;
  MlirValue source = loom_operand(producer, 0);
  if (mlirTypeEqual(mlirValueGetType(source), type)) return fold_value(source);
  return fold_compose(f, producer, NULL, NULL, 0);
}

typedef struct fold_window {
  int64_t starts[LOOM_MAX_RANK], sizes[LOOM_MAX_RANK], steps[LOOM_MAX_RANK];
} fold_window;

static bool fold_read_window(MlirOperation op, intptr_t rank, fold_window *out) {
  return loom_get_i64s(op, "starts", out->starts, LOOM_MAX_RANK) == rank &&
         loom_get_i64s(op, "sizes", out->sizes, LOOM_MAX_RANK) == rank &&
         loom_get_i64s(op, "steps", out->steps, LOOM_MAX_RANK) == rank;
}

static bool fold_is_whole(const fold_window *w, const loom_type *type) {
  for (int i = 0; i < type->rank; i++)
    if (w->starts[i] != 0 || w->steps[i] != 1 || w->sizes[i] != type->dims[i]) return false;
  return true;
}

static loom_folded fold_slice(const fold_call *f) {
  fold_window outer, inner;
  MlirOperation producer;
  int rank = f->operand.rank;
  if (!fold_read_window(f->op, rank, &outer)) return fold_none;
  if (fold_is_whole(&outer, &f->operand)) return fold_operand(f, 0);
  if (!fold_producer(f, &producer) || !fold_read_window(producer, rank, &inner)) return fold_none;
  for (int i = 0; i < rank; i++) {
    if (outer.sizes[i] < 0 || inner.sizes[i] < 0 || LOOM_STRIDE_IS_SYM(outer.starts[i]) ||
        LOOM_STRIDE_IS_SYM(inner.starts[i]))
      return fold_none;
    int64_t offset;
    if (outer.sizes[i] == 0) { /* nothing is read: any start and step inside are as good */
      outer.starts[i] = 0;
      outer.steps[i] = 1;
      continue;
    }
    if (__builtin_mul_overflow(outer.starts[i], inner.steps[i], &offset) ||
        __builtin_add_overflow(offset, inner.starts[i], &outer.starts[i]) ||
        __builtin_mul_overflow(outer.steps[i], inner.steps[i], &outer.steps[i]))
      return fold_none;
  }
  MlirContext ctx = mlirOperationGetContext(f->op);
  loom_set_attr(f->op, "starts", loom_attr_i64s(ctx, rank, outer.starts));
  loom_set_attr(f->op, "steps", loom_attr_i64s(ctx, rank, outer.steps));
  return fold_compose(f, producer, "sizes", outer.sizes, rank);
}

static loom_folded fold_view(const fold_call *f) {
  if (f->count && f->constants[0].ptr) return (loom_folded){{NULL}, f->constants[0]};
  switch (f->opcode) {
  case LOOM_OP_BROADCAST: return fold_dimension_list(f, "dims");
  case LOOM_OP_TRANSPOSE: return fold_dimension_list(f, "perm");
  case LOOM_OP_RESHAPE: return fold_reshape(f);
  case LOOM_OP_SLICE: return fold_slice(f);
  default: return fold_none;
  }
}

static loom_folded fold_size(const fold_call *f) {
  int64_t axis = loom_get_i64(f->op, "axis", -1);
  if (axis < 0 || axis >= f->operand.rank || LOOM_DIM_IS_SYM(f->operand.dims[axis]))
    return fold_none;
  return fold_cell(f, LOOM_I64, (loom_cell){.i = f->operand.dims[axis]});
}

/* ---- entry points ---- */

loom_folded loom_fold_op(MlirOperation op, intptr_t count, const MlirAttribute *constants) {
  fold_call f = {.op = op, .count = count, .constants = constants};
  if (!loom_opcode_of(op, &f.opcode) || mlirOperationGetNumResults(op) != 1) return fold_none;
  if (f.opcode == LOOM_OP_CONSTANT) return (loom_folded){{NULL}, loom_get_attr(op, "value")};
  if (!loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &f.type) ||
      !loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &f.operand))
    return fold_none;
  switch (f.opcode) {
  case LOOM_OP_COMPARE: return fold_compare(&f);
  case LOOM_OP_SELECT: return fold_select(&f);
  case LOOM_OP_CONVERT: return fold_convert(&f);
  case LOOM_OP_SIZE: return fold_size(&f);
  default: break;
  }
  if (loom_op_table[f.opcode].fusion == LOOM_CLASS_VIEW) return fold_view(&f);
  if (count == 2) return fold_binary(&f);
  loom_folded folded = f.opcode == LOOM_OP_NOT ? fold_not(&f) : fold_none;
  return folded.value.ptr ? folded : fold_arithmetic(&f);
}

bool loom_can_materialize(MlirAttribute value, MlirType type) {
  loom_type plain;
  loom_attr scalar;
  return mlirTypeIsARankedTensor(type) && loom_type_from_mlir(type, &plain) &&
         loom_scalar_from_mlir(value, plain.dtype, &scalar);
}
