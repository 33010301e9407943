/* Keeps LLVM from raising floating-point flags that no operation of the user's raises.
 *
 * LLVM selects `vcmpltps` for `fcmp olt` of vectors, and `vminps` where a select takes the smaller
 * operand: both raise "invalid" where an operand is NaN. To the library an order of NaN is an
 * answer, not an exception: a kernel would report what no operation of the user's raised, for each
 * array with a missing value. So once LLVM's passes have run
 *
 * - orders of vectors become constrained comparisons, for which LLVM selects the quiet predicates;
 * - minima and maxima become such comparisons and selects, or, where vectors have 512 bits, the
 *   instructions whose exceptions are suppressed;
 * - orders of scalars become the instruction that sets the flags of branches (`vucomiss`), which is
 *   quiet; for a select of scalars by one of their orders the mask of a vector is better;
 * - what may raise is computed of four floats where it is of two. */
#include <llvm-c/Core.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "targets/target.h"
#include "targets/x86/values.h"

typedef struct quiet_state {
  LLVMModuleRef module;
  LLVMContextRef context;
  LLVMBuilderRef builder;
  bool quietly;    /* there are comparisons of vectors that raise nothing */
  bool suppresses; /* there are instructions that raise nothing */
  x86_raising raising;
  unsigned compare, signal, minimum, maximum, fence; /* numbers of intrinsics */
} quiet_state;

static bool quiet_is_vector(LLVMValueRef v) {
  return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

/* A comparison: its name in LLVM, its number in an instruction of vectors that raises nothing for
 * NaN, and how the instruction that sets the flags of branches tells it: `a ult b` is not
 * `a oge b`, and `a olt b` is `b ogt a`. */
typedef struct quiet_order {
  LLVMRealPredicate predicate;
  const char *name;
  uint8_t number;
  enum { QUIET_GT, QUIET_GE, QUIET_EQ, QUIET_NEQ } test;
  bool exchanged, negated;
} quiet_order;

static const quiet_order quiet_orders[] = {
    {LLVMRealOLT, "olt", 0x11, QUIET_GT, true, false},
    {LLVMRealOLE, "ole", 0x12, QUIET_GE, true, false},
    {LLVMRealOGT, "ogt", 0x1e, QUIET_GT, false, false},
    {LLVMRealOGE, "oge", 0x1d, QUIET_GE, false, false},
    {LLVMRealULT, "ult", 0x19, QUIET_GE, false, true},
    {LLVMRealULE, "ule", 0x1a, QUIET_GT, false, true},
    {LLVMRealUGT, "ugt", 0x16, QUIET_GE, true, true},
    {LLVMRealUGE, "uge", 0x15, QUIET_GT, true, true},
    {LLVMRealOEQ, "oeq", 0x00, QUIET_EQ, false, false},
    {LLVMRealUNE, "une", 0x04, QUIET_NEQ, false, false},
    {LLVMRealUNO, "uno", 0x03, QUIET_EQ, false, false}, /* of vectors only */
};

static const quiet_order *quiet_find(LLVMRealPredicate predicate) {
  for (size_t i = 0; i < sizeof quiet_orders / sizeof *quiet_orders; i++)
    if (quiet_orders[i].predicate == predicate) return &quiet_orders[i];
  return NULL;
}

static LLVMValueRef quiet_text(const quiet_state *s, const char *text) {
  return LLVMMetadataAsValue(s->context, LLVMMDStringInContext2(s->context, text, strlen(text)));
}

static LLVMValueRef quiet_call(const quiet_state *s, unsigned id, LLVMTypeRef *overload,
                               LLVMValueRef *args, unsigned count) {
  size_t overloads = overload ? 1 : 0;
  LLVMValueRef function = LLVMGetIntrinsicDeclaration(s->module, id, overload, overloads);
  LLVMTypeRef signature = LLVMIntrinsicGetType(s->context, id, overload, overloads);
  return LLVMBuildCall2(s->builder, signature, function, args, count, "");
}

static LLVMValueRef quiet_i32(const quiet_state *s, unsigned n) {
  return LLVMConstInt(LLVMInt32TypeInContext(s->context), n, false);
}

/* ---- scalars ---- */

/* They are the first lane of a vector. Nothing may look at the others, which hold anything. */
static LLVMValueRef quiet_widen(const quiet_state *s, LLVMValueRef v) {
  if (quiet_is_vector(v)) return v;
  LLVMTypeRef type = LLVMTypeOf(v);
  LLVMTypeRef lanes = LLVMVectorType(type, LLVMGetTypeKind(type) == LLVMFloatTypeKind ? 4 : 2);
  return LLVMBuildInsertElement(s->builder, LLVMGetPoison(lanes), v, quiet_i32(s, 0), "");
}

static LLVMValueRef quiet_narrow(const quiet_state *s, LLVMValueRef v, LLVMTypeRef type) {
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) return v;
  return LLVMBuildExtractElement(s->builder, v, quiet_i32(s, 0), "");
}

