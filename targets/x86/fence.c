/* Keeps LLVM from losing floating-point flags.
 *
 * To LLVM an operation that raises a flag has no effect but its value. What it does with that
 * freedom would change what a kernel reports:
 *
 * - folding: a number that comes from integers or booleans may be known (`a < a` is false), and
 *   then 0 / 0 is a constant. Such conversions, and divisors unless they are loaded or constants
 *   other than zero, go through `llvm.arithmetic.fence`, which is no instruction of the machine and
 *   through which nothing is seen.
 *   The same for a value that is compared with itself, which would not be computed at all.
 * - masking: with AVX-512 `select(c, x / y, 0)` becomes a division of the selected elements only,
 *   where the library computes x / y for all. An operation on vectors of which nothing but values
 *   of selects come is fenced. One with other uses is computed in full anyway, and may be half of
 *   the pattern of a minimum.
 * - sinking: a select of scalars becomes a branch, and operations that only one side needs move
 *   behind it. A fence moves along, so these are stored to a slot that nobody reads.
 * - dropping: where the condition of a select may be known, what it does not take is not computed.
 *   It is stored to such a slot as well. */
#include <llvm-c/Core.h>
#include <string.h>

#include "targets/target.h"

typedef struct fence_state {
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  unsigned fence, sqrt, magnitude; /* numbers of the intrinsics */
} fence_state;

static bool fence_is_float(LLVMTypeRef type) {
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) type = LLVMGetElementType(type);
  return LLVMGetTypeKind(type) == LLVMFloatTypeKind || LLVMGetTypeKind(type) == LLVMDoubleTypeKind;
}

static unsigned fence_intrinsic_of(LLVMValueRef v) {
  if (LLVMGetInstructionOpcode(v) != LLVMCall) return 0;
  LLVMValueRef callee = LLVMGetCalledValue(v);
  return callee && LLVMIsAFunction(callee) ? LLVMGetIntrinsicID(callee) : 0;
}

static LLVMValueRef fence_before(fence_state *s, LLVMValueRef place, LLVMValueRef v) {
  LLVMTypeRef type = LLVMTypeOf(v);
  LLVMValueRef function = LLVMGetIntrinsicDeclaration(s->module, s->fence, &type, 1);
  LLVMTypeRef signature = LLVMIntrinsicGetType(LLVMGetModuleContext(s->module), s->fence, &type, 1);
  LLVMPositionBuilderBefore(s->builder, place);
  return LLVMBuildCall2(s->builder, signature, function, &v, 1, "");
}

static LLVMValueRef fence_after(fence_state *s, LLVMValueRef v) {
  return fence_before(s, LLVMGetNextInstruction(v), v);
}

/* The same for integers of 32 or 64 bits, by way of floats of as many. */
static LLVMValueRef fence_after_integer(fence_state *s, LLVMValueRef v) {
  LLVMTypeRef type = LLVMTypeOf(v), element = type;
  bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  if (vector) element = LLVMGetElementType(type);
  unsigned bits = LLVMGetIntTypeWidth(element);
  if (bits != 32 && bits != 64) return NULL;
  LLVMContextRef context = LLVMGetModuleContext(s->module);
  LLVMTypeRef real =
      bits == 32 ? LLVMFloatTypeInContext(context) : LLVMDoubleTypeInContext(context);
  if (vector) real = LLVMVectorType(real, LLVMGetVectorSize(type));
  LLVMPositionBuilderBefore(s->builder, LLVMGetNextInstruction(v));
  LLVMValueRef cast = LLVMBuildBitCast(s->builder, v, real, "");
  LLVMValueRef fenced = fence_after(s, cast);
  LLVMPositionBuilderBefore(s->builder, LLVMGetNextInstruction(fenced));
  return LLVMBuildBitCast(s->builder, fenced, type, "");
}

/* ---- what is to be fenced ---- */

static bool fence_may_raise(const fence_state *s, LLVMValueRef v) {
  switch (LLVMGetInstructionOpcode(v)) {
  case LLVMFAdd:
  case LLVMFSub:
  case LLVMFMul:
  case LLVMFDiv:
  case LLVMFPTrunc:
  case LLVMFPToSI:
  case LLVMFPToUI: return true;
  default: return fence_intrinsic_of(v) == s->sqrt;
  }
}

