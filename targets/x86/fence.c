/* Keeps LLVM from losing floating-point flags.
 *
 * To LLVM an operation that raises a flag has no effect but its value. The freedom that this gives
 * LLVM would change what a kernel reports:
 *
 * - folding: a number that comes from integers or booleans may be known (`a < a` is false), and
 *   then 0 / 0 is a constant. Such conversions go through `llvm.arithmetic.fence`, which is no
 *   instruction of the machine, and through which LLVM sees nothing but signs. So do divisors,
 *   unless they are loaded or constants other than zero; values that are compared with themselves,
 *   which would not be computed at all; constants that reach us frozen, as those do which only meet
 *   other constants; and values that LLVM knows to be one of several constants, since it computes
 *   the results for each of these and chooses between them.
 * - outcomes: a square root is above zero where its operand is, and a square is not below. A value
 *   that is only compared with constants is read by an instruction without text, which costs
 *   nothing and of which LLVM knows nothing.
 * - absorbing: a value that is added to, multiplied by or compared with a constant NaN decides
 *   nothing, and would not be computed. The constant is fenced.
 * - masking: with AVX-512 `select(c, x / y, 0)` becomes a division of the selected elements only,
 *   where the library computes x / y for all. An operation on vectors whose result only becomes
 *   values of selects is fenced. One with other uses is computed in full anyway, and may be half of
 *   the pattern of a minimum.
 * - sinking: a select of scalars becomes a branch, as does one of vectors whose lanes have one
 *   condition, and operations that only one side needs move behind it. A fence moves along, so
 *   these are read by such an instruction, or, in types that no register holds, stored to a slot.
 * - dropping: where the condition of a select may be known, or follows from that of another select
 *   on the way to a result, the value that it does not take is not computed, nor is the condition
 *   where both sides are one value. These are read by such an instruction too. So is a value that
 *   reaches us frozen and that nobody reads: it is computed for its flags.
 *
 * Values are followed through everything that computes or moves them: a scalar may be spread to
 * lanes, and carried by a loop, before a select leaves it out. To read a value keeps all operations
 * that it is computed from. So instructions are looked at from the last to the first, and one
 * reader serves a chain of operations. */
#include <llvm-c/Core.h>
#include <math.h>
#include <string.h>

#include "targets/target.h"
#include "targets/x86/values.h"

typedef struct fence_state {
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  x86_raising raising;
  unsigned vector_bits;
  unsigned fence, magnitude, masked_load, gather; /* numbers of the intrinsics */
} fence_state;

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

static unsigned fence_bits(LLVMTypeRef type) {
  switch (LLVMGetTypeKind(type)) {
  case LLVMVectorTypeKind: return LLVMGetVectorSize(type) * fence_bits(LLVMGetElementType(type));
  case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(type);
  case LLVMHalfTypeKind:
  case LLVMBFloatTypeKind: return 16;
  case LLVMFloatTypeKind: return 32;
  case LLVMDoubleTypeKind: return 64;
  default: return 0;
  }
}

/* The same for integers and half numbers, by way of floats of as many bits in all. NULL where there
 * are none. */
static LLVMValueRef fence_after_bits(fence_state *s, LLVMValueRef v) {
  LLVMTypeRef type = LLVMTypeOf(v), real;
  LLVMContextRef context = LLVMGetModuleContext(s->module);
  unsigned bits = fence_bits(type);
  if (bits == 0 || (bits != 32 && bits % 64 != 0)) return NULL;
  real = bits == 32 ? LLVMFloatTypeInContext(context) : LLVMDoubleTypeInContext(context);
  if (bits > 64) real = LLVMVectorType(real, bits / 64);
  LLVMPositionBuilderBefore(s->builder, LLVMGetNextInstruction(v));
  LLVMValueRef cast = LLVMBuildBitCast(s->builder, v, real, "");
  LLVMValueRef fenced = fence_after(s, cast);
  LLVMPositionBuilderBefore(s->builder, LLVMGetNextInstruction(fenced));
  return LLVMBuildBitCast(s->builder, fenced, type, "");
}

/* ---- what is to be fenced ---- */

/* Is the user's value made of its operands and nothing else? Selects choose: they are looked at
 * apart. */
