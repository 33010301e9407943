/* Values on demand (lower.h): each is made once for an index, in the outermost scope that knows all
 * it needs. */
#include "loom_ops_elements.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"
#include "loom_ops_reductions.h"
#include "loom_ops_shapes.h"
#include "passes/emit.h"
#include "passes/passes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define EMIT_BUCKETS 512

struct lower_memo {
  lower_memo *next;
  MlirValue value;
  const lower_at *at;
  lower_value is;
  uint32_t serial; /* of the scope it lives in */
  uint32_t box;
};

typedef struct lower_bound {
  struct lower_bound *next;
  MlirValue value;
  const lower_at *at;
  lower_value is;
} lower_bound;

void lower_init(lower *l, const lower_kernel *kernel, loom_arena *arena, bool dry) {
  memset(l, 0, sizeof *l);
  l->kernel = kernel;
  l->arena = arena;
  l->loc = mlirOperationGetLocation(kernel->op);
  l->dry = dry;
  l->lane_var = -1;
  l->width = 1;
  l->depth = -1;
  if (dry) { /* one scope, never built in */
    l->depth = 0;
    l->scopes[0].serial = ++l->serial;
  }
  l->memo = loom_arena_alloc(arena, sizeof *l->memo * EMIT_BUCKETS);
  if (!l->memo) l->failed = true;
}

bool lower_fail(lower *l, MlirOperation op, const char *text) {
  if (!l->failed)
    loom_emit_error(mlirOperationGetLocation(op), "cannot lower '%.*s': %s",
                    (int)mlirIdentifierStr(mlirOperationGetName(op)).length,
                    mlirIdentifierStr(mlirOperationGetName(op)).data, text);
  l->failed = true;
  return false;
}

loom_builder lower_at_level(const lower *l, int level) {
  return loom_builder_at_end(l->scopes[level < 0 ? 0 : level].block, l->loc);
}

void lower_locate(lower *l, MlirOperation op) {
  if (l->dry || !l->kernel->checked || !op.ptr) return;
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  l->loc = mlirLocationNameGet(l->kernel->ctx, name, mlirOperationGetLocation(op));
}

/* Quotient and remainder towards negative infinity, of what may be negative, by a positive one. */
static MlirValue emit_floor(loom_builder *b, MlirValue x, MlirValue y, bool quotient) {
  MlirType i64 = mlirValueGetType(x);
  MlirValue rest = lane_op2(b, "arith.remsi", x, y), zero = loom_build_int(b, i64, 0);
  MlirValue below = lane_cmpi(b, "slt", rest, zero);
  if (!quotient) return lane_op2(b, "arith.addi", rest, lane_select(b, below, y, zero));
  MlirValue one = lane_select(b, below, loom_build_int(b, i64, 1), zero);
  return lane_op2(b, "arith.subi", lane_op2(b, "arith.divsi", x, y), one);
}

/* A symbolic number: its expression over the symbols that the launch passes. */
static MlirValue emit_number(lower *l, loom_builder *b, uint32_t index) {
  const loom_expr *expr = &loom_sizes()->exprs[index];
  MlirType i64 = mlirIntegerTypeGet(b->ctx, 64);
  if (expr->kind == LOOM_EXPR_CONST) return loom_build_int(b, i64, expr->value);
  if (expr->kind == LOOM_EXPR_SYMBOL) {
    MlirValue place = loom_build_int(b, i64, l->kernel->scalar_count + expr->value);
    return lane_load(b, lane_address(b, l->params, place, LOOM_I64), LOOM_I64, 1,
                     (MlirValue){NULL});
  }
  bool divides = expr->kind == LOOM_EXPR_FLOORDIV || expr->kind == LOOM_EXPR_MOD;
  uint32_t lhs = expr->lhs, rhs = expr->rhs;
  loom_expr_kind kind = expr->kind;
  MlirValue x = lower_int(l, LOOM_STRIDE_SYM(lhs)).v;
  MlirValue y =
      divides ? lower_divisor(l, LOOM_STRIDE_SYM(rhs)).v : lower_int(l, LOOM_STRIDE_SYM(rhs)).v;
  if (divides && loom_num_low(LOOM_STRIDE_SYM(lhs)) < 0)
    return emit_floor(b, x, y, kind == LOOM_EXPR_FLOORDIV);
  switch (kind) {
  case LOOM_EXPR_ADD: return lane_op2(b, "arith.addi", x, y);
  case LOOM_EXPR_MUL: return lane_op2(b, "arith.muli", x, y);
  case LOOM_EXPR_FLOORDIV: return lane_op2(b, "arith.divui", x, y);
  case LOOM_EXPR_MOD: return lane_op2(b, "arith.remui", x, y);
  default: break;
  }
  return lane_select(b, lane_cmpi(b, kind == LOOM_EXPR_MIN ? "slt" : "sgt", x, y), x, y);
}

