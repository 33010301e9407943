/* Keeps lanes that hold no half out of computations with halves.
 *
 * F16C converts vectors of at least four. LLVM converts a single half, or two, as the first lanes
 * of four, and leaves the other lanes as the register has them: a signalling NaN there raises
 * "invalid", a large float "overflow". And LLVM computes four halves as eight floats. So, after
 * LLVM's passes, arithmetic on halves is replaced by arithmetic on as many floats, and one or two
 * halves are converted as four: the halves themselves, repeated.
 *
 *     %r = fmul half %x, %y
 *
 * becomes, where `four` repeats its operand behind a fence, since LLVM would otherwise leave out
 * lanes that nobody reads:
 *
 *     %a = extractelement (fpext (four %x) to <4 x float>), 0    ; so %b
 *     %p = fmul float %a, %b
 *     %r = extractelement (fptrunc (four %p) to <4 x half>), 0 */
#include <llvm-c/Core.h>

#include "targets/target.h"
#include "targets/x86/values.h"

#define HALVES_LANES 4
#define HALVES_LEGAL 8 /* halves that a register holds */
#define HALVES_OPERANDS 3

typedef struct halves_state {
  LLVMModuleRef module;
  LLVMContextRef context;
  LLVMBuilderRef builder;
  unsigned fence;
  unsigned promoted[16]; /* intrinsics that LLVM computes as floats */
} halves_state;

static const char *const halves_names[] = {
    "llvm.sqrt",      "llvm.floor",  "llvm.ceil",       "llvm.trunc",      "llvm.rint",
    "llvm.nearbyint", "llvm.round",  "llvm.roundeven",  "llvm.minimum",    "llvm.maximum",
    "llvm.minnum",    "llvm.maxnum", "llvm.minimumnum", "llvm.maximumnum",
};

/* ---- types ---- */

static unsigned halves_count(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 0;
}

static bool halves_are(LLVMTypeRef type) {
  return LLVMGetTypeKind(x86_element(type)) == LLVMHalfTypeKind;
}

/* Fewer than an instruction converts? */
static bool halves_is_narrow(LLVMTypeRef type) { return halves_count(type) < HALVES_LANES; }

/* As many of another element; 0: a scalar. */
static LLVMTypeRef halves_of(LLVMTypeRef element, unsigned count) {
  return count ? LLVMVectorType(element, count) : element;
}

static LLVMTypeRef halves_floats(const halves_state *s, LLVMTypeRef like) {
  return halves_of(LLVMFloatTypeInContext(s->context), halves_count(like));
}

/* ---- conversions ---- */

static LLVMValueRef halves_shuffle(const halves_state *s, LLVMValueRef v, unsigned count) {
  LLVMValueRef lanes[HALVES_LEGAL];
  LLVMTypeRef i32 = LLVMInt32TypeInContext(s->context);
  for (unsigned i = 0; i < count; i++)
    lanes[i] = LLVMConstInt(i32, i % halves_count(LLVMTypeOf(v)), false);
  return LLVMBuildShuffleVector(s->builder, v, LLVMGetPoison(LLVMTypeOf(v)),
                                LLVMConstVector(lanes, count), "");
}

/* The elements of `v` again and again, as many as a register holds, which LLVM does not see. */
static LLVMValueRef halves_repeated(const halves_state *s, LLVMValueRef v, unsigned count) {
  if (!halves_count(LLVMTypeOf(v))) {
    LLVMValueRef none = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(v), 1));
    LLVMValueRef first = LLVMConstInt(LLVMInt32TypeInContext(s->context), 0, false);
    v = LLVMBuildInsertElement(s->builder, none, v, first, "");
  }
  LLVMValueRef repeated = halves_shuffle(s, v, count);
  LLVMTypeRef type = LLVMTypeOf(repeated);
  LLVMValueRef fence = LLVMGetIntrinsicDeclaration(s->module, s->fence, &type, 1);
  LLVMTypeRef signature = LLVMIntrinsicGetType(s->context, s->fence, &type, 1);
  return LLVMBuildCall2(s->builder, signature, fence, &repeated, 1, "");
}

/* The first elements of a vector as `type`. */
static LLVMValueRef halves_first(const halves_state *s, LLVMValueRef v, LLVMTypeRef type) {
  LLVMValueRef first = LLVMConstInt(LLVMInt32TypeInContext(s->context), 0, false);
  return halves_count(type) ? halves_shuffle(s, v, halves_count(type))
                            : LLVMBuildExtractElement(s->builder, v, first, "");
}

/* Floats of halves. */
static LLVMValueRef halves_extend(const halves_state *s, LLVMValueRef v) {
  LLVMTypeRef type = halves_floats(s, LLVMTypeOf(v)), single = LLVMFloatTypeInContext(s->context);
  if (LLVMIsAConstant(v) || !halves_is_narrow(type)) return LLVMBuildFPExt(s->builder, v, type, "");
  LLVMValueRef four = halves_shuffle(s, halves_repeated(s, v, HALVES_LEGAL), HALVES_LANES);
  four = LLVMBuildFPExt(s->builder, four, LLVMVectorType(single, HALVES_LANES), "");
  return halves_first(s, four, type);
}