static bool fence_passes(LLVMValueRef user) {
  switch (LLVMGetInstructionOpcode(user)) {
  case LLVMInsertElement:
  case LLVMExtractElement:
  case LLVMShuffleVector:
  case LLVMInsertValue:
  case LLVMExtractValue:
  case LLVMFreeze:
  case LLVMPHI: return true;
  case LLVMCall:
    return x86_intrinsic_of(user) && LLVMGetTypeKind(LLVMTypeOf(user)) != LLVMVoidTypeKind;
  default:
    return LLVMIsABinaryOperator(user) || LLVMIsACastInst(user) || LLVMIsACmpInst(user) ||
           LLVMIsAUnaryOperator(user);
  }
}

/* ---- where values go ---- */

#define FENCE_USES 256 /* looked at for one value */
#define FENCE_PATH 64
#define FENCE_SUBJECTS 16

/* A way from a value to its users' users. Beyond its limits nothing is found. */
typedef struct fence_walk {
  LLVMValueRef path[FENCE_PATH];
  LLVMValueRef subjects[FENCE_SUBJECTS]; /* what the conditions of selects on it depend on */
  int length, subject_count, uses;
  bool outcomes; /* an order of a value and a constant needs no value: it may be known */
} fence_walk;

static bool fence_step(fence_walk *w, LLVMValueRef v) {
  if (w->length == FENCE_PATH) return false;
  for (int i = 0; i < w->length; i++)
    if (w->path[i] == v) return false;
  w->path[w->length++] = v;
  return true;
}

/* What `v` is a copy of, in each lane or in one. */
static LLVMValueRef fence_source(LLVMValueRef v) {
  while (LLVMIsAInstruction(v)) {
    LLVMOpcode code = LLVMGetInstructionOpcode(v);
    if (code == LLVMInsertElement)
      v = LLVMGetOperand(v, 1);
    else if (code == LLVMShuffleVector || code == LLVMExtractElement || code == LLVMFreeze)
      v = LLVMGetOperand(v, 0);
    else
      break;
  }
  return v;
}

/* Does the condition of a select decide anything? Not between a value and itself. */
static bool fence_decides(LLVMValueRef select) {
  return fence_source(LLVMGetOperand(select, 1)) != fence_source(LLVMGetOperand(select, 2));
}

static bool fence_is_outcome(const fence_walk *w, LLVMValueRef user) {
  return w->outcomes && LLVMIsACmpInst(user) &&
         (LLVMIsAConstant(LLVMGetOperand(user, 0)) || LLVMIsAConstant(LLVMGetOperand(user, 1)));
}

/* Does something other than the value of a select need `v`, directly or through other operations?
 * Then it is computed in any case. */
static bool fence_is_needed(fence_walk *w, LLVMValueRef v) {
  bool needed = false;
  if (!fence_step(w, v)) return false;
  for (LLVMUseRef use = LLVMGetFirstUse(v); use && !needed; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (w->uses++ >= FENCE_USES) break;
    if (fence_is_outcome(w, user)) continue;
    if (LLVMIsASelectInst(user) ? LLVMGetOperand(user, 0) == v && fence_decides(user)
                                : fence_passes(user))
      needed = fence_is_needed(w, user);
    else
      needed = !LLVMIsASelectInst(user);
  }
  w->length--;
  return needed;
}

/* ---- conditions ---- */

static bool fence_is_variable(LLVMValueRef pointer) {
  while (LLVMIsAGetElementPtrInst(pointer))
    pointer = LLVMGetOperand(pointer, 0);
  return !LLVMIsAAllocaInst(pointer) && !LLVMIsAGlobalVariable(pointer);
}

/* What LLVM knows nothing of, or NULL: what comes from memory and from callers, and floats that
 * loops carry. Of a loop's index it knows the bounds. */
static LLVMValueRef fence_given(const fence_state *s, LLVMValueRef v) {
  v = fence_source(v);
  if (!LLVMIsAInstruction(v)) return LLVMIsAConstant(v) ? NULL : v;
  switch (LLVMGetInstructionOpcode(v)) {
  case LLVMLoad: return fence_is_variable(LLVMGetOperand(v, 0)) ? v : NULL;
  case LLVMPHI: return x86_is_real(LLVMTypeOf(v)) ? v : NULL;
  case LLVMCall: {
    unsigned intrinsic = x86_intrinsic_of(v);
    return !intrinsic || intrinsic == s->masked_load || intrinsic == s->gather ? v : NULL;
  }
  case LLVMSelect: { /* of a tail: its lanes, and the first of them in the others */
    LLVMValueRef lanes = fence_source(LLVMGetOperand(v, 1));
    return lanes == fence_source(LLVMGetOperand(v, 2)) ? fence_given(s, lanes) : NULL;
  }
  default: return NULL;
  }
}