lower_value lower_int(lower *l, int64_t value) {
  loom_builder b = lower_at_level(l, 0);
  lower_value out = {{NULL}, 0, false, LOOM_I64};
  if (!LOOM_STRIDE_IS_SYM(value)) {
    out.v = loom_build_int(&b, mlirIntegerTypeGet(b.ctx, 64), value);
    return out;
  }
  for (int i = 0; i < l->number_count; i++)
    if (l->numbers[i].code == value) {
      out.v = l->numbers[i].v;
      return out;
    }
  out.v = emit_number(l, &b, LOOM_STRIDE_EXPR(value));
  if (l->number_count < LOWER_NUMBERS) l->numbers[l->number_count++] = (lower_number){value, out.v};
  return out;
}

lower_value lower_divisor(lower *l, int64_t value) {
  lower_value out = lower_int(l, value);
  if (loom_num_low(value) >= 1) return out;
  loom_builder b = lower_at_level(l, 0);
  MlirValue one = loom_build_int(&b, mlirValueGetType(out.v), 1);
  out.v = lane_select(&b, lane_cmpi(&b, "sgt", out.v, one), out.v, one);
  return out;
}

MlirValue lower_int_like(lower *l, loom_builder *b, MlirType type, int64_t value) {
  if (!LOOM_STRIDE_IS_SYM(value)) return lane_const_int(b, type, value);
  MlirValue v = lower_int(l, value).v;
  MlirType element = lane_element(type);
  if (!mlirTypeEqual(element, mlirValueGetType(v))) v = loom_build1(b, "arith.trunci", v, element);
  return lane_splat(b, v, lane_width(type));
}

void lower_push(lower *l, MlirBlock block) {
  if (l->depth + 1 >= LOWER_SCOPES) {
    lower_fail(l, l->kernel->op, "loops nest too deeply");
    return;
  }
  l->scopes[++l->depth] = (lower_scope){block, ++l->serial};
}

void lower_pop(lower *l) {
  l->scopes[l->depth].serial = 0;
  l->depth--;
}

/* ---- memo ---- */

static size_t emit_bucket(MlirValue value, const lower_at *at) {
  uintptr_t h = (uintptr_t)value.ptr * 31 + (uintptr_t)at;
  return (h ^ (h >> 9) ^ (h >> 18)) % EMIT_BUCKETS;
}

static bool emit_known(const lower *l, MlirValue value, const lower_at *at, lower_value *out) {
  for (const lower_bound *n = l->bound; n; n = n->next)
    if (mlirValueEqual(n->value, value) && (!n->at || n->at == at)) {
      *out = n->is;
      return true;
    }
  for (const lower_memo *m = l->memo[emit_bucket(value, at)]; m; m = m->next)
    if (mlirValueEqual(m->value, value) && m->at == at && m->is.level <= l->depth &&
        l->scopes[m->is.level].serial == m->serial && (m->box == l->box || (!m->box && !l->dry))) {
      *out = m->is;
      return true;
    }
  return false;
}

void lower_remember(lower *l, MlirValue value, const lower_at *at, lower_value is) {
  lower_memo *m = loom_arena_alloc(l->arena, sizeof *m);
  if (!m) {
    l->failed = true;
    return;
  }
  size_t bucket = emit_bucket(value, at);
  uint32_t serial = l->depth >= 0 ? l->scopes[is.level].serial : 0;
  *m = (lower_memo){l->memo[bucket], value, at, is, serial, l->box};
  l->memo[bucket] = m;
  l->remembered++;
}

void lower_bind(lower *l, MlirValue value, const lower_at *at, lower_value is) {
  lower_bound *n = loom_arena_alloc(l->arena, sizeof *n);
  if (!n) {
    l->failed = true;
    return;
  }
  *n = (lower_bound){l->bound, value, at, is};
  l->bound = n;
}