/* The order of the first lanes of `a` and `b`. */
static LLVMValueRef quiet_compare_first(const quiet_state *s, const quiet_order *order,
                                        LLVMValueRef a, LLVMValueRef b) {
  unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(a));
  LLVMTypeRef i8 = LLVMInt8TypeInContext(s->context);
  LLVMTypeRef bits = LLVMVectorType(LLVMIntTypeInContext(s->context, 128 / lanes), lanes);
  LLVMValueRef args[] = {a, b, LLVMConstInt(i8, order->number, false)};
  unsigned id = x86_intrinsic(lanes == 4 ? "llvm.x86.sse.cmp.ss" : "llvm.x86.sse2.cmp.sd");
  LLVMValueRef mask = LLVMBuildBitCast(s->builder, quiet_call(s, id, NULL, args, 3), bits, "");
  return LLVMBuildICmp(s->builder, LLVMIntSLT, mask, LLVMConstNull(bits), "");
}

/* The order of two scalars as a condition, by the instruction that sets the flags of branches. */
static LLVMValueRef quiet_condition(const quiet_state *s, LLVMRealPredicate predicate, bool signals,
                                    LLVMValueRef a, LLVMValueRef b) {
  static const char *const tests[] = {
      [QUIET_GT] = "gt", [QUIET_GE] = "ge", [QUIET_EQ] = "eq", [QUIET_NEQ] = "neq"};
  const quiet_order *order = quiet_find(predicate);
  bool single = LLVMGetTypeKind(LLVMTypeOf(a)) == LLVMFloatTypeKind;
  LLVMValueRef args[] = {quiet_widen(s, order->exchanged ? b : a),
                         quiet_widen(s, order->exchanged ? a : b)};
  char name[32];
  snprintf(name, sizeof name, "llvm.x86.sse%s.%scomi%s.s%c", single ? "" : "2", signals ? "" : "u",
           tests[order->test], single ? 's' : 'd');
  LLVMValueRef met = quiet_call(s, x86_intrinsic(name), NULL, args, 2);
  return LLVMBuildICmp(s->builder, order->negated ? LLVMIntEQ : LLVMIntNE, met, quiet_i32(s, 0),
                       "");
}

/* Of vectors, or of their first lanes where `type` is a scalar's. */
static LLVMValueRef quiet_compare(const quiet_state *s, LLVMTypeRef type,
                                  LLVMRealPredicate predicate, LLVMValueRef a, LLVMValueRef b) {
  const quiet_order *order = quiet_find(predicate);
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return quiet_compare_first(s, order, a, b);
  LLVMValueRef args[] = {a, b, quiet_text(s, order->name), quiet_text(s, "fpexcept.ignore")};
  return quiet_call(s, s->compare, &type, args, 4);
}

/* ---- instructions that raise nothing ---- */

#define QUIET_LANES 64
#define QUIET_SUPPRESS 8 /* the current rounding, no exceptions */