/* The element of a constant that is the same in each lane. */
static LLVMValueRef fence_splat(LLVMValueRef constant) {
  LLVMTypeRef type = LLVMTypeOf(constant);
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return constant;
  LLVMValueRef first = LLVMGetAggregateElement(constant, 0);
  for (unsigned i = 1; i < LLVMGetVectorSize(type); i++)
    if (LLVMGetAggregateElement(constant, i) != first) return NULL;
  return first;
}

/* May a number that is not known lie on either side of this one? */
static bool fence_is_inner(LLVMValueRef constant, bool positive) {
  LLVMValueRef one = fence_splat(constant);
  if (one && LLVMIsAConstantFP(one)) {
    LLVMBool lost;
    double number = LLVMConstRealGetDouble(one, &lost);
    return number - number == 0 && (!positive || number > 0);
  }
  if (!one || !LLVMIsAConstantInt(one)) return false;
  unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(one));
  uint64_t top = bits > 64 ? 0 : UINT64_C(1) << (bits - 1), number;
  if (!top) return false;
  number = LLVMConstIntGetZExtValue(one);
  return number != 0 && number != top - 1 && number != top && number != top + (top - 1);
}

static bool fence_depends(fence_walk *w, LLVMValueRef on) {
  if (w->subject_count == FENCE_SUBJECTS) return false;
  for (int i = 0; i < w->subject_count; i++)
    if (w->subjects[i] == on) return false;
  w->subjects[w->subject_count++] = on;
  return true;
}

/* Lanes before the end of an axis: `splat(trunc(end - i)) > (0, 1, 2, ...)`. */
static bool fence_is_tail(LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef rest = fence_source(a);
  if (!LLVMIsAShuffleVectorInst(a) || !LLVMIsAConstant(b) || fence_splat(b)) return false;
  if (LLVMIsATruncInst(rest)) rest = LLVMGetOperand(rest, 0);
  return LLVMIsAInstruction(rest) && LLVMGetInstructionOpcode(rest) == LLVMSub;
}

static bool fence_is_open_order(const fence_state *s, fence_walk *w, LLVMValueRef comparison) {
  LLVMIntPredicate order = LLVMGetICmpPredicate(comparison);
  LLVMValueRef a = LLVMGetOperand(comparison, 0), b = LLVMGetOperand(comparison, 1);
  if (fence_is_tail(a, b)) return true;
  bool equal = order == LLVMIntEQ || order == LLVMIntNE, constant = LLVMIsAConstant(b);
  a = fence_given(s, a);
  if (!a || (constant && !equal && !fence_is_inner(b, false))) return false;
  if (!constant) b = fence_given(s, b);
  return b && fence_depends(w, a) && (constant || fence_depends(w, b));
}

/* A sum, a product and the like may be any number, though some are never below zero. */
static bool fence_is_any(const fence_state *s, LLVMValueRef v) {
  v = fence_source(v);
  return LLVMIsAInstruction(v) && x86_may_raise(&s->raising, v) && !LLVMIsACastInst(v);
}

/* LLVM finds implied what has the same operands. Those that are one value, and magnitudes, are
 * fenced in any case. */
static bool fence_is_open_real(const fence_state *s, fence_walk *w, LLVMValueRef comparison) {
  LLVMValueRef a = LLVMGetOperand(comparison, 0), b = LLVMGetOperand(comparison, 1);
  bool magnitude = LLVMIsAInstruction(a) && x86_intrinsic_of(a) == s->magnitude;
  bool open = fence_given(s, a) || fence_is_any(s, a);
  if (LLVMIsAConstant(b))
    open = magnitude || (open && fence_is_inner(b, !fence_given(s, a)));
  else
    open = open && (fence_given(s, b) || fence_is_any(s, b));
  for (int i = 0; i + 1 < w->subject_count; i++)
    if ((w->subjects[i] == a && w->subjects[i + 1] == b) ||
        (w->subjects[i] == b && w->subjects[i + 1] == a))
      return false;
  if (!open || w->subject_count + 2 > FENCE_SUBJECTS) return false;
  w->subjects[w->subject_count++] = a;
  w->subjects[w->subject_count++] = b;
  return true;
}

