/* Rounding to bfloat16 by the instruction for it (PTX ISA, Data Movement and Conversion
 * Instructions: cvt; sm_80 and later).
 *
 * The lowering rounds by integers (passes/lanes.c), which every target can: the upper half of
 *
 *     select (fcmp uno %x, ...), (%bits | 0x400000), (%bits + 0x7fff + (%bits >> 16 & 1))
 *
 * where %bits are those of the float %x. That becomes the instruction's result in the upper half,
 * and zeros below, which nobody looks at. A NaN stays one, but all of them become the same.
 */
#include <llvm-c/Core.h>
#include <string.h>

#include "targets/target.h"

#define ROUND_LANES 16

/* ---- recognising it ---- */

static bool round_is(LLVMValueRef v, LLVMOpcode opcode) {
  return LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == opcode;
}

/* Is it this number, in every lane? */
static bool round_is_number(LLVMValueRef v, uint64_t number) {
  if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind) {
    for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(v)); i++)
      if (!LLVMIsAConstant(v) || !round_is_number(LLVMGetAggregateElement(v, i), number))
        return false;
    return true;
  }
  return v && LLVMIsAConstantInt(v) && LLVMConstIntGetZExtValue(v) == number;
}

/* An operation with this constant: the other operand; NULL: it is none. */
static LLVMValueRef round_other(LLVMValueRef v, LLVMOpcode opcode, uint64_t number) {
  bool found = round_is(v, opcode) && round_is_number(LLVMGetOperand(v, 1), number);
  return found ? LLVMGetOperand(v, 0) : NULL;
}

/* bits + 0x7fff + the last bit that stays? */
static bool round_is_near(LLVMValueRef v, LLVMValueRef bits) {
  if (!round_is(v, LLVMAdd) || LLVMGetOperand(v, 1) != bits) return false;
  LLVMValueRef last = round_other(LLVMGetOperand(v, 0), LLVMAdd, 0x7fff);
  if (last) last = round_other(last, LLVMAnd, 1);
  return last && round_other(last, LLVMLShr, 16) == bits;
}

/* Does everybody look at the upper half alone? */
static bool round_is_half(LLVMValueRef v) {
  for (LLVMUseRef use = LLVMGetFirstUse(v); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (round_other(user, LLVMLShr, 16) != v && round_other(user, LLVMAnd, 0xffff0000) != v)
      return false;
  }
  return true;
}

/* The float that is rounded; NULL: `v` rounds none. */
static LLVMValueRef round_operand(LLVMValueRef v) {
  if (!round_is(v, LLVMSelect) || !round_is_half(v)) return NULL;
  LLVMValueRef bits = round_other(LLVMGetOperand(v, 1), LLVMOr, 0x400000);
  LLVMValueRef unordered = LLVMGetOperand(v, 0);
  if (!bits || !round_is(bits, LLVMBitCast) || !round_is_near(LLVMGetOperand(v, 2), bits))
    return NULL;
  LLVMValueRef x = LLVMGetOperand(bits, 0);
  bool same = round_is(unordered, LLVMFCmp) && LLVMGetFCmpPredicate(unordered) == LLVMRealUNO &&
              LLVMGetOperand(unordered, 0) == x;
  bool single = LLVMTypeOf(x) == LLVMFloatTypeInContext(LLVMGetTypeContext(LLVMTypeOf(x)));
  bool lanes = LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind &&
               LLVMGetTypeKind(LLVMGetElementType(LLVMTypeOf(x))) == LLVMFloatTypeKind &&
               LLVMGetVectorSize(LLVMTypeOf(x)) % 2 == 0 &&
               LLVMGetVectorSize(LLVMTypeOf(x)) <= ROUND_LANES;
  return same && (single || lanes) ? x : NULL;
}

/* ---- the instruction ---- */

typedef struct round_state {
  LLVMModuleRef module;
  LLVMContextRef context;
  LLVMBuilderRef b;
} round_state;

static LLVMValueRef round_int(const round_state *s, uint64_t value) {
  return LLVMConstInt(LLVMInt32TypeInContext(s->context), value, 0);
}

/* An intrinsic without overloads. */
static LLVMValueRef round_call(const round_state *s, const char *name, LLVMValueRef *operands,
                               unsigned count) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef function = LLVMGetIntrinsicDeclaration(s->module, id, NULL, 0);
  return LLVMBuildCall2(s->b, LLVMIntrinsicGetType(s->context, id, NULL, 0), function, operands,
                        count, "");
}

static LLVMValueRef round_one(const round_state *s, LLVMValueRef x) {
  LLVMValueRef half = round_call(s, "llvm.nvvm.f2bf16.rn", &x, 1);
  half = LLVMBuildBitCast(s->b, half, LLVMInt16TypeInContext(s->context), "");
  half = LLVMBuildZExt(s->b, half, LLVMInt32TypeInContext(s->context), "");
  return LLVMBuildShl(s->b, half, round_int(s, 16), "");
}

/* Two by two: the first one comes into the lower half. */
static LLVMValueRef round_lanes(const round_state *s, LLVMValueRef x, LLVMTypeRef type) {
  LLVMValueRef out = LLVMGetPoison(type);
  for (unsigned i = 0; i < LLVMGetVectorSize(type); i += 2) {
    LLVMValueRef two[2];
    for (unsigned k = 0; k < 2; k++)
      two[1 - k] = LLVMBuildExtractElement(s->b, x, round_int(s, i + k), "");
    LLVMValueRef word = round_call(s, "llvm.nvvm.ff2bf16x2.rn", two, 2);
    word = LLVMBuildBitCast(s->b, word, LLVMInt32TypeInContext(s->context), "");
    LLVMValueRef low = LLVMBuildShl(s->b, word, round_int(s, 16), "");
    LLVMValueRef high = LLVMBuildAnd(s->b, word, round_int(s, 0xffff0000), "");
    out = LLVMBuildInsertElement(s->b, out, low, round_int(s, i), "");
    out = LLVMBuildInsertElement(s->b, out, high, round_int(s, i + 1), "");
  }
  return out;
}

void loom_nvptx_round(LLVMModuleRef module) {
  round_state s = {.module = module, .context = LLVMGetModuleContext(module)};
  s.b = LLVMCreateBuilderInContext(s.context);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
         block = LLVMGetNextBasicBlock(block))
      for (LLVMValueRef v = LLVMGetFirstInstruction(block), next; v; v = next) {
        next = LLVMGetNextInstruction(v);
        LLVMValueRef x = round_operand(v);
        if (!x) continue;
        LLVMPositionBuilderBefore(s.b, v);
        LLVMTypeRef type = LLVMTypeOf(v);
        bool lanes = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
        LLVMReplaceAllUsesWith(v, lanes ? round_lanes(&s, x, type) : round_one(&s, x));
        LLVMInstructionEraseFromParent(v);
      }
  LLVMDisposeBuilder(s.b);
}