static LLVMValueRef quiet_piece(const quiet_state *s, LLVMValueRef v, unsigned from,
                                unsigned count) {
  LLVMValueRef lanes[QUIET_LANES];
  LLVMTypeRef i32 = LLVMInt32TypeInContext(s->context);
  for (unsigned i = 0; i < count; i++)
    lanes[i] = LLVMConstInt(i32, from + i, false);
  return LLVMBuildShuffleVector(s->builder, v, LLVMGetPoison(LLVMTypeOf(v)),
                                LLVMConstVector(lanes, count), "");
}

static LLVMValueRef quiet_join(const quiet_state *s, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef lanes[QUIET_LANES];
  LLVMTypeRef i32 = LLVMInt32TypeInContext(s->context);
  unsigned count = 2 * LLVMGetVectorSize(LLVMTypeOf(a));
  for (unsigned i = 0; i < count; i++)
    lanes[i] = LLVMConstInt(i32, i, false);
  return LLVMBuildShuffleVector(s->builder, a, b, LLVMConstVector(lanes, count), "");
}

/* Lanes of one instruction. */
static unsigned quiet_unit(LLVMTypeRef type) {
  return LLVMGetTypeKind(x86_element(type)) == LLVMFloatTypeKind ? 16 : 8;
}

/* Is it one or some of the widest vectors? */
static bool quiet_is_wide(LLVMTypeRef type) {
  unsigned unit = quiet_unit(type);
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return false;
  unsigned size = LLVMGetVectorSize(type);
  return size >= unit && size <= QUIET_LANES && (size & (size - 1)) == 0;
}

static const char *quiet_instruction_name(bool max, bool single, bool vector) {
  static const char *const names[2][2][2] = {
      {{"llvm.x86.avx512.mask.min.sd.round", "llvm.x86.avx512.min.pd.512"},
       {"llvm.x86.avx512.mask.min.ss.round", "llvm.x86.avx512.min.ps.512"}},
      {{"llvm.x86.avx512.mask.max.sd.round", "llvm.x86.avx512.max.pd.512"},
       {"llvm.x86.avx512.mask.max.ss.round", "llvm.x86.avx512.max.ps.512"}}};
  return names[max][single][vector];
}

/* `a` where it is above (below) `b`, else `b`: as the instruction decides. */
static LLVMValueRef quiet_extreme_first(const quiet_state *s, bool max, LLVMValueRef a,
                                        LLVMValueRef b) {
  bool single = LLVMGetVectorSize(LLVMTypeOf(a)) == 4;
  LLVMValueRef all = LLVMConstInt(LLVMInt8TypeInContext(s->context), 0xff, false);
  LLVMValueRef args[] = {a, b, a, all, quiet_i32(s, QUIET_SUPPRESS)};
  return quiet_call(s, x86_intrinsic(quiet_instruction_name(max, single, false)), NULL, args, 5);
}

static LLVMValueRef quiet_extreme(const quiet_state *s, bool max, LLVMValueRef a, LLVMValueRef b) {
  LLVMTypeRef type = LLVMTypeOf(a);
  unsigned size = LLVMGetVectorSize(type), unit = quiet_unit(type), half = size / 2;
  if (size > unit) {
    LLVMValueRef low =
        quiet_extreme(s, max, quiet_piece(s, a, 0, half), quiet_piece(s, b, 0, half));
    LLVMValueRef high =
        quiet_extreme(s, max, quiet_piece(s, a, half, half), quiet_piece(s, b, half, half));
    return quiet_join(s, low, high);
  }
  LLVMValueRef args[] = {a, b, quiet_i32(s, QUIET_SUPPRESS)};
  return quiet_call(s, x86_intrinsic(quiet_instruction_name(max, unit == 16, true)), NULL, args, 3);
}

/* Can an instruction choose? Vectors between a scalar and the widest ones are compared. */
static bool quiet_suppresses(const quiet_state *s, LLVMTypeRef type) {
  return s->suppresses && (quiet_is_wide(type) || LLVMGetTypeKind(type) != LLVMVectorTypeKind);
}