/* Is neither side all that LLVM might find a condition to be, whatever those before it were? */
static bool fence_is_open(const fence_state *s, fence_walk *w, LLVMValueRef condition, int depth) {
  condition = fence_source(condition);
  if (!LLVMIsAInstruction(condition) || depth == 0) return false;
  LLVMValueRef a = LLVMGetOperand(condition, 0), b;
  switch (LLVMGetInstructionOpcode(condition)) {
  case LLVMICmp: return fence_is_open_order(s, w, condition);
  case LLVMFCmp: return fence_is_open_real(s, w, condition);
  case LLVMTrunc: a = fence_given(s, a); return a && fence_depends(w, a);
  case LLVMXor:
    b = LLVMGetOperand(condition, 1);
    return LLVMIsAConstant(b) && fence_is_open(s, w, a, depth - 1);
  case LLVMAnd:
  case LLVMOr:
    b = LLVMGetOperand(condition, 1);
    return fence_is_open(s, w, a, depth - 1) && fence_is_open(s, w, b, depth - 1);
  default: a = fence_given(s, condition); return a && fence_depends(w, a);
  }
}

#define FENCE_DEPTH 6

/* One condition for all lanes, for which LLVM makes a branch as it does for scalars. */
static bool fence_is_spread(LLVMValueRef condition) {
  LLVMValueRef source = fence_source(condition);
  return source != condition && LLVMGetTypeKind(LLVMTypeOf(source)) != LLVMVectorTypeKind;
}

/* Is `v`, directly or through other operations, a value of a select whose condition LLVM may know?
 * It takes the other one then. Or does it lead nowhere? */
static bool fence_is_left_out(const fence_state *s, fence_walk *w, LLVMValueRef v) {
  bool left_out = !LLVMGetFirstUse(v);
  if (!fence_step(w, v)) return false;
  for (LLVMUseRef use = LLVMGetFirstUse(v); use && !left_out; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    int before = w->subject_count;
    if (w->uses++ >= FENCE_USES) break;
    LLVMValueRef condition = LLVMIsASelectInst(user) ? LLVMGetOperand(user, 0) : v;
    if (condition == v && LLVMIsASelectInst(user) && !fence_decides(user))
      left_out = true;
    else if (condition != v &&
             (fence_is_spread(condition) || !fence_is_open(s, w, condition, FENCE_DEPTH)))
      left_out = true;
    else if (LLVMIsASelectInst(user) || fence_passes(user))
      left_out = fence_is_left_out(s, w, user);
    w->subject_count = before;
  }
  w->length--;
  return left_out;
}

/* Does a register hold it? */
static bool fence_is_legal(const fence_state *s, LLVMValueRef v) {
  LLVMTypeRef type = LLVMTypeOf(v);
  unsigned bits = fence_bits(type);
  if (!x86_is_real(type)) return false;
  return LLVMGetTypeKind(type) != LLVMVectorTypeKind ||
         ((bits == 128 || bits == 256 || bits == 512) && bits <= s->vector_bits);
}

/* Has `v` computed whatever becomes of it: an instruction without text reads its register, or it is
 * stored where nobody looks. */
static void fence_pin(fence_state *s, LLVMValueRef v) {
  LLVMTypeRef type = LLVMTypeOf(v);
  if (fence_is_legal(s, v)) {
    LLVMContextRef context = LLVMGetModuleContext(s->module);
    LLVMTypeRef reader = LLVMFunctionType(LLVMVoidTypeInContext(context), &type, 1, false);
    LLVMValueRef nothing =
        LLVMGetInlineAsm(reader, "", 0, "x", 1, true, false, LLVMInlineAsmDialectATT, false);
    LLVMPositionBuilderBefore(s->builder, LLVMGetNextInstruction(v));
    LLVMBuildCall2(s->builder, reader, nothing, &v, 1, "");
    return;
  }
  LLVMBasicBlockRef entry =
      LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(LLVMGetInstructionParent(v)));
  LLVMPositionBuilderBefore(s->builder, LLVMGetFirstInstruction(entry));
  LLVMValueRef slot = LLVMBuildAlloca(s->builder, type, "");
  LLVMPositionBuilderBefore(s->builder, LLVMGetNextInstruction(v));
  LLVMSetVolatile(LLVMBuildStore(s->builder, v, slot), true);
}

