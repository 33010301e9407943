// The one table of ops: what its columns mean, the classes of its rows, and the rows, in the files that are included at the
// end. mlir-tblgen makes the dialect from it; gen_ops.py makes the plain-C table and the reference
// page. A pointwise op is one entry; a structured op is one entry, one shape function (graph/infer*.c), one lowering
// function and one interpreter function.
//
// Every op also says, for the C table (loom_op_info in graph/graph.h):
//   shape      the rule in graph/infer.c; "none": an op of the compiler's own, which no captured graph holds
//   group      whose opcodes are one generated header, loom_ops_<group>.h (GROUPS in gen_ops.py)
//   lower      the form of the code for one element (loom_lowering): "unary", "binary", "view", ...; "none": code of its own
//   fusion     how it takes part in fusion (loom_class): "pointwise", "view", "reduce", ...
//   fp         which floating-point exceptions NumPy may report for it
//   fpInteger  those of integers and bools
//   dtypes     classes of element types it computes on: b bool, i signed, u unsigned, f float, c complex
//   parts      what loom-complex makes of it for complex numbers (loom_parts): "each": the same op on each part;
//              "any", "all": a predicate that holds for any part, for all; "formula": a formula over the parts (the column
//              `pair`, or code in passes/complex.c for an op that is not pointwise); "none": such numbers have no kernel.
//              Of ops with a `kind`, `combine` or `direction` this holds for some words only (loom_parts_take in
//              graph/table.c)
//   pair       of a pointwise op with parts = "formula": the parts of the result, in the words of passes/complex_rules.c,
//              of the parts x.re, x.im, y.re and y.im of the operands
//   cost       rough instructions for one element
//   exact      a float result needs no rounding: it is an operand or its negative, or a whole number
//   rounded    a float result is the exact one, rounded once: the same bits on every machine (of minima and maxima
//              NumPy leaves it open which of two zeros they are)
//   real, integer, boolean, complex
//              what the reference interpreter and the folds compute for each class of `dtypes`: a C expression of the
//              operands x and y and of `dtype`, which stands in graph/cell.c. Floats are `double`, complex numbers are
//              `double complex`. Integers are uint64_t, so arithmetic wraps; those of signed dtypes are sign-extended.
//              Bools are 0 or 1 in uint64_t, and without a formula of their own they have that of integers. The result
//              is rounded or wrapped to the dtype. A formula of several statements is [{ ({ statements; value; }) }]
//   gradient   of a pointwise op, for each operand: its cotangent, in the words of graph/gradient_rules.c, of the operands
//              x, y and z, the result r and the result's cotangent g. None: the op has no derivative
//   whole      floats become whole numbers, integers and bools stay what they are
//   truth      a bool result is 0 or 1, whatever bytes the operands have: it is computed, not moved
//   strided    a kernel of its own reads operands through any views that are strides
//   alias      the result is the operand's buffer: a plan runs nothing for the op
//   updates    the result is the first operand with some of its elements replaced
//   indexed    the second operand says which elements of the first are taken or replaced
//   windowed   a product that reads its first operand in windows: an element several times, or not at all
//   body       its region is what one kernel computes
//   applies    its results are those of the kernel of the module that it names
//   control    a branch or a loop whose regions are functions or plans of the module
include "mlir/IR/OpBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/LoopLikeInterface.td"

def Loom_Dialect : Dialect {
  let name = "loom";
  let summary = "Array programs as NumPy and torch mean them, on value-semantics tensors";
  let cppNamespace = "::loom";
  let hasConstantMaterializer = 1;
}

defvar Loom_Tensor = AnyRankedTensor;

class Loom_Fp<int m> { int mask = m; }
def FpNone : Loom_Fp<0>;
def FpDivide : Loom_Fp<1>;
def FpOverflow : Loom_Fp<2>;
def FpDivideOverflow : Loom_Fp<3>;
def FpInvalid : Loom_Fp<8>;
def FpOverflowInvalid : Loom_Fp<14>;  // overflow, underflow, invalid: arithmetic
def FpDivideOverflowInvalid : Loom_Fp<15>;
def FpUnderflow : Loom_Fp<4>;
def FpOverflowUnderflow : Loom_Fp<6>;
def FpUnderflowInvalid : Loom_Fp<12>;

// Rough instructions for one element, or one lane of a vector: of f64, and of every other type. Schedules divide work by
// them; what costs as much as a division is not computed twice for the sake of fusion.
class Loom_Cost<int usual, int f64> { int other = usual; int wide = f64; }
def CostOne : Loom_Cost<1, 1>;
def CostFew : Loom_Cost<3, 3>;
def CostDivision : Loom_Cost<4, 4>;
def CostDivisions : Loom_Cost<8, 8>;
def CostRead : Loom_Cost<8, 8>;           // at an index that is looked up
def CostFunction : Loom_Cost<20, 30>;     // a polynomial
def CostWideFunction : Loom_Cost<50, 30>; // a polynomial in f64 for f32, too (WIDE in passes/math.def)
def CostRemainder : Loom_Cost<30, 30>;
def CostLoop : Loom_Cost<60, 60>;
def CostRandom : Loom_Cost<100, 100>;