/* Of vectors, or of their first lanes where `type` is a scalar's. */
static LLVMValueRef quiet_choose(const quiet_state *s, LLVMTypeRef type, bool max, LLVMValueRef a,
                                 LLVMValueRef b) {
  if (quiet_suppresses(s, type))
    return quiet_is_wide(type) ? quiet_extreme(s, max, a, b) : quiet_extreme_first(s, max, a, b);
  LLVMValueRef order = quiet_compare(s, type, max ? LLVMRealOGT : LLVMRealOLT, a, b);
  return LLVMBuildSelect(s->builder, order, a, b, "");
}

/* ---- what is exchanged ---- */

static void quiet_exchange(LLVMValueRef old, LLVMValueRef with) {
  LLVMReplaceAllUsesWith(old, with);
  LLVMInstructionEraseFromParent(old);
}

/* Constants and converted integers. */
static bool quiet_is_number(LLVMValueRef v) {
  LLVMBool lost;
  if (LLVMIsASIToFPInst(v) || LLVMIsAUIToFPInst(v)) return true;
  if (!LLVMIsAConstant(v)) return false;
  unsigned count = quiet_is_vector(v) ? LLVMGetVectorSize(LLVMTypeOf(v)) : 1;
  for (unsigned i = 0; i < count; i++) {
    LLVMValueRef one = quiet_is_vector(v) ? LLVMGetAggregateElement(v, i) : v;
    if (!one || !LLVMIsAConstantFP(one) || isnan(LLVMConstRealGetDouble(one, &lost))) return false;
  }
  return true;
}

/* llvm.maximum, llvm.minimum: NaN if either is; of two zeros the second one, or the one that may be
 * NaN where the other one is known to be none, as LLVM's own code has it. */
static void quiet_maximum(const quiet_state *s, LLVMValueRef call, bool max) {
  LLVMTypeRef type = LLVMTypeOf(call);
  LLVMPositionBuilderBefore(s->builder, call);
  LLVMValueRef x = LLVMGetOperand(call, 0), y = LLVMGetOperand(call, 1);
  LLVMValueRef a = quiet_widen(s, x), b = quiet_widen(s, y), r;
  if (quiet_is_number(y)) {
    r = quiet_choose(s, type, max, b, a);
  } else {
    r = quiet_choose(s, type, max, a, b);
    if (!quiet_is_number(x)) {
      LLVMValueRef nan = quiet_is_vector(call) ? LLVMBuildFCmp(s->builder, LLVMRealUNO, a, a, "")
                                               : quiet_compare(s, type, LLVMRealUNO, a, a);
      r = LLVMBuildSelect(s->builder, nan, a, r, "");
    }
  }
  quiet_exchange(call, quiet_narrow(s, r, type));
}

static bool quiet_is_nsz_extreme(const quiet_state *s, LLVMValueRef v, bool *max) {
  unsigned id = x86_intrinsic_of(v);
  if (!id || !x86_is_real(LLVMTypeOf(v))) return false;
  *max = id && id == s->maximum;
  return (*max || (id && id == s->minimum)) &&
         (LLVMGetFastMathFlags(v) & LLVMFastMathNoSignedZeros);
}

/* A select of `a` and `b` by a strict, ordered order of them. */
static bool quiet_is_extreme(LLVMValueRef select, LLVMValueRef comparison, bool *max) {
  LLVMRealPredicate order = LLVMGetFCmpPredicate(comparison);
  *max = order == LLVMRealOGT;
  return (*max || order == LLVMRealOLT) &&
         LLVMGetOperand(select, 1) == LLVMGetOperand(comparison, 0) &&
         LLVMGetOperand(select, 2) == LLVMGetOperand(comparison, 1);
}