/* Might LLVM know the number that is converted? It knows none that was loaded. */
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

static bool fence_is_opaque_divisor(const fence_state *s, LLVMValueRef y) {
  if (LLVMIsAConstant(y)) return !LLVMIsNull(y);
  if (!LLVMIsAInstruction(y)) return true;
  LLVMOpcode code = LLVMGetInstructionOpcode(y);
  if (code != LLVMCall) return code == LLVMLoad;
  unsigned intrinsic = x86_intrinsic_of(y); /* of a sign and zero LLVM knows that it is zero */
  return !intrinsic || intrinsic == s->masked_load || intrinsic == s->gather;
}

static void fence_divisor(fence_state *s, LLVMValueRef division) {
  LLVMValueRef y = LLVMGetOperand(division, 1);
  if (!x86_is_real(LLVMTypeOf(y)) || fence_is_opaque_divisor(s, y)) return;
  LLVMSetOperand(division, 1, fence_before(s, division, y));
}

/* A magnitude compared with a constant: to LLVM that only asks whether it is a number, which raises
 * nothing where it is not. Nor does equality, which LLVM makes of an order and infinity. */
static void fence_magnitude(fence_state *s, LLVMValueRef comparison) {
  bool signals = loom_x86_signals(comparison);
  for (unsigned i = 0; i < 2; i++) {
    LLVMValueRef x = LLVMGetOperand(comparison, i);
    bool magnitude = LLVMIsAInstruction(x) && x86_intrinsic_of(x) == s->magnitude;
    if ((magnitude && LLVMIsAConstant(LLVMGetOperand(comparison, 1 - i))) ||
        (signals && LLVMIsAConstant(x) && x86_is_real(LLVMTypeOf(x))))
      LLVMSetOperand(comparison, i, fence_before(s, comparison, x));
  }
}

/* A constant, or a vector of one constant, that is no number. */
static bool fence_is_nan(LLVMValueRef v) {
  LLVMBool inexact;
  if (!LLVMIsAConstant(v) || !x86_is_real(LLVMTypeOf(v))) return false;
  if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind) v = LLVMGetAggregateElement(v, 0);
  return v && LLVMIsAConstantFP(v) && isnan(LLVMConstRealGetDouble(v, &inexact));
}

static void fence_nan(fence_state *s, LLVMValueRef v) {
  if (!LLVMIsABinaryOperator(v) && !LLVMIsAFCmpInst(v) && !x86_intrinsic_of(v)) return;
  for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(v); i++)
    if (fence_is_nan(LLVMGetOperand(v, i)))
      LLVMSetOperand(v, i, fence_before(s, v, LLVMGetOperand(v, i)));
}

/* ---- choices of constants ---- */

static int fence_operands(LLVMValueRef v) {
  return LLVMIsACallInst(v) ? (int)LLVMGetNumArgOperands(v) : LLVMGetNumOperands(v);
}

static bool fence_is_choice(const fence_state *s, fence_walk *w, LLVMValueRef v);

static bool fence_all_choices(const fence_state *s, fence_walk *w, LLVMValueRef v) {
  bool all = fence_operands(v) > 0;
  for (int i = 0; i < fence_operands(v) && all; i++)
    all = fence_is_choice(s, w, LLVMGetOperand(v, (unsigned)i));
  return all;
}

/* Do loops or branches bring a constant? */
static bool fence_brings_constant(LLVMValueRef phi) {
  bool constant = false;
  for (unsigned i = 0; i < LLVMCountIncoming(phi) && !constant; i++)
    constant = LLVMIsAConstant(LLVMGetIncomingValue(phi, i));
  return constant;
}

/* Is `v` a constant, at least on one side of a select, for some edge into a block, or in a variable
 * of the function? */