void lower_finish(lower *l, MlirValue value, const lower_at *at, lower_value is) {
  lower_value values[64];
  l->bound = NULL;
  lower_bind(l, value, at, is);
  for (int i = 0; i < l->kernel->result_count && !l->failed; i++)
    values[i] = lower_emit(l, l->kernel->results[i].value, at);
  for (int i = 0; i < l->kernel->result_count && !l->failed; i++)
    lower_store(l, i, at, values[i]);
  l->bound = NULL;
}

/* ---- lanes ---- */

MlirValue lower_wide(lower *l, lower_value value) {
  if (value.lanes || l->width == 1) return value.v;
  loom_builder b = lower_at_level(l, value.level);
  if (loom_dtype_is_complex(value.dtype)) return lane_pair_splat(&b, value.v, l->width);
  return lane_splat(&b, value.v, l->width);
}

int emit_guard_level(const lower_at *at) { return at->guard.ptr ? at->guard_level : 0; }

MlirValue emit_mask(lower *l, loom_builder *b, const lower_at *at, bool wide) {
  MlirValue guard = at->guard, none = {NULL};
  if (!guard.ptr) return wide ? l->mask : none;
  if (!wide) return guard;
  guard = lane_splat(b, guard, l->width);
  return l->mask.ptr ? lane_op2(b, "arith.andi", guard, l->mask) : guard;
}

MlirValue lower_repeat_first(lower *l, loom_builder *b, MlirValue value) {
  if (!l->mask.ptr || l->width == 1) return value;
  if (lane_width(mlirValueGetType(value)) == 2 * l->width)
    return lane_select(b, lane_pair_mask(b, l->mask), value, lane_pair_splat(b, value, l->width));
  MlirValue first = lane_splat(b, lane_extract(b, value, 0), l->width);
  return lane_select(b, l->mask, value, first);
}

/* ---- ops ---- */

static lower_value emit_constant(lower *l, MlirOperation op, loom_dtype dtype) {
  lower_value out = {{NULL}, 0, false, dtype};
  if (l->dry) return out;
  loom_builder b = lower_at_level(l, 0);
  MlirAttribute value = loom_get_attr(op, "value");
  MlirType type = lane_type(b.ctx, dtype, 1);
  if (value.ptr && mlirAttributeIsADenseElements(value) && mlirDenseElementsAttrIsSplat(value))
    value = mlirDenseElementsAttrGetSplatValue(value);
  if (value.ptr && mlirAttributeIsAFloat(value) && loom_dtype_is_float(dtype)) {
    /* The attribute itself keeps every bit, NaNs included, when its type is the element's. */
    loom_named attr = {"value", value};
    if (!mlirTypeEqual(mlirAttributeGetType(value), type))
      attr.value = mlirFloatAttrDoubleGet(b.ctx, type, mlirFloatAttrGetValueDouble(value));
    out.v = loom_result(loom_build(&b, "arith.constant", 0, NULL, 1, &type, 1, &attr), 0);
  } else if (value.ptr && mlirAttributeIsABool(value)) {
    out.v = loom_build_int(&b, type, mlirBoolAttrGetValue(value));
  } else if (value.ptr && mlirAttributeIsAInteger(value)) {
    MlirType from = mlirAttributeGetType(value);
    int64_t bits = mlirTypeIsAInteger(from) && mlirIntegerTypeIsUnsigned(from)
                       ? (int64_t)mlirIntegerAttrGetValueUInt(value)
                   : mlirTypeIsAInteger(from) && mlirIntegerTypeIsSigned(from)
                       ? mlirIntegerAttrGetValueSInt(value)
                       : mlirIntegerAttrGetValueInt(value);
    if (loom_dtype_is_float(dtype))
      out.v = loom_build_float(&b, type, (double)bits);
    else
      out.v = loom_build_int(&b, type, dtype == LOOM_BOOL ? bits != 0 : bits);
  } else {
    lower_fail(l, op, "a constant that is no single number");
  }
  return out;
}

MlirValue lower_flag_bits(loom_builder *b, MlirValue condition, uint32_t flag) {
  MlirType i32 = mlirIntegerTypeGet(b->ctx, 32);
  MlirValue any = lane_any(b, condition);
  return lane_select(b, any, loom_build_int(b, i32, flag), loom_build_int(b, i32, 0));
}