/* A select of the type that the comparison orders. */
static void quiet_select(const quiet_state *s, LLVMValueRef select, LLVMValueRef comparison) {
  bool max;
  LLVMTypeRef type = LLVMTypeOf(select);
  bool extreme = quiet_is_extreme(select, comparison, &max);
  if (quiet_is_vector(select) && !(extreme && quiet_suppresses(s, type))) return;
  LLVMPositionBuilderBefore(s->builder, select);
  LLVMValueRef r, a = quiet_widen(s, LLVMGetOperand(comparison, 0));
  LLVMValueRef b = quiet_widen(s, LLVMGetOperand(comparison, 1));
  if (extreme) {
    r = quiet_choose(s, type, max, a, b);
  } else {
    LLVMValueRef order = quiet_compare(s, type, LLVMGetFCmpPredicate(comparison), a, b);
    r = LLVMBuildSelect(s->builder, order, quiet_widen(s, LLVMGetOperand(select, 1)),
                        quiet_widen(s, LLVMGetOperand(select, 2)), "");
  }
  quiet_exchange(select, quiet_narrow(s, r, type));
}

static bool quiet_is_infinite(LLVMValueRef v) {
  LLVMBool lost;
  if (!LLVMIsAConstant(v)) return false;
  if (quiet_is_vector(v)) v = LLVMGetAggregateElement(v, 0);
  return v && LLVMIsAConstantFP(v) && isinf(LLVMConstRealGetDouble(v, &lost));
}

/* Does LLVM select what raises "invalid" for NaN? To be equal to infinity is not to be below. */
static bool quiet_is_loud(LLVMValueRef comparison) {
  LLVMRealPredicate predicate = LLVMGetFCmpPredicate(comparison);
  if (predicate == LLVMRealOEQ || predicate == LLVMRealUNE)
    return quiet_is_infinite(LLVMGetOperand(comparison, 0)) ||
           quiet_is_infinite(LLVMGetOperand(comparison, 1));
  return predicate != LLVMRealUNO && quiet_find(predicate);
}

bool loom_x86_signals(LLVMValueRef comparison) {
  return (LLVMGetFastMathFlags(comparison) & LLVMFastMathAllowReciprocal) != 0;
}

/* One that signals does so for all lanes: LLVM may compare no others than a condition wants. */
static void quiet_signal(const quiet_state *s, LLVMValueRef comparison) {
  LLVMValueRef a = LLVMGetOperand(comparison, 0), b = LLVMGetOperand(comparison, 1);
  LLVMTypeRef type = LLVMTypeOf(a);
  const quiet_order *order = quiet_find(LLVMGetFCmpPredicate(comparison));
  if (!x86_is_real(type) || !order) return;
  LLVMPositionBuilderBefore(s->builder, comparison);
  LLVMValueRef args[] = {a, b, quiet_text(s, order->name), quiet_text(s, "fpexcept.strict")};
  quiet_exchange(comparison, quiet_is_vector(a) ? quiet_call(s, s->signal, &type, args, 4)
                                                : quiet_condition(s, order->predicate, true, a, b));
}

static void quiet_comparison(const quiet_state *s, LLVMValueRef comparison) {
  LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(comparison, 0));
  LLVMRealPredicate predicate = LLVMGetFCmpPredicate(comparison);
  if (loom_x86_signals(comparison)) {
    quiet_signal(s, comparison);
    return;
  }
  if (!s->quietly || !quiet_is_loud(comparison)) return;
  for (LLVMUseRef use = LLVMGetFirstUse(comparison), next; use; use = next) {
    LLVMValueRef user = LLVMGetUser(use);
    next = LLVMGetNextUse(use);
    if (LLVMIsASelectInst(user) && LLVMTypeOf(user) == type && x86_is_real(type))
      quiet_select(s, user, comparison);
  }
  LLVMPositionBuilderBefore(s->builder, comparison);
  if (!LLVMGetFirstUse(comparison)) {
    LLVMInstructionEraseFromParent(comparison);
    return;
  }
  LLVMValueRef a = LLVMGetOperand(comparison, 0), b = LLVMGetOperand(comparison, 1);
  quiet_exchange(comparison, quiet_is_vector(a) ? quiet_compare(s, LLVMTypeOf(a), predicate, a, b)
                                                : quiet_condition(s, predicate, false, a, b));
}

/* ---- narrow vectors ---- */

/* Two floats are computed as four, of which LLVM leaves two to be anything: often zeros, whose
 * quotient is invalid. Here they are the two once more. */