/* Halves of floats. */
static LLVMValueRef halves_round(const halves_state *s, LLVMValueRef v, LLVMTypeRef type) {
  if (LLVMIsAConstant(v) || !halves_is_narrow(type))
    return LLVMBuildFPTrunc(s->builder, v, type, "");
  LLVMValueRef four = halves_repeated(s, v, HALVES_LANES);
  four = LLVMBuildFPTrunc(s->builder, four, LLVMVectorType(x86_element(type), HALVES_LANES), "");
  return halves_first(s, four, type);
}

/* ---- what is exchanged ---- */

/* Is all of it that is halves computed as floats? Conversions of whole vectors are as they have to
 * be. */
static bool halves_is_promoted(const halves_state *s, LLVMValueRef v) {
  switch (LLVMGetInstructionOpcode(v)) {
  case LLVMFAdd:
  case LLVMFSub:
  case LLVMFMul:
  case LLVMFDiv:
  case LLVMFCmp:
  case LLVMFPToSI:
  case LLVMFPToUI:
  case LLVMSIToFP:
  case LLVMUIToFP: return true;
  case LLVMFPExt: return halves_is_narrow(LLVMTypeOf(v));
  case LLVMFPTrunc:
    return halves_is_narrow(LLVMTypeOf(v)) &&
           LLVMGetTypeKind(x86_element(LLVMTypeOf(LLVMGetOperand(v, 0)))) == LLVMFloatTypeKind;
  default: break;
  }
  unsigned id = x86_intrinsic_of(v);
  for (size_t i = 0; id && i < sizeof s->promoted / sizeof *s->promoted; i++)
    if (s->promoted[i] == id) return true;
  return false;
}

/* The same of floats; `type`: of the result. */
static LLVMValueRef halves_compute(const halves_state *s, LLVMValueRef v, LLVMValueRef *args,
                                   unsigned count, LLVMTypeRef type) {
  LLVMOpcode code = LLVMGetInstructionOpcode(v);
  unsigned id = x86_intrinsic_of(v);
  if (code == LLVMFPExt || code == LLVMFPTrunc)
    return LLVMTypeOf(args[0]) == type ? args[0]
                                       : LLVMBuildCast(s->builder, code, args[0], type, "");
  if (LLVMIsACastInst(v)) return LLVMBuildCast(s->builder, code, args[0], type, "");
  if (code == LLVMFCmp)
    return LLVMBuildFCmp(s->builder, LLVMGetFCmpPredicate(v), args[0], args[1], "");
  if (!id) return LLVMBuildBinOp(s->builder, code, args[0], args[1], "");
  LLVMValueRef function = LLVMGetIntrinsicDeclaration(s->module, id, &type, 1);
  return LLVMBuildCall2(s->builder, LLVMIntrinsicGetType(s->context, id, &type, 1), function, args,
                        count, "");
}

static void halves_instruction(void *state, LLVMValueRef v) {
  const halves_state *s = state;
  unsigned count =
      (unsigned)(LLVMIsACallInst(v) ? (int)LLVMGetNumArgOperands(v) : LLVMGetNumOperands(v));
  if (!count || count > HALVES_OPERANDS || !halves_is_promoted(s, v)) return;
  LLVMTypeRef type = LLVMTypeOf(v);
  bool rounds = halves_are(type);
  if (!rounds && !halves_are(LLVMTypeOf(LLVMGetOperand(v, 0)))) return;
  LLVMPositionBuilderBefore(s->builder, v);
  LLVMValueRef args[HALVES_OPERANDS] = {NULL};
  for (unsigned i = 0; i < count; i++) {
    args[i] = LLVMGetOperand(v, i);
    if (halves_are(LLVMTypeOf(args[i]))) args[i] = halves_extend(s, args[i]);
  }
  LLVMValueRef r = halves_compute(s, v, args, count, rounds ? halves_floats(s, type) : type);
  if (LLVMIsAInstruction(r) && LLVMCanValueUseFastMathFlags(r) && LLVMCanValueUseFastMathFlags(v))
    LLVMSetFastMathFlags(r, LLVMGetFastMathFlags(v));
  if (rounds) r = halves_round(s, r, type);
  LLVMReplaceAllUsesWith(v, r);
  LLVMInstructionEraseFromParent(v);
}

void loom_x86_halves(LLVMModuleRef module) {
  halves_state s = {.module = module, .context = LLVMGetModuleContext(module)};
  s.builder = LLVMCreateBuilderInContext(s.context);
  s.fence = x86_intrinsic("llvm.arithmetic.fence");
  for (size_t i = 0; i < sizeof halves_names / sizeof *halves_names; i++)
    s.promoted[i] = x86_intrinsic(halves_names[i]);
  x86_each_instruction(module, halves_instruction, &s);
  LLVMDisposeBuilder(s.builder);
}