static bool fence_is_choice(const fence_state *s, fence_walk *w, LLVMValueRef v) {
  if (!LLVMIsAInstruction(v)) return LLVMIsAConstant(v);
  if (w->uses++ >= FENCE_USES || !fence_step(w, v)) return false;
  bool choice = false;
  switch (LLVMGetInstructionOpcode(v)) {
  case LLVMSelect:
    choice =
        fence_is_choice(s, w, LLVMGetOperand(v, 1)) || fence_is_choice(s, w, LLVMGetOperand(v, 2));
    break;
  case LLVMPHI: choice = fence_brings_constant(v); break;
  case LLVMLoad: choice = !fence_is_variable(LLVMGetOperand(v, 0)); break;
  case LLVMFreeze: break; /* is fenced */
  default:
    if (fence_passes(v) && !x86_may_raise(&s->raising, v) && !fence_is_known_number(v) &&
        x86_intrinsic_of(v) != s->fence)
      choice = fence_all_choices(s, w, v);
  }
  w->length--;
  return choice;
}

/* An operation that may raise, of constants and choices of constants: one of them is fenced, what a
 * loop carries only if there is nothing else. */
static void fence_choice(fence_state *s, LLVMValueRef v) {
  fence_walk w = {.length = 0};
  if (!x86_may_raise(&s->raising, v) || !fence_all_choices(s, &w, v)) return;
  unsigned at = 0;
  while ((int)at + 1 < fence_operands(v) && LLVMIsAPHINode(LLVMGetOperand(v, at)))
    at++;
  if (!x86_is_real(LLVMTypeOf(LLVMGetOperand(v, at)))) return;
  LLVMSetOperand(v, at, fence_before(s, v, LLVMGetOperand(v, at)));
}

/* Fences the value of `v` for all its uses. */
static void fence_value(fence_state *s, LLVMValueRef v) {
  LLVMValueRef fenced = x86_is_real(LLVMTypeOf(v)) ? fence_after(s, v) : fence_after_bits(s, v);
  if (!fenced) {
    fence_pin(s, v);
    return;
  }
  /* Its first operation reads `v` itself and stays. */
  LLVMValueRef reader = LLVMGetNextInstruction(v);
  LLVMReplaceAllUsesWith(v, fenced);
  LLVMSetOperand(reader, 0, v);
}

/* A constant that is not to be known, or what is computed for its flags alone. */
static void fence_frozen(fence_state *s, LLVMValueRef v) {
  LLVMValueRef from = LLVMGetOperand(v, 0);
  bool unread = !LLVMGetFirstUse(v);
  if (!x86_is_real(LLVMTypeOf(v))) return;
  if (!LLVMIsAConstant(from)) {
    if (unread) fence_pin(s, v);
    return;
  }
  if (!unread) LLVMReplaceAllUsesWith(v, fence_before(s, v, from));
  LLVMInstructionEraseFromParent(v);
}

static void fence_instruction(void *state, LLVMValueRef v) {
  fence_state *s = state;
  LLVMOpcode code = LLVMGetInstructionOpcode(v);
  if (code == LLVMFreeze) {
    fence_frozen(s, v);
    return;
  }
  fence_nan(s, v);
  fence_choice(s, v);
  if (code == LLVMFDiv) fence_divisor(s, v);
  if (code == LLVMFCmp) fence_magnitude(s, v);
  if (code == LLVMFCmp && LLVMGetOperand(v, 0) == LLVMGetOperand(v, 1))
    LLVMSetOperand(v, 1, fence_before(s, v, LLVMGetOperand(v, 1)));
  fence_walk needed = {.length = 0}, known = {.outcomes = true}, left_out = {.length = 0};
  bool scalar = LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMVectorTypeKind;
  bool read = LLVMGetFirstUse(v) && x86_may_raise(&s->raising, v);
  bool loose = read && !fence_is_needed(&needed, v);
  if (loose && (scalar || fence_is_left_out(s, &left_out, v)))
    fence_pin(s, v);
  else if (loose || fence_is_known_number(v))
    fence_value(s, v);
  else if (read && !fence_is_needed(&known, v))
    fence_pin(s, v);
}

void loom_x86_fence(LLVMModuleRef module, const loom_target_cpu *cpu) {
  fence_state s = {.module = module, .vector_bits = cpu->vector_bits};
  s.builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
  s.fence = x86_intrinsic("llvm.arithmetic.fence");
  s.raising = x86_raising_intrinsics();
  s.magnitude = x86_intrinsic("llvm.fabs");
  s.masked_load = x86_intrinsic("llvm.masked.load");
  s.gather = x86_intrinsic("llvm.masked.gather");
  x86_each_instruction(module, fence_instruction, &s);
  LLVMDisposeBuilder(s.builder);
}