static LLVMValueRef quiet_doubled(const quiet_state *s, LLVMValueRef v) {
  LLVMValueRef lanes[] = {quiet_i32(s, 0), quiet_i32(s, 1), quiet_i32(s, 0), quiet_i32(s, 1)};
  LLVMValueRef four = LLVMBuildShuffleVector(s->builder, v, LLVMGetPoison(LLVMTypeOf(v)),
                                             LLVMConstVector(lanes, 4), "");
  LLVMTypeRef type = LLVMTypeOf(four); /* fenced: LLVM would leave out what nobody reads */
  return quiet_call(s, s->fence, &type, &four, 1);
}

static bool quiet_is_pair(LLVMValueRef v) {
  LLVMTypeRef type = LLVMTypeOf(v);
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind && LLVMGetVectorSize(type) == 2 &&
         LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMFloatTypeKind;
}

static LLVMValueRef quiet_of_four(const quiet_state *s, LLVMValueRef v) {
  LLVMValueRef args[3] = {NULL};
  LLVMTypeRef four = LLVMVectorType(LLVMFloatTypeInContext(s->context), 4);
  int count = LLVMIsACallInst(v) ? (int)LLVMGetNumArgOperands(v) : LLVMGetNumOperands(v);
  for (int i = 0; i < count; i++)
    args[i] = quiet_doubled(s, LLVMGetOperand(v, (unsigned)i));
  if (LLVMIsACallInst(v))
    return quiet_call(s, LLVMGetIntrinsicID(LLVMGetCalledValue(v)), &four, args, (unsigned)count);
  if (LLVMIsABinaryOperator(v))
    return LLVMBuildBinOp(s->builder, LLVMGetInstructionOpcode(v), args[0], args[1], "");
  LLVMTypeRef to = LLVMVectorType(LLVMGetElementType(LLVMTypeOf(v)), 4);
  return LLVMBuildCast(s->builder, LLVMGetInstructionOpcode(v), args[0], to, "");
}

static void quiet_pair(const quiet_state *s, LLVMValueRef v) {
  LLVMPositionBuilderBefore(s->builder, v);
  LLVMValueRef four = quiet_of_four(s, v);
  if (LLVMIsABinaryOperator(v) || LLVMIsACallInst(v))
    LLVMSetFastMathFlags(four, LLVMGetFastMathFlags(v));
  LLVMValueRef lanes[] = {quiet_i32(s, 0), quiet_i32(s, 1)};
  quiet_exchange(v, LLVMBuildShuffleVector(s->builder, four, LLVMGetPoison(LLVMTypeOf(four)),
                                           LLVMConstVector(lanes, 2), ""));
}

static void quiet_instruction(void *state, LLVMValueRef v) {
  const quiet_state *s = state;
  bool max;
  if (LLVMIsAFCmpInst(v))
    quiet_comparison(s, v);
  else if (s->quietly && quiet_is_nsz_extreme(s, v, &max))
    quiet_maximum(s, v, max);
  else if (x86_may_raise(&s->raising, v) && quiet_is_pair(LLVMGetOperand(v, 0)))
    quiet_pair(s, v);
}

void loom_x86_quiet(LLVMModuleRef module, const loom_target_cpu *cpu) {
  quiet_state s = {.module = module, .context = LLVMGetModuleContext(module)};
  s.builder = LLVMCreateBuilderInContext(s.context);
  s.quietly = cpu->vector_bits >= 256;
  s.suppresses = cpu->vector_bits == 512;
  s.compare = x86_intrinsic("llvm.experimental.constrained.fcmp");
  s.signal = x86_intrinsic("llvm.experimental.constrained.fcmps");
  s.minimum = x86_intrinsic("llvm.minimum");
  s.maximum = x86_intrinsic("llvm.maximum");
  s.fence = x86_intrinsic("llvm.arithmetic.fence");
  s.raising = x86_raising_intrinsics();
  x86_each_instruction(module, quiet_instruction, &s);
  LLVMDisposeBuilder(s.builder);
}