void lower_flag_add(lower *l, loom_builder *b, MlirValue bits) {
  MlirValue old = lane_load(b, l->status, LOOM_I32, 1, (MlirValue){NULL});
  lane_store(b, lane_op2(b, "arith.ori", old, bits), l->status, LOOM_I32, (MlirValue){NULL});
}

void lower_flag(lower *l, lower_value condition, uint32_t flag) {
  if (l->dry) return;
  loom_builder b = lower_at_level(l, condition.level);
  MlirValue bits = lower_flag_bits(&b, condition.v, flag), inside = l->team.rounds.inside;
  if (inside.ptr && condition.level == l->depth)
    bits = lane_select(&b, inside, bits, loom_build_int(&b, mlirValueGetType(bits), 0));
  lower_flag_add(l, &b, bits);
}

int lower_level_of(const lower *l, const loom_builder *b) {
  int level = 0;
  for (int i = 0; i <= l->depth; i++)
    if (mlirBlockEqual(l->scopes[i].block, b->block)) level = i;
  return level;
}

/* May a register be found to be a constant? It is computed from constants and nothing else, or made
 * of an integer that is computed: those fold where floats do not (`a ^ a`). */
static bool emit_is_constant(MlirValue v, int depth) {
  MlirOperation op = loom_def(v);
  if (!op.ptr || depth == 0 || loom_is_named(op, "llvm.freeze")) return false;
  if (loom_is_named(op, "arith.constant")) return true;
  if (loom_is_named(op, "arith.uitofp") || loom_is_named(op, "arith.sitofp")) {
    MlirOperation number = loom_def(loom_operand(op, 0));
    return number.ptr && !loom_is_named(number, "llvm.load") &&
           !loom_is_named(number, "llvm.intr.masked.load");
  }
  intptr_t count = mlirOperationGetNumOperands(op);
  bool constant = count > 0 && mlirOperationGetNumRegions(op) == 0;
  for (intptr_t i = 0; i < count && constant; i++)
    constant = emit_is_constant(loom_operand(op, i), depth - 1);
  return constant;
}

#define EMIT_DEPTH 8

MlirValue lower_opaque(loom_builder *b, MlirOperation op, MlirValue v) {
  bool real = v.ptr && mlirTypeIsAFloat(lane_element(mlirValueGetType(v)));
  if (!real || !loom_fp_of(op) || !emit_is_constant(v, EMIT_DEPTH)) return v;
  return loom_build1(b, "llvm.freeze", v, mlirValueGetType(v));
}

static bool emit_is_nan(MlirValue v) {
  MlirOperation op = loom_def(v);
  if (!op.ptr || !loom_is_named(op, "arith.constant")) return false;
  MlirAttribute value = loom_get_attr(op, "value");
  return mlirAttributeIsAFloat(value) && isnan(mlirFloatAttrGetValueDouble(value));
}

/* An operation of constants alone: hiding one of them is enough. A comparison with NaN is known,
 * too, and would not need what the other operand is computed from, nor the flags of that. */
static void emit_opaque(loom_builder *b, MlirOperation op, MlirValue *registers, intptr_t count) {
  bool constant = count > 0;
  for (intptr_t i = 0; i < count && loom_is(op, LOOM_OP_COMPARE); i++)
    if (emit_is_nan(registers[i]))
      registers[i] = loom_build1(b, "llvm.freeze", registers[i], mlirValueGetType(registers[i]));
  for (intptr_t i = 0; i < count && constant; i++)
    constant = emit_is_constant(registers[i], EMIT_DEPTH);
  if (constant) registers[0] = lower_opaque(b, op, registers[0]);
}