static bool fence_computes(LLVMValueRef user) {
  return LLVMIsABinaryOperator(user) || LLVMIsACastInst(user) || LLVMIsACmpInst(user) ||
         LLVMIsAUnaryOperator(user) || fence_intrinsic_of(user);
}

#define FENCE_DEPTH 6

/* Does something other than the value of a select need `v`, directly or through other operations?
 * Then it is computed in any case. */
static bool fence_is_needed(LLVMValueRef v, int depth) {
  for (LLVMUseRef use = LLVMGetFirstUse(v); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMIsASelectInst(user)) {
      if (LLVMGetOperand(user, 0) == v) return true;
      continue;
    }
    if (!fence_computes(user) || (depth > 0 && fence_is_needed(user, depth - 1))) return true;
  }
  return false;
}

/* What LLVM knows nothing of. */
static bool fence_is_given(LLVMValueRef v) {
  if (!LLVMIsAInstruction(v)) return !LLVMIsAConstant(v);
  switch (LLVMGetInstructionOpcode(v)) {
  case LLVMLoad:
  case LLVMPHI:
  case LLVMShuffleVector:
  case LLVMExtractElement: return true;
  default: return false;
  }
}

/* Is neither side all that LLVM might find a condition to be? Taken to be so of comparisons of what
 * is loaded, and of what is made of such. */
static bool fence_is_open(LLVMValueRef condition, int depth) {
  if (fence_is_given(condition)) return true;
  if (!LLVMIsAInstruction(condition) || depth == 0) return false;
  LLVMOpcode code = LLVMGetInstructionOpcode(condition);
  LLVMValueRef a = LLVMGetOperand(condition, 0);
  if (code == LLVMTrunc) return fence_is_given(a);
  LLVMValueRef b = code == LLVMICmp || LLVMIsABinaryOperator(condition) || code == LLVMFCmp
                       ? LLVMGetOperand(condition, 1)
                       : NULL;
  if (!b || a == b) return false;
  if (code == LLVMAnd || code == LLVMOr || code == LLVMXor)
    return fence_is_open(a, depth - 1) &&
           (fence_is_open(b, depth - 1) || (code == LLVMXor && LLVMIsAConstant(b)));
  if (code == LLVMFCmp)
    return LLVMIsAConstant(b) ? fence_is_given(a) : fence_is_given(a) || fence_is_given(b);
  if (code != LLVMICmp) return false;
  LLVMIntPredicate order = LLVMGetICmpPredicate(condition);
  bool equal = order == LLVMIntEQ || order == LLVMIntNE;
  bool lanes = LLVMIsAShuffleVectorInst(a) || LLVMIsAShuffleVectorInst(b);
  return lanes || (fence_is_given(a) && (fence_is_given(b) || (equal && LLVMIsAConstant(b))));
}

/* Is `v`, directly or through other operations, a value of a select whose condition LLVM may know?
 * It takes the other one then. */
static bool fence_is_left_out(LLVMValueRef v, int depth) {
  for (LLVMUseRef use = LLVMGetFirstUse(v); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    bool select = LLVMIsASelectInst(user) != NULL;
    if (select && !fence_is_open(LLVMGetOperand(user, 0), depth)) return true;
    if (!select && fence_computes(user) && depth > 0 && fence_is_left_out(user, depth - 1))
      return true;
  }
  return false;
}

static void fence_pin(fence_state *s, LLVMValueRef v) {
  LLVMBasicBlockRef entry =
      LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(LLVMGetInstructionParent(v)));
  LLVMPositionBuilderBefore(s->builder, LLVMGetFirstInstruction(entry));
  LLVMValueRef slot = LLVMBuildAlloca(s->builder, LLVMTypeOf(v), "");
  LLVMPositionBuilderBefore(s->builder, LLVMGetNextInstruction(v));
  LLVMSetVolatile(LLVMBuildStore(s->builder, v, slot), true);
}