// What the C++ classes forward to C.
defvar Loom_Verify = [{
  ::llvm::LogicalResult $cppClass::verify() { return unwrap(loom_verify_op(wrap(getOperation()))); }
}];
defvar Loom_Speculate = [{
  ::mlir::Speculation::Speculatability $cppClass::getSpeculatability() {
    return loom_is_speculatable(wrap(getOperation())) ? ::mlir::Speculation::Speculatable
                                                      : ::mlir::Speculation::NotSpeculatable;
  }
}];
defvar Loom_Effects = [{
  void $cppClass::getEffects(
      ::llvm::SmallVectorImpl<::mlir::SideEffects::EffectInstance<::mlir::MemoryEffects::Effect>> &effects) {
    if (!loom_is_effect_free(wrap(getOperation()))) effects.emplace_back(::mlir::MemoryEffects::Write::get());
  }
}];
defvar Loom_SymbolUses = [{
  ::llvm::LogicalResult $cppClass::verifySymbolUses(::mlir::SymbolTableCollection &symbols) {
    return ::verifySymbols(getOperation(), symbols);
  }
}];
defvar Loom_Canonicalize = [{
  ::llvm::LogicalResult $cppClass::canonicalize($cppClass op, ::mlir::PatternRewriter &rewriter) {
    return unwrap(loom_canonicalize(wrap(op), wrap(static_cast<::mlir::RewriterBase *>(&rewriter))));
  }
}];

// The base of every op: the verifier calls C (loom_verify_op in verify.c).
class Loom_Op<string mnemonic, list<Trait> traits = []> : Op<Loom_Dialect, mnemonic, traits> {
  string shape = "none";
  string group = "";
  string lower = "none";
  string fusion = "other";
  Loom_Fp fp = FpNone;
  Loom_Fp fpInteger = FpNone;
  string dtypes = "biufc";
  string parts = "none";
  Loom_Cost cost = CostOne;
  bit exact = 0;
  bit rounded = 0;
  list<string> gradient = [];
  string real = "";
  string integer = "";
  string boolean = "";
  string complex = "";
  string pair = "";
  bit whole = 0;
  bit truth = 0;
  bit strided = 0;
  bit alias = 0;
  bit updates = 0;
  bit indexed = 0;
  bit windowed = 0;
  bit body = 0;
  bit applies = 0;
  bit control = 0;
  bit infersType = 0;
  let hasVerifier = 1;
  let extraClassDefinition = Loom_Verify;
}

// No effect. It may run where it would not have run, unless that would raise a floating-point exception or it reads a
// loop's symbol (loom_is_speculatable in effects.c).
defvar Loom_Pure = [NoMemoryEffect, DeclareOpInterfaceMethods<ConditionallySpeculatable>];
class Loom_PureOp<string mnemonic, list<Trait> traits = []> : Loom_Op<mnemonic, !listconcat(Loom_Pure, traits)> {
  let extraClassDefinition = !strconcat(Loom_Verify, Loom_Speculate);
}

// Whether there is an effect depends on attributes (loom_is_effect_free in effects.c).
defvar Loom_Effective = [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
                         DeclareOpInterfaceMethods<ConditionallySpeculatable>];
class Loom_EffectiveOp<string mnemonic, list<Trait> traits = []> : Loom_Op<mnemonic, !listconcat(Loom_Effective, traits)> {
  let extraClassDefinition = !strconcat(Loom_Verify, Loom_Speculate, Loom_Effects);
}

// One result, whose type the shape rule determines: MLIR's type inference calls C (loom_infer_types in verify.c).
class Loom_InferredOp<string mnemonic, list<Trait> traits = []>
    : Loom_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<InferTypeOpInterface>], traits)> {
  let infersType = 1;
}
class Loom_PureInferredOp<string mnemonic, list<Trait> traits = []>
    : Loom_InferredOp<mnemonic, !listconcat(Loom_Pure, traits)> {
  let extraClassDefinition = !strconcat(Loom_Verify, Loom_Speculate);
}
class Loom_EffectiveInferredOp<string mnemonic, list<Trait> traits = []>
    : Loom_InferredOp<mnemonic, !listconcat(Loom_Effective, traits)> {
  let extraClassDefinition = !strconcat(Loom_Verify, Loom_Speculate, Loom_Effects);
}

include "dialects/ops_elementwise.td"
include "dialects/ops_arrays.td"
include "dialects/ops_control.td"