static lower_value emit_elementwise(lower *l, MlirOperation op, loom_opcode code,
                                    const lower_at *at, loom_dtype dtype) {
  lower_value args[3], out = {{NULL}, 0, false, dtype};
  intptr_t count = mlirOperationGetNumOperands(op);
  if (count > 3) lower_fail(l, op, "too many operands");
  for (intptr_t i = 0; i < count && i < 3 && !l->failed; i++) {
    lower_locate(l, op);
    args[i] = lower_emit(l, loom_operand(op, i), at);
    if (args[i].level > out.level) out.level = args[i].level;
    out.lanes |= args[i].lanes;
  }
  if (l->failed) return out;
  loom_dtype from = count > 0 ? args[code == LOOM_OP_SELECT ? 1 : 0].dtype : dtype;
  if (loom_dtype_is_complex(from)) lower_fail(l, op, "complex numbers are loom-complex's");
  if (l->failed) return out;
  l->cost += lower_cost(code, from);
  if (l->dry) return out;
  MlirValue registers[3];
  for (intptr_t i = 0; i < count; i++)
    registers[i] = out.lanes ? lower_wide(l, args[i]) : args[i].v;
  l->loc = mlirOperationGetLocation(op);
  lower_locate(l, op);
  loom_builder b = lower_at_level(l, out.level);
  emit_opaque(&b, op, registers, count);
  out.v = lower_scalar(l, &b, op, code, from, registers);
  if (!out.v.ptr) lower_fail(l, op, "not supported for this element type");
  return out;
}

/* Complex numbers are taken apart where they come from memory and joined where they go there. */
static lower_value emit_part(lower *l, MlirOperation op, loom_opcode code, const lower_at *at,
                             loom_dtype dtype) {
  lower_value x = lower_emit(l, loom_operand(op, 0), at), y = x, out = x;
  if (code == LOOM_OP_COMPLEX) y = lower_emit(l, loom_operand(op, 1), at);
  out.dtype = dtype;
  l->cost += 1;
  if (l->failed) return out;
  if (y.level > out.level) out.level = y.level;
  out.lanes |= y.lanes;
  if (l->dry) return out;
  loom_builder b = lower_at_level(l, out.level);
  if (code != LOOM_OP_COMPLEX)
    out.v = lane_part(&b, x.v, code == LOOM_OP_IMAG);
  else if (out.lanes)
    out.v = lane_pair(&b, lower_wide(l, x), lower_wide(l, y));
  else
    out.v = lane_pair(&b, x.v, y.v);
  return out;
}

static lower_value emit_op(lower *l, MlirOperation op, const lower_at *at) {
  lower_value none = {{NULL}, 0, false, LOOM_I64};
  loom_opcode code;
  loom_type type;
  if (!loom_opcode_of(op, &code) ||
      !loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &type)) {
    lower_fail(l, op, "not an op of a group");
    return none;
  }
  if (code == LOOM_OP_CONSTANT) return emit_constant(l, op, type.dtype);
  if (loom_op_table[code].fusion == LOOM_CLASS_VIEW)
    return lower_emit(l, loom_operand(op, 0), lower_at_operand(l, op, code, at));
  if (code == LOOM_OP_COPY) return lower_emit(l, loom_operand(op, 0), at);
  bool part = loom_op_table[code].lower == LOOM_LOWER_PART;
  if (loom_op_table[code].fusion == LOOM_CLASS_POINTWISE && !part)
    return emit_elementwise(l, op, code, at, type.dtype);
  lower_locate(l, op);
  if (part) return emit_part(l, op, code, at, type.dtype);
  if (loom_dtype_is_complex(type.dtype)) {
    lower_fail(l, op, "complex numbers are loom-complex's");
    return none;
  }
  switch (code) {
  case LOOM_OP_REDUCE: return lower_emit_reduce(l, op, at);
  case LOOM_OP_SCAN: return lower_emit_scan(l, op, at);
  case LOOM_OP_RANDOM: return lower_emit_random(l, op, at);
  default: return lower_emit_move(l, op, code, at);
  }
}

lower_value lower_emit(lower *l, MlirValue value, const lower_at *at) {
  lower_value out = {{NULL}, 0, false, LOOM_I64};
  if (l->failed || !at) return out;
  if (emit_known(l, value, at, &out)) return out;
  if (mlirValueIsABlockArgument(value)) {
    int number = (int)mlirBlockArgumentGetArgNumber(value);
    const lower_buffer *buffer = &l->kernel->operands[number];
    out = buffer->scalar >= 0 ? emit_parameter(l, buffer) : emit_load(l, buffer, number, at);
  } else {
    lower_saved *saved = lower_save_of(l, value, at);
    bool ready = saved && saved->closed;
    out = ready ? lower_save_load(l, saved) : emit_op(l, loom_def(value), at);
    if (saved && !ready && !l->failed) lower_save_store(l, saved, out);
  }
  if (!l->failed) lower_remember(l, value, at, out);
  return out;
}