/* Conversions of numbers that LLVM might know: all but those of what is loaded. */
static bool fence_is_known_number(LLVMValueRef v) {
  LLVMOpcode code = LLVMGetInstructionOpcode(v);
  if (code != LLVMSIToFP && code != LLVMUIToFP) return false;
  LLVMValueRef from = LLVMGetOperand(v, 0);
  while (LLVMIsAInstruction(from) &&
         (LLVMGetInstructionOpcode(from) == LLVMSExt || LLVMGetInstructionOpcode(from) == LLVMZExt))
    from = LLVMGetOperand(from, 0);
  if (!LLVMIsAInstruction(from)) return false;
  LLVMOpcode source = LLVMGetInstructionOpcode(from);
  return source != LLVMLoad && source != LLVMCall;
}

static bool fence_is_opaque_divisor(LLVMValueRef y) {
  if (LLVMIsAConstant(y)) return !LLVMIsNull(y);
  if (!LLVMIsAInstruction(y)) return true;
  LLVMOpcode code = LLVMGetInstructionOpcode(y);
  return code == LLVMLoad || code == LLVMCall;
}

static void fence_divisor(fence_state *s, LLVMValueRef division) {
  LLVMValueRef y = LLVMGetOperand(division, 1);
  if (!fence_is_float(LLVMTypeOf(y)) || fence_is_opaque_divisor(y)) return;
  LLVMSetOperand(division, 1, fence_before(s, division, y));
}

/* A magnitude compared with a constant: to LLVM that only asks whether it is a number, which raises
 * nothing where it is not. A complex division compares the parts of the divisor. */
static void fence_magnitude(fence_state *s, LLVMValueRef comparison) {
  for (unsigned i = 0; i < 2; i++) {
    LLVMValueRef x = LLVMGetOperand(comparison, i);
    bool magnitude = LLVMIsAInstruction(x) && fence_intrinsic_of(x) == s->magnitude;
    if (magnitude && LLVMIsAConstant(LLVMGetOperand(comparison, 1 - i)))
      LLVMSetOperand(comparison, i, fence_before(s, comparison, x));
  }
}

/* Fences the value of `v` for all its uses. */
static void fence_value(fence_state *s, LLVMValueRef v) {
  LLVMValueRef fenced = fence_is_float(LLVMTypeOf(v)) ? fence_after(s, v)
                        : LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind ||
                                LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind
                            ? fence_after_integer(s, v)
                            : NULL;
  if (!fenced) return;
  /* Its first operation reads `v` itself and stays. */
  LLVMValueRef reader = LLVMGetNextInstruction(v);
  LLVMReplaceAllUsesWith(v, fenced);
  LLVMSetOperand(reader, 0, v);
}

void loom_x86_fence(LLVMModuleRef module) {
  static const char fence[] = "llvm.arithmetic.fence", root[] = "llvm.sqrt",
                    magnitude[] = "llvm.fabs";
  fence_state s = {.module = module};
  s.builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
  s.fence = LLVMLookupIntrinsicID(fence, strlen(fence));
  s.sqrt = LLVMLookupIntrinsicID(root, strlen(root));
  s.magnitude = LLVMLookupIntrinsicID(magnitude, strlen(magnitude));
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef v = LLVMGetFirstInstruction(b), next; v; v = next) {
        next = LLVMGetNextInstruction(v);
        if (LLVMGetInstructionOpcode(v) == LLVMFDiv) fence_divisor(&s, v);
        if (LLVMGetInstructionOpcode(v) == LLVMFCmp) fence_magnitude(&s, v);
        if (LLVMGetInstructionOpcode(v) == LLVMFCmp && LLVMGetOperand(v, 0) == LLVMGetOperand(v, 1))
          LLVMSetOperand(v, 1, fence_before(&s, v, LLVMGetOperand(v, 1)));
        bool scalar = LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMVectorTypeKind;
        bool loose =
            LLVMGetFirstUse(v) && fence_may_raise(&s, v) && !fence_is_needed(v, FENCE_DEPTH);
        if (loose && (scalar || fence_is_left_out(v, FENCE_DEPTH)))
          fence_pin(&s, v);
        else if (loose || fence_is_known_number(v))
          fence_value(&s, v);
      }
  LLVMDisposeBuilder(s.builder);
}
