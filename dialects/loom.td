// The one table of ops. mlir-tblgen makes the dialect from it; gen_ops.py makes the plain-C table and the reference
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

// ---- elementwise --------------------------------------------------------------------------------------------------

class Loom_Unary<string mnemonic, string text, string classes, Loom_Fp flags = FpNone, list<Trait> traits = []>
    : Loom_PureOp<mnemonic, !listconcat([SameOperandsAndResultType, Elementwise], traits)> {
  let group = "functions";
  let summary = text;
  let arguments = (ins Loom_Tensor:$operand);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let shape = "same";
  let lower = "unary";
  let fusion = "pointwise";
  let truth = 1;
  let fp = flags;
  let dtypes = classes;
  let hasFolder = 1;
}

// elementwise, result bool
class Loom_Predicate<string mnemonic, string text, string classes> : Loom_PureInferredOp<mnemonic, [Elementwise]> {
  let group = "functions";
  let summary = text;
  let arguments = (ins Loom_Tensor:$operand);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let shape = "predicate";
  let lower = "predicate";
  let fusion = "pointwise";
  let truth = 1;
  let parts = "any";
  let dtypes = classes;
}

class Loom_Binary<string mnemonic, string text, string classes, Loom_Fp flags = FpNone, list<Trait> traits = []>
    : Loom_PureOp<mnemonic, !listconcat([SameOperandsAndResultType, Elementwise], traits)> {
  let group = "functions";
  let summary = text;
  let arguments = (ins Loom_Tensor:$lhs, Loom_Tensor:$rhs);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
  let shape = "same";
  let lower = "binary";
  let fusion = "pointwise";
  let truth = 1;
  let fp = flags;
  let dtypes = classes;
  let hasFolder = 1;
}

def AbsOp : Loom_Unary<"abs", "Absolute value; integers wrap", "biuf", FpNone, [Idempotent]> {
  let group = "arithmetic";
  let exact = 1;
  let rounded = 1;
  let real = "fabs(x)";
  let integer = "cell_abs(dtype, x)";
  let gradient = ["MUL(g, OP1(SIGN, x))"];
}
def NegOp : Loom_Unary<"neg", "Negation; integers wrap", "iufc", FpNone, [Involution]> {
  let group = "arithmetic";
  let exact = 1;
  let rounded = 1;
  let parts = "each";
  let real = "-x";
  let integer = "0 - x";
  let complex = "-x";
  let gradient = ["NEG(g)"];
}
def SignOp : Loom_Unary<"sign", "-1, 0 or 1; NaN stays NaN", "iufc"> {
  let exact = 1;
  let rounded = 1;
  let real = "isnan(x) ? x : (x > 0) - (x < 0)";
  let integer = "cell_less(dtype, 0, x) - cell_less(dtype, x, 0)";
  let complex = "x == 0 ? 0 : x / cabs(x)";
  let gradient = ["ZERO"];
}
def NotOp : Loom_Unary<"not", "Bitwise not; logical not on bool", "biu"> {
  let group = "logic";
  let integer = "~x";
  let boolean = "!x";
}
def CeilOp : Loom_Unary<"ceil", "Round towards plus infinity", "biuf", FpNone, [Idempotent]> {
  let exact = 1;
  let rounded = 1;
  let whole = 1;
  let truth = 0;
  let real = "ceil(x)";
  let integer = "x";
  let gradient = ["ZERO"];
}
def FloorOp : Loom_Unary<"floor", "Round towards minus infinity", "biuf", FpNone, [Idempotent]> {
  let exact = 1;
  let rounded = 1;
  let whole = 1;
  let truth = 0;
  let real = "floor(x)";
  let integer = "x";
  let gradient = ["ZERO"];
}
def TruncOp : Loom_Unary<"trunc", "Round towards zero", "biuf", FpNone, [Idempotent]> {
  let exact = 1;
  let rounded = 1;
  let whole = 1;
  let truth = 0;
  let real = "trunc(x)";
  let integer = "x";
  let gradient = ["ZERO"];
}
def RoundEvenOp : Loom_Unary<"round_even", "Round to nearest, ties to even (rint)", "biuf", FpNone, [Idempotent]> {
  let exact = 1;
  let rounded = 1;
  let whole = 1;
  let truth = 0;
  let real = "rint(x)";
  let integer = "x";
  let gradient = ["ZERO"];
}
def SqrtOp : Loom_Unary<"sqrt", "Square root, correctly rounded", "fc", FpInvalid> {
  let group = "arithmetic";
  let cost = CostDivision;
  let rounded = 1;
  let real = "sqrt(x)";
  let complex = "csqrt(x)";
  let gradient = ["DIV(g, ADD(r, r))"];
}
def RsqrtOp : Loom_Unary<"rsqrt", "1 / sqrt(x)", "f", FpDivideOverflowInvalid> {
  let cost = CostDivisions;
  let real = "1.0 / sqrt(x)";
  let gradient = ["MUL(g, DIV(MUL(r, NUMBER(-0.5)), x))"];
}
def CbrtOp : Loom_Unary<"cbrt", "Cube root", "f"> {
  let cost = CostFunction;
  let real = "cbrt(x)";
  let gradient = ["DIV(MUL(g, r), MUL(x, NUMBER(3)))"];
}
def ExpOp : Loom_Unary<"exp", "e to the x", "fc", FpOverflowUnderflow> {
  let cost = CostFunction;
  let parts = "formula";
  let real = "exp(x)";
  let complex = "cexp(x)";
  let pair = "pair_exp(b, x)";
  let gradient = ["MUL(g, r)"];
}
def Exp2Op : Loom_Unary<"exp2", "2 to the x", "f", FpOverflowUnderflow> {
  let cost = CostWideFunction;
  let real = "exp2(x)";
  let gradient = ["MUL(g, MUL(r, NUMBER(M_LN2)))"];
}
def Expm1Op : Loom_Unary<"expm1", "exp(x) - 1, accurate near 0", "f", FpOverflowInvalid> {
  let cost = CostFunction;
  let real = "expm1(x)";
  let gradient = ["MUL(g, ADD(r, NUMBER(1)))"];
}
def LogOp : Loom_Unary<"log", "Natural logarithm", "fc", FpDivideOverflowInvalid> {
  let cost = CostFunction;
  let real = "log(x)";
  let complex = "clog(x)";
  let gradient = ["DIV(g, x)"];
}
def Log2Op : Loom_Unary<"log2", "Logarithm to base 2", "f", FpDivideOverflowInvalid> {
  let cost = CostWideFunction;
  let real = "log2(x)";
  let gradient = ["DIV(g, MUL(x, NUMBER(M_LN2)))"];
}
def Log10Op : Loom_Unary<"log10", "Logarithm to base 10", "f", FpDivideOverflowInvalid> {
  let cost = CostWideFunction;
  let real = "log10(x)";
  let gradient = ["DIV(g, MUL(x, NUMBER(M_LN10)))"];
}
def Log1pOp : Loom_Unary<"log1p", "log(1 + x), accurate near 0", "f", FpDivideOverflowInvalid> {
  let cost = CostWideFunction;
  let real = "log1p(x)";
  let gradient = ["DIV(g, ADD(x, NUMBER(1)))"];
}
def SinOp : Loom_Unary<"sin", "Sine of radians", "fc", FpUnderflowInvalid> {
  let cost = CostFunction;
  let real = "sin(x)";
  let complex = "csin(x)";
  let gradient = ["MUL(g, OP1(COS, x))"];
}
def CosOp : Loom_Unary<"cos", "Cosine of radians", "fc", FpUnderflowInvalid> {
  let cost = CostFunction;
  let real = "cos(x)";
  let complex = "ccos(x)";
  let gradient = ["NEG(MUL(g, OP1(SIN, x)))"];
}
def TanOp : Loom_Unary<"tan", "Tangent of radians", "fc", FpOverflowInvalid> {
  let cost = CostFunction;
  let real = "tan(x)";
  let complex = "ctan(x)";
  let gradient = ["MUL(g, ADD(SQUARE(r), NUMBER(1)))"];
}
def AsinOp : Loom_Unary<"asin", "Inverse sine", "fc", FpUnderflowInvalid> {
  let cost = CostFunction;
  let real = "asin(x)";
  let complex = "casin(x)";
  let gradient = ["DIV(g, OP1(SQRT, SUB(NUMBER(1), SQUARE(x))))"];
}
def AcosOp : Loom_Unary<"acos", "Inverse cosine", "fc", FpInvalid> {
  let cost = CostWideFunction;
  let real = "acos(x)";
  let complex = "cacos(x)";
  let gradient = ["NEG(DIV(g, OP1(SQRT, SUB(NUMBER(1), SQUARE(x)))))"];
}
def AtanOp : Loom_Unary<"atan", "Inverse tangent", "fc"> {
  let cost = CostFunction;
  let real = "atan(x)";
  let complex = "catan(x)";
  let gradient = ["DIV(g, ADD(SQUARE(x), NUMBER(1)))"];
}
def SinhOp : Loom_Unary<"sinh", "Hyperbolic sine", "fc", FpOverflowUnderflow> {
  let cost = CostWideFunction;
  let real = "sinh(x)";
  let complex = "csinh(x)";
  let gradient = ["MUL(g, OP1(COSH, x))"];
}
def CoshOp : Loom_Unary<"cosh", "Hyperbolic cosine", "fc", FpOverflowUnderflow> {
  let cost = CostWideFunction;
  let real = "cosh(x)";
  let complex = "ccosh(x)";
  let gradient = ["MUL(g, OP1(SINH, x))"];
}
def TanhOp : Loom_Unary<"tanh", "Hyperbolic tangent", "fc"> {
  let cost = CostFunction;
  let real = "tanh(x)";
  let complex = "ctanh(x)";
  let gradient = ["MUL(g, SUB(NUMBER(1), SQUARE(r)))"];
}
def AsinhOp : Loom_Unary<"asinh", "Inverse hyperbolic sine", "fc"> {
  let cost = CostWideFunction;
  let real = "asinh(x)";
  let complex = "casinh(x)";
  let gradient = ["DIV(g, OP1(SQRT, ADD(SQUARE(x), NUMBER(1))))"];
}
def AcoshOp : Loom_Unary<"acosh", "Inverse hyperbolic cosine", "fc", FpInvalid> {
  let cost = CostWideFunction;
  let real = "acosh(x)";
  let complex = "cacosh(x)";
  let gradient = ["DIV(g, MUL(OP1(SQRT, SUB(x, NUMBER(1))), OP1(SQRT, ADD(x, NUMBER(1)))))"];
}
def AtanhOp : Loom_Unary<"atanh", "Inverse hyperbolic tangent", "fc", FpDivideOverflowInvalid> {
  let cost = CostWideFunction;
  let real = "atanh(x)";
  let complex = "catanh(x)";
  let gradient = ["DIV(g, SUB(NUMBER(1), SQUARE(x)))"];
}
def ErfOp : Loom_Unary<"erf", "Error function", "f"> {
  let cost = CostFunction;
  let real = "erf(x)";
  let gradient = ["MUL(g, MUL(OP1(EXP, NEG(SQUARE(x))), NUMBER(M_2_SQRTPI)))"];
}
def LogisticOp : Loom_Unary<"logistic", "1 / (1 + exp(-x))", "f", FpOverflowUnderflow> {
  let cost = CostFunction;
  let real = "1.0 / (1.0 + exp(-x))";
  let gradient = ["MUL(g, MUL(r, SUB(NUMBER(1), r)))"];
}
def PopcountOp : Loom_Unary<"popcount", "Number of one bits of the absolute value (bitwise_count)", "iu"> {
  let integer = "__builtin_popcountll(cell_abs(dtype, x))";
}

def IsNanOp : Loom_Predicate<"is_nan", "Is it NaN", "biufc"> {
  let real = "isnan(x)";
  let integer = "0";
  let complex = "isnan(creal(x)) || isnan(cimag(x))";
}
def IsInfOp : Loom_Predicate<"is_inf", "Is it an infinity", "biufc"> {
  let real = "isinf(x)";
  let integer = "0";
  let complex = "isinf(creal(x)) || isinf(cimag(x))";
}
def IsFiniteOp : Loom_Predicate<"is_finite", "Is it neither NaN nor an infinity", "biufc"> {
  let real = "isfinite(x)";
  let integer = "1";
  let complex = "isfinite(creal(x)) && isfinite(cimag(x))";
  let parts = "all";
}
def SignbitOp : Loom_Predicate<"signbit", "Is the sign bit set (-0.0 and negative NaN included)", "biuf"> {
  let parts = "none";
  let real = "signbit(x)";
  let integer = "cell_less(dtype, x, 0)";
}

def AddOp : Loom_Binary<"add", "Sum; integers wrap; logical or on bool", "biufc", FpOverflowInvalid, [Commutative]> {
  let group = "arithmetic";
  let rounded = 1;
  let parts = "each";
  let real = "x + y";
  let integer = "x + y";
  let boolean = "x | y";
  let complex = "x + y";
  let gradient = ["g", "g"];
}
def SubOp : Loom_Binary<"sub", "Difference; integers wrap", "iufc", FpOverflowInvalid> {
  let group = "arithmetic";
  let rounded = 1;
  let parts = "each";
  let real = "x - y";
  let integer = "x - y";
  let complex = "x - y";
  let gradient = ["g", "NEG(g)"];
}
def MulOp : Loom_Binary<"mul", "Product; integers wrap; logical and on bool", "biufc", FpOverflowInvalid, [Commutative]> {
  let group = "arithmetic";
  let rounded = 1;
  let parts = "formula";
  let real = "x * y";
  let integer = "x * y";
  let boolean = "x & y";
  let complex = "cell_multiply(dtype, x, y)";
  let pair = "pair_product(b, x, y)";
  let gradient = ["MUL(g, y)", "MUL(g, x)"];
}
def DivOp : Loom_Binary<"div", "True division of floats", "fc", FpDivideOverflowInvalid> {
  let group = "arithmetic";
  let cost = CostDivision;
  let rounded = 1;
  let parts = "formula";
  let real = "x / y";
  let complex = "cell_divide(dtype, x, y)";
  let pair = "pair_quotient(b, x, y)";
  let gradient = ["DIV(g, y)", "NEG(MUL(DIV(g, y), r))"];
}
def FloorDivOp : Loom_Binary<"floor_div",
    "Division rounded to minus infinity as NumPy's floor_divide; an integer by zero is 0 and raises the divide flag", "iuf",
    FpDivideOverflowInvalid> {
  let cost = CostRemainder;
  let fpInteger = FpDivideOverflow;
  let real = "cell_divmod(dtype, x, y, true)";
  let integer = "cell_floor_div(dtype, x, y)";
  let gradient = ["ZERO", "ZERO"];
}
def RemOp : Loom_Binary<"rem",
    "Remainder with the sign of the divisor as NumPy's remainder; an integer by zero is 0 and raises the divide flag", "iuf",
    FpDivideOverflowInvalid> {
  let cost = CostRemainder;
  let fpInteger = FpDivideOverflow;
  let real = "cell_divmod(dtype, x, y, false)";
  let integer = "cell_rem(dtype, x, y, true)";
  let gradient = ["g", "NEG(MUL(g, OP2(FLOOR_DIV, x, y)))"];
}
def FmodOp : Loom_Binary<"fmod", "Remainder with the sign of the dividend (C's fmod, %)", "iuf", FpDivideOverflowInvalid> {
  let cost = CostRemainder;
  let fpInteger = FpDivideOverflow;
  let real = "fmod(x, y)";
  let integer = "cell_rem(dtype, x, y, false)";
  let gradient = ["g", "NEG(MUL(g, OP1(TRUNC, DIV(x, y))))"];
}
def PowOp : Loom_Binary<"pow", "Power; integers wrap (exponent not negative)", "iufc", FpDivideOverflowInvalid> {
  let cost = CostLoop;
  let real = "cell_pow(x, y)";
  let integer = "cell_int_pow(dtype, x, y)";
  let complex = "cpow(x, y)";
  let gradient = ["rule_power_base(s, x, y, g)", "rule_power_exponent(s, x, r, g)"];
}
def Atan2Op : Loom_Binary<"atan2", "Angle of (rhs, lhs) in radians", "f"> {
  let cost = CostFunction;
  let real = "atan2(x, y)";
  let gradient = ["MUL(g, DIV(y, ADD(SQUARE(x), SQUARE(y))))", "NEG(MUL(g, DIV(x, ADD(SQUARE(x), SQUARE(y)))))"];
}
def HypotOp : Loom_Binary<"hypot", "sqrt(x*x + y*y) without needless overflow", "f", FpOverflowUnderflow, [Commutative]> {
  let cost = CostWideFunction;
  let real = "hypot(x, y)";
  let gradient = ["MUL(g, DIV(x, WHERE(COMPARE(\"eq\", r, NUMBER(0)), NUMBER(1), r)))",
                  "MUL(g, DIV(y, WHERE(COMPARE(\"eq\", r, NUMBER(0)), NUMBER(1), r)))"];
}
def MaxOp : Loom_Binary<"max", "Maximum; NaN if either is NaN (np.maximum)", "biuf"> {
  let group = "arithmetic";
  let cost = CostFew;
  let exact = 1;
  let real = "isgreater(x, y) || isnan(x) ? x : y";
  let integer = "cell_less(dtype, x, y) ? y : x";
  let gradient = ["rule_chosen(s, \"gt\", x, y, g)", "rule_chosen(s, \"gt\", y, x, g)"];
}
def MinOp : Loom_Binary<"min", "Minimum; NaN if either is NaN (np.minimum)", "biuf"> {
  let group = "arithmetic";
  let cost = CostFew;
  let exact = 1;
  let real = "isless(x, y) || isnan(x) ? x : y";
  let integer = "cell_less(dtype, y, x) ? y : x";
  let gradient = ["rule_chosen(s, \"lt\", x, y, g)", "rule_chosen(s, \"lt\", y, x, g)"];
}
def FmaxOp : Loom_Binary<"fmax", "Maximum; the other where one is NaN", "biuf"> {
  let exact = 1;
  let real = "isgreater(x, y) || isnan(y) ? x : y";
  let integer = "cell_less(dtype, x, y) ? y : x";
  let gradient = ["rule_chosen_number(s, \"gt\", x, y, g)", "rule_chosen_number(s, \"gt\", y, x, g)"];
}
def FminOp : Loom_Binary<"fmin", "Minimum; the other where one is NaN", "biuf"> {
  let exact = 1;
  let real = "isless(x, y) || isnan(y) ? x : y";
  let integer = "cell_less(dtype, y, x) ? y : x";
  let gradient = ["rule_chosen_number(s, \"lt\", x, y, g)", "rule_chosen_number(s, \"lt\", y, x, g)"];
}
def AndOp : Loom_Binary<"and", "Bitwise and; logical on bool", "biu", FpNone, [Commutative]> {
  let group = "logic";
  let integer = "x & y";
}
def OrOp : Loom_Binary<"or", "Bitwise or; logical on bool", "biu", FpNone, [Commutative]> {
  let group = "logic";
  let integer = "x | y";
}
def XorOp : Loom_Binary<"xor", "Bitwise exclusive or; logical on bool", "biu", FpNone, [Commutative]> {
  let group = "logic";
  let integer = "x ^ y";
}
def ShlOp : Loom_Binary<"shl", "Shift left; 0 when the count reaches the width or is negative", "iu"> {
  let group = "logic";
  let integer = "y < 8 * loom_dtype_size(dtype) ? x << y : 0";
}
def ShrOp : Loom_Binary<"shr",
    "Shift right, arithmetic when signed; the sign (or 0) when the count reaches the width", "iu"> {
  let group = "logic";
  let integer = "cell_shift_right(dtype, x, y)";
}
def CopysignOp : Loom_Binary<"copysign", "Magnitude of lhs, sign of rhs", "f"> {
  let exact = 1;
  let rounded = 1;
  let real = "copysign(x, y)";
  let gradient = ["MUL(g, MUL(OP2(COPYSIGN, OP1(ABS, OP1(SIGN, x)), x), OP2(COPYSIGN, NUMBER(1), y)))", "ZERO"];
}
def BesideOp : Loom_Binary<"beside", "lhs; rhs is computed beside it, for the floating-point flags that it raises", "f"> {
  let real = "x";
  let gradient = ["g", "ZERO"];
}
def NextafterOp : Loom_Binary<"nextafter", "The next float after lhs towards rhs", "f", FpOverflowUnderflow> {
  let cost = CostFunction;
  let real = "cell_nextafter(dtype, x, y)";
  let gradient = ["g", "ZERO"];
}
def GcdOp : Loom_Binary<"gcd", "Greatest common divisor of integers, not negative", "iu", FpNone, [Commutative]> {
  let cost = CostLoop;
  let integer = [{ ({
    uint64_t a = cell_abs(dtype, x), b = cell_abs(dtype, y), r;
    for (; b; b = r) {
      r = a % b;
      a = b;
    }
    a;
  }) }];
}

def MulAddOp : Loom_PureOp<"mul_add", [SameOperandsAndResultType, Elementwise]> {
  let group = "arithmetic";
  let summary = "lhs * rhs + addend, rounded once";
  let arguments = (ins Loom_Tensor:$lhs, Loom_Tensor:$rhs, Loom_Tensor:$addend);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $addend attr-dict `:` type($result)";
  let shape = "same";
  let lower = "ternary";
  let fusion = "pointwise";
  let rounded = 1;
  let fp = FpOverflowInvalid;
  let dtypes = "f";
  let hasFolder = 1;
  let real = "cell_mul_add(dtype, x, y, z)";
  let gradient = ["MUL(g, y)", "MUL(g, x)", "g"];
}

def CompareOp : Loom_PureInferredOp<"compare", [Elementwise, SameTypeOperands]> {
  let group = "logic";
  let summary = "Comparison eq, ne, lt, le, gt or ge; unordered is false but for ne";
  let arguments = (ins Loom_Tensor:$lhs, Loom_Tensor:$rhs, StrAttr:$direction);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "$direction $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let shape = "compare";
  let lower = "compare";
  let fusion = "pointwise";
  let truth = 1;
  let parts = "formula";
  let hasFolder = 1;
}

def SelectOp : Loom_PureInferredOp<"select", [Elementwise]> {
  let group = "logic";
  let summary = "on_true where the bool condition holds, else on_false; all of one shape";
  let arguments = (ins Loom_Tensor:$condition, Loom_Tensor:$on_true, Loom_Tensor:$on_false);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` functional-type(operands, results)";
  let shape = "select";
  let lower = "select";
  let fusion = "pointwise";
  let parts = "each";
  let hasFolder = 1;
  let gradient = ["ZERO", "WHERE(x, g, NUMBER(0))", "WHERE(x, NUMBER(0), g)"];
}

def ConvertOp : Loom_PureOp<"convert", [Elementwise]> {
  let group = "logic";
  let summary = "Element type conversion as NumPy's astype (C conversion; to bool: is it not zero)";
  let arguments = (ins Loom_Tensor:$operand);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let shape = "convert";
  let lower = "convert";
  let fusion = "pointwise";
  let parts = "formula";
  let fp = FpOverflowInvalid;
  let hasFolder = 1;
  let gradient = ["rule_convert(s, x, g)"];
}

def BitcastOp : Loom_PureOp<"bitcast", [Elementwise]> {
  let group = "logic";
  let summary = "The same bits as another element type of the same width; of a bool the byte that lies in memory, as uint8";
  let arguments = (ins Loom_Tensor:$operand);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let shape = "bitcast";
  let lower = "bitcast";
  let fusion = "pointwise";
}

class Loom_Part<string mnemonic, string text> : Loom_PureInferredOp<mnemonic, [Elementwise]> {
  let group = "functions";
  let summary = text;
  let arguments = (ins Loom_Tensor:$operand);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let shape = "part";
  let lower = "part";
  let fusion = "pointwise";
  let parts = "formula";
  let dtypes = "c";
}
def RealOp : Loom_Part<"real", "The real parts of complex numbers, as floats"> {
  let gradient = ["OP2(COMPLEX, g, NUMBER(0))"];
}
def ImagOp : Loom_Part<"imag", "The imaginary parts of complex numbers, as floats"> {
  let gradient = ["OP2(COMPLEX, NUMBER(0), NEG(g))"];
}
def ComplexOp : Loom_PureInferredOp<"complex", [Elementwise, SameTypeOperands]> {
  let group = "functions";
  let summary = "Complex numbers of real and imaginary parts (f32 or f64)";
  let arguments = (ins Loom_Tensor:$real, Loom_Tensor:$imag);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "$real `,` $imag attr-dict `:` functional-type(operands, results)";
  let shape = "pair";
  let lower = "part";
  let fusion = "pointwise";
  let parts = "formula";
  let dtypes = "f";
  let gradient = ["OP1(REAL, g)", "NEG(OP1(IMAG, g))"];
}

// ---- creation -------------------------------------------------------------------------------------------------------

def ConstantOp : Loom_PureOp<"constant", [ConstantLike]> {
  let group = "shapes";
  let summary = "A tensor filled with one value; larger constants are inputs";
  let arguments = (ins AnyAttr:$value);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "`(` $value `)` attr-dict `:` type($result)";
  let shape = "declared";
  let fusion = "constant";
  let parts = "formula";
  let hasFolder = 1;
}

def IotaOp : Loom_PureOp<"iota"> {
  let group = "shapes";
  let summary = "The index along dimension `axis`, converted to the element type";
  let arguments = (ins I64Attr:$axis);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let dtypes = "iufc";
  let shape = "iota";
  let fusion = "constant";
}

def RandomOp : Loom_PureOp<"random"> {
  let group = "elements";
  let summary = "Philox 4x32-10 bits of (key, counter), each a tensor<2xui64>; `kind` bits, uniform or normal";
  let description = [{
    Element e takes its 32-bit words from the block `counter + e / p`, where p elements share a block: "bits" (uint32,
    uint64) and "uniform" (float32, float64, in [0, 1)) use one word for an element of 4 bytes and two, low word first,
    for one of 8 bytes; "normal" (Box-Muller) uses a whole block.
  }];
  let arguments = (ins Loom_Tensor:$key, Loom_Tensor:$counter, StrAttr:$kind);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "$kind $key `,` $counter attr-dict `:` functional-type(operands, results)";
  let dtypes = "uf";
  let shape = "random";
  let fusion = "move";
  let cost = CostRandom;
}

// ---- views: no arithmetic, an index map ------------------------------------------------------------------------------

class Loom_View<string mnemonic, string text, string rule, list<Trait> traits = []> : Loom_PureOp<mnemonic, traits> {
  let group = "shapes";
  let summary = text;
  let results = (outs Loom_Tensor:$result);
  let shape = rule;
  let lower = "view";
  let fusion = "view";
  let hasFolder = 1;
}

def BroadcastOp : Loom_View<"broadcast",
    "Operand dimension i becomes result dimension dims[i]; sizes are equal or the operand's is 1", "broadcast"> {
  let parts = "each";
  let arguments = (ins Loom_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let assemblyFormat = "$operand `dims` `=` $dims attr-dict `:` functional-type(operands, results)";
}
def ReshapeOp : Loom_View<"reshape", "The same elements in C order with other sizes", "reshape"> {
  let parts = "each";
  let arguments = (ins Loom_Tensor:$operand);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
}
def TransposeOp : Loom_View<"transpose", "Result dimension i is operand dimension perm[i]", "transpose",
                            [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let infersType = 1;
  let parts = "each";
  let arguments = (ins Loom_Tensor:$operand, DenseI64ArrayAttr:$perm);
  let assemblyFormat = "$operand `perm` `=` $perm attr-dict `:` functional-type(operands, results)";
}
def SliceOp : Loom_View<"slice",
    "Element i of dimension d is operand element starts[d] + i * steps[d], for i < sizes[d]; steps may be negative",
    "slice", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let description = [{
    A size of -1, with start 0 and step 1, is the whole of a dimension of symbolic size.
  }];
  let infersType = 1;
  let parts = "each";
  let arguments = (ins Loom_Tensor:$operand, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$sizes,
                       DenseI64ArrayAttr:$steps);
  let assemblyFormat = [{
    $operand `starts` `=` $starts `sizes` `=` $sizes `steps` `=` $steps attr-dict `:` functional-type(operands, results)
  }];
}

def WindowsOp : Loom_View<"windows", "The windows of `sizes[d]` elements of each dimension d, as dimensions of their own",
                          "windows", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let description = [{
    The result has twice the operand's rank: element (o..., k...) is operand element o[d] * strides[d] + k[d] * dilation[d]
    in each dimension d, with k[d] < sizes[d]. A dimension without windows has a size of 1 (and may be symbolic when its
    stride is 1 too). Pooling is a reduction over the window's dimensions of a padded operand.
  }];
  let infersType = 1;
  let arguments = (ins Loom_Tensor:$operand, DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilation);
  let assemblyFormat = [{
    $operand `sizes` `=` $sizes `strides` `=` $strides `dilation` `=` $dilation attr-dict
    `:` functional-type(operands, results)
  }];
}

// ---- data movement ---------------------------------------------------------------------------------------------------

def CopyOp : Loom_PureOp<"copy", [SameOperandsAndResultType]> {
  let group = "shapes";
  let summary = "The same value in storage of its own";
  let arguments = (ins Loom_Tensor:$operand);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let shape = "same";
  let lower = "unary";
  let fusion = "pointwise";
  let parts = "each";
  let gradient = ["g"];
}
def UpdateSliceOp : Loom_PureInferredOp<"update_slice"> {
  let group = "elements";
  let summary = "`operand` with the elements a slice op of the same starts and steps would take replaced by `update`";
  let arguments = (ins Loom_Tensor:$operand, Loom_Tensor:$update, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $update `starts` `=` $starts `steps` `=` $steps attr-dict `:` functional-type(operands, results)
  }];
  let shape = "update_slice";
  let fusion = "move";
  let parts = "each";
}
def ConcatenateOp : Loom_PureInferredOp<"concatenate"> {
  let group = "shapes";
  let summary = "The operands one after another along `axis`";
  let arguments = (ins Variadic<Loom_Tensor>:$operands, I64Attr:$axis);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "$operands `axis` `=` $axis attr-dict `:` functional-type(operands, results)";
  let shape = "concatenate";
  let fusion = "move";
  let parts = "each";
}
def PadOp : Loom_PureInferredOp<"pad"> {
  let group = "shapes";
  let summary = "low[d] elements of the 0-d `value` before and high[d] after dimension d";
  let arguments = (ins Loom_Tensor:$operand, Loom_Tensor:$value, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $value `low` `=` $low `high` `=` $high attr-dict `:` functional-type(operands, results)
  }];
  let shape = "pad";
  let fusion = "move";
  let parts = "each";
}
def GatherOp : Loom_EffectiveInferredOp<"gather"> {
  let group = "elements";
  let summary = "np.take: the slices of `operand` at the integer `indices` along `axis`";
  let description = [{
    The result has the sizes of `operand` with dimension `axis` replaced by the dimensions of `indices`. `mode` is
    "raise" (an index outside [-n, n) makes the kernel report an error), "wrap" or "clip", as in np.take.
  }];
  let arguments = (ins Loom_Tensor:$operand, Loom_Tensor:$indices, I64Attr:$axis, StrAttr:$mode);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = [{
    $mode $operand `,` $indices `axis` `=` $axis attr-dict `:` functional-type(operands, results)
  }];
  let shape = "gather";
  let fusion = "move";
  let parts = "each";
  let cost = CostRead;
}
def ScatterOp : Loom_EffectiveInferredOp<"scatter"> {
  let group = "elements";
  let summary = "`operand` with slices along `axis` at `indices` set to (or combined with) `updates`, in order";
  let description = [{
    `updates` has the sizes of `operand` with dimension `axis` replaced by the dimensions of `indices`: each index is that
    of a slice. Or `indices`, `updates` and `operand` are of the same rank, at least 2, and of the same sizes but along
    `axis`, where only `indices` and `updates` agree: each index is that of an element (np.put_along_axis).
    An index outside [-n, n) makes the kernel report an error.
  }];
  let arguments = (ins Loom_Tensor:$operand, Loom_Tensor:$indices, Loom_Tensor:$updates, I64Attr:$axis,
                       StrAttr:$combine);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = [{
    $combine $operand `,` $indices `,` $updates `axis` `=` $axis attr-dict `:` functional-type(operands, results)
  }];
  let shape = "scatter";
  let fusion = "alone";
  let parts = "each";
  let fp = FpOverflowInvalid;
}
def SortOp : Loom_PureInferredOp<"sort"> {
  let group = "elements";
  let summary = "Sorted along `axis`, NaN last; with `indices`, the int64 permutation (stable) instead of the values";
  let arguments = (ins Loom_Tensor:$operand, I64Attr:$axis, BoolAttr:$indices);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "$operand `axis` `=` $axis attr-dict `:` functional-type(operands, results)";
  let dtypes = "biuf";
  let shape = "sort";
  let fusion = "alone";
}

// ---- reductions and scans --------------------------------------------------------------------------------------------

def ReduceOp : Loom_PureInferredOp<"reduce"> {
  let group = "reductions";
  let summary = "sum, prod, min, max, and, or, argmin or argmax over `axes`, which the result lacks";
  let description = [{
    min and max give NaN when an element is NaN. argmin and argmax take one axis, give int64, the first of equal
    elements, and the first NaN when there is one. min, max, argmin and argmax of no element are refused by the
    verifier when the size is static. `and`/`or` are bitwise, logical on bool.
  }];
  let arguments = (ins Loom_Tensor:$operand, StrAttr:$kind, DenseI64ArrayAttr:$axes);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "$kind $operand `axes` `=` $axes attr-dict `:` functional-type(operands, results)";
  let shape = "reduce";
  let fusion = "reduce";
  let parts = "each";
  let fp = FpOverflowInvalid;
}
def ScanOp : Loom_PureOp<"scan", [SameOperandsAndResultType]> {
  let group = "reductions";
  let summary = "Running sum, prod, min or max along `axis`, in order";
  let arguments = (ins Loom_Tensor:$operand, StrAttr:$kind, I64Attr:$axis);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "$kind $operand `axis` `=` $axis attr-dict `:` type($result)";
  let shape = "scan";
  let fusion = "scan";
  let parts = "each";
  let fp = FpOverflowInvalid;
}

// ---- contractions ----------------------------------------------------------------------------------------------------

def DotGeneralOp : Loom_PureInferredOp<"dot_general"> {
  let group = "reductions";
  let summary = "Batched contraction: result dimensions are batch, free of lhs, free of rhs";
  let arguments = (ins Loom_Tensor:$lhs, Loom_Tensor:$rhs, DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch,
                       DenseI64ArrayAttr:$lhs_contract, DenseI64ArrayAttr:$rhs_contract);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `batch` `=` $lhs_batch `x` $rhs_batch `contract` `=` $lhs_contract `x` $rhs_contract attr-dict
    `:` functional-type(operands, results)
  }];
  let shape = "dot_general";
  let fusion = "dot";
  let parts = "formula";
  let fp = FpOverflowInvalid;
}
def ConvolutionOp : Loom_PureInferredOp<"convolution"> {
  let group = "reductions";
  let summary = "Cross-correlation of NC(spatial) with OI(spatial); strides, low/high padding pairs, dilation, groups";
  let description = [{
    Dimensions are named in this order whatever the layout: channels-last is a matter of strides. Padding is zeros, which
    are multiplied like any element. Group g takes input channels [g I, g I + I) to output channels [g O / groups, ...).
  }];
  let arguments = (ins Loom_Tensor:$lhs, Loom_Tensor:$rhs, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding,
                       DenseI64ArrayAttr:$dilation, I64Attr:$groups);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `strides` `=` $strides `padding` `=` $padding `dilation` `=` $dilation `groups` `=` $groups attr-dict
    `:` functional-type(operands, results)
  }];
  let dtypes = "iufc";
  let shape = "convolution";
  let fusion = "dot";
  let fp = FpOverflowInvalid;
}
def ConvolutionGradientOp : Loom_PureInferredOp<"convolution_gradient"> {
  let group = "reductions";
  let summary = "Gradient of a convolution with respect to its weights, from its input and the gradient of its result";
  let description = [{
    result[o, i, k] is the sum over n and y of rhs[n, o, y] * lhs[n, g I + i, y * strides + k * dilation - low], where g is
    the group of output channel o and lhs is zero outside. Attributes are the convolution's; `window` has the spatial
    sizes of its weights.
  }];
  let arguments = (ins Loom_Tensor:$lhs, Loom_Tensor:$rhs, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding,
                       DenseI64ArrayAttr:$dilation, DenseI64ArrayAttr:$window, I64Attr:$groups);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `strides` `=` $strides `padding` `=` $padding `dilation` `=` $dilation `window` `=` $window
    `groups` `=` $groups attr-dict `:` functional-type(operands, results)
  }];
  let dtypes = "iuf";
  let shape = "convolution_gradient";
  let fusion = "alone";
  let fp = FpOverflowInvalid;
}

def AttentionOp : Loom_PureOp<"attention"> {
  let group = "reductions";
  let summary = "softmax(q k^T * scale + mask) v over keys, and the logarithm of each query's sum of exponentials";
  let description = [{
    Operands: q (batch, heads, queries, depth), k (batch, groups, keys, depth), v (batch, groups, keys, width), the 0-d
    scale and, where there is one, a mask that is added to the scaled scores: (batch, heads, queries, keys), each of
    them or 1. Query head h uses head h / (heads / groups) of k and v. `causal`: query i sees keys up to number i. Sums
    are taken in f32 of half floats, else in the element type of q, k and v, which the scale has; the mask has either, or
    is of bool and says where a key counts: elsewhere the score is -inf.
    Results: (batch, heads, queries, width) in the type of q, and the logarithms, (batch, heads, queries) in that of
    the scale. A query all of whose scores are -inf gives NaN where `empty` is "nan" (0 / 0), and zeros, logarithm
    included, where it is "zero".
  }];
  let arguments = (ins Variadic<Loom_Tensor>:$operands, BoolAttr:$causal, StrAttr:$empty);
  let results = (outs Loom_Tensor:$result, Loom_Tensor:$lse);
  let assemblyFormat = [{
    $operands `causal` `=` $causal `empty` `=` $empty attr-dict `:` functional-type(operands, results)
  }];
  let dtypes = "f";
  let shape = "attention";
  let fusion = "alone";
  let strided = 1;
  let fp = FpDivideOverflowInvalid;
}
def AttentionGradientOp : Loom_PureOp<"attention_gradient"> {
  let group = "reductions";
  let summary = "Gradients of an attention with respect to q, k and v";
  let description = [{
    Operands: the gradient of the result, q, k, v, the logarithms that the attention gave, for each query the sum over
    width of result times gradient (as the logarithms: batch, heads, queries), the scale and the mask if there is one.
    The scores are computed again.
  }];
  let arguments = (ins Variadic<Loom_Tensor>:$operands, BoolAttr:$causal);
  let results = (outs Loom_Tensor:$q_gradient, Loom_Tensor:$k_gradient, Loom_Tensor:$v_gradient);
  let assemblyFormat = "$operands `causal` `=` $causal attr-dict `:` functional-type(operands, results)";
  let dtypes = "f";
  let shape = "attention_gradient";
  let fusion = "alone";
  let strided = 1;
  let fp = FpOverflowInvalid;
}

// ---- sizes, calls of the host ------------------------------------------------------------------------------------------

def AssumeShapeOp : Loom_EffectiveOp<"assume_shape"> {
  let group = "control";
  let summary = "The operand with the (more precise) sizes of the result type, checked when run";
  let arguments = (ins Loom_Tensor:$operand);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let shape = "assume_shape";
  let lower = "view";
}
def SizeOp : Loom_PureInferredOp<"size"> {
  let group = "control";
  let summary = "The size of dimension `axis` as a 0-d int64";
  let arguments = (ins Loom_Tensor:$operand, I64Attr:$axis);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = "$operand `axis` `=` $axis attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let shape = "size";
}
def HostCallOp : Loom_EffectiveOp<"host_call"> {
  let group = "control";
  let summary = "A call of a library function by its stable name, run by the plan through the frontend";
  let description = [{
    `effects` is a list of words: "pure" (may be merged and dropped), "reads", "writes", "random", "raises", "warns",
    "alias", "sizes" (symbols that are sizes of its results and of nothing before are known when it has run). Without
    "pure" the call stays ordered. `slot` names the callable and the recipe for its arguments in the
    frontend's table of the plan.
  }];
  let arguments = (ins Variadic<Loom_Tensor>:$operands, StrAttr:$name, StrAttr:$effects, I64Attr:$slot);
  let results = (outs Variadic<Loom_Tensor>:$results);
  let assemblyFormat = "$name `(` $operands `)` `effects` `=` $effects `slot` `=` $slot attr-dict `:` functional-type(operands, results)";
  let shape = "declared";
  let fusion = "host";
}

// ---- control flow ----------------------------------------------------------------------------------------------------

def ForOp : Loom_Op<"for", [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<LoopLikeOpInterface,
                              ["getInitsMutable", "getRegionIterArgs", "getYieldedValuesMutable", "getLoopResults"]>,
    DeclareOpInterfaceMethods<RegionBranchOpInterface, ["getEntrySuccessorOperands"]>]> {
  let group = "control";
  let summary = "`count` iterations with carried arrays; the body takes the int64 index and the carried values";
  let description = [{
    `symbol` is the number of a symbol that is the index inside the body: starts of slices there may depend on it, sizes may
    not. -1: there is none.
  }];
  let arguments = (ins Loom_Tensor:$count, Variadic<Loom_Tensor>:$initials, DefaultValuedAttr<I64Attr, "-1">:$symbol);
  let results = (outs Variadic<Loom_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$count `init` `(` $initials `)` (`symbol` `=` $symbol^)? $body attr-dict `:` functional-type(operands, results)";
  let shape = "region";
  let hasCanonicalizeMethod = 1;
  let extraClassDefinition = !strconcat(Loom_Verify, Loom_Canonicalize, [{
    ::llvm::SmallVector<::mlir::Region *> $cppClass::getLoopRegions() { return {&getBody()}; }
    ::llvm::MutableArrayRef<::mlir::OpOperand> $cppClass::getInitsMutable() {
      return getOperation()->getOpOperands().drop_front();
    }
    ::mlir::Block::BlockArgListType $cppClass::getRegionIterArgs() { return getBody().getArguments().drop_front(); }
    ::std::optional<::llvm::MutableArrayRef<::mlir::OpOperand>> $cppClass::getYieldedValuesMutable() {
      return getBody().front().getTerminator()->getOpOperands();
    }
    ::std::optional<::mlir::ResultRange> $cppClass::getLoopResults() { return getResults(); }
    ::mlir::OperandRange $cppClass::getEntrySuccessorOperands(::mlir::RegionSuccessor) { return getInitials(); }
    void $cppClass::getSuccessorRegions(::mlir::RegionBranchPoint,
                                        ::llvm::SmallVectorImpl<::mlir::RegionSuccessor> &successors) {
      successors.emplace_back(&getBody(), getRegionIterArgs());
      successors.emplace_back(getOperation(), getResults());
    }
  }]);
}
def WhileOp : Loom_Op<"while", [RecursiveMemoryEffects, DeclareOpInterfaceMethods<LoopLikeOpInterface>,
    DeclareOpInterfaceMethods<RegionBranchOpInterface, ["getEntrySuccessorOperands"]>]> {
  let group = "control";
  let summary = "Carried arrays while the condition region yields a true 0-d bool";
  let description = [{
    `symbol` is the number of a symbol that counts the iterations inside the body, as that of `for` does; -1: there is none.
  }];
  let arguments = (ins Variadic<Loom_Tensor>:$initials, DefaultValuedAttr<I64Attr, "-1">:$symbol);
  let results = (outs Variadic<Loom_Tensor>:$results);
  let regions = (region SizedRegion<1>:$condition, SizedRegion<1>:$body);
  let assemblyFormat = "`init` `(` $initials `)` (`symbol` `=` $symbol^)? $condition `do` $body attr-dict `:` functional-type(operands, results)";
  let shape = "region";
  let hasCanonicalizeMethod = 1;
  // The condition's yield forwards nothing: what reaches the body and the results is not described, hence unknown.
  let extraClassDefinition = !strconcat(Loom_Verify, Loom_Canonicalize, [{
    ::llvm::SmallVector<::mlir::Region *> $cppClass::getLoopRegions() { return {&getCondition(), &getBody()}; }
    ::mlir::OperandRange $cppClass::getEntrySuccessorOperands(::mlir::RegionSuccessor) { return getInitials(); }
    void $cppClass::getSuccessorRegions(::mlir::RegionBranchPoint point,
                                        ::llvm::SmallVectorImpl<::mlir::RegionSuccessor> &successors) {
      if (point.isParent() || point.getTerminatorPredecessorOrNull()->getParentRegion() != &getCondition()) {
        successors.emplace_back(&getCondition(), getCondition().getArguments());
        return;
      }
      successors.emplace_back(&getBody());
      successors.emplace_back(getOperation(), getResults().take_front(0));
    }
  }]);
}
def IfOp : Loom_Op<"if", [RecursiveMemoryEffects, RecursivelySpeculatable,
    DeclareOpInterfaceMethods<RegionBranchOpInterface,
        ["getEntrySuccessorOperands", "getEntrySuccessorRegions", "getRegionInvocationBounds"]>]> {
  let group = "control";
  let summary = "One of two regions by a 0-d bool";
  let arguments = (ins Loom_Tensor:$condition, Variadic<Loom_Tensor>:$inputs);
  let results = (outs Variadic<Loom_Tensor>:$results);
  let regions = (region SizedRegion<1>:$then, SizedRegion<1>:$else);
  let assemblyFormat = "$condition `(` $inputs `)` $then `else` $else attr-dict `:` functional-type(operands, results)";
  let shape = "region";
  let hasCanonicalizeMethod = 1;
  let extraClassDefinition = !strconcat(Loom_Verify, Loom_Canonicalize, [{
    ::mlir::OperandRange $cppClass::getEntrySuccessorOperands(::mlir::RegionSuccessor) { return getInputs(); }
    void $cppClass::getEntrySuccessorRegions(::llvm::ArrayRef<::mlir::Attribute> constants,
                                             ::llvm::SmallVectorImpl<::mlir::RegionSuccessor> &successors) {
      int taken = loom_branch_taken(wrap(constants.front()));
      if (taken != 1) successors.emplace_back(&getThen(), getThen().getArguments());
      if (taken != 0) successors.emplace_back(&getElse(), getElse().getArguments());
    }
    void $cppClass::getSuccessorRegions(::mlir::RegionBranchPoint point,
                                        ::llvm::SmallVectorImpl<::mlir::RegionSuccessor> &successors) {
      if (!point.isParent()) {
        successors.emplace_back(getOperation(), getResults());
        return;
      }
      successors.emplace_back(&getThen(), getThen().getArguments());
      successors.emplace_back(&getElse(), getElse().getArguments());
    }
    void $cppClass::getRegionInvocationBounds(::llvm::ArrayRef<::mlir::Attribute> constants,
                                              ::llvm::SmallVectorImpl<::mlir::InvocationBounds> &bounds) {
      int taken = loom_branch_taken(wrap(constants.front()));
      bounds.emplace_back(taken == 0, taken != 1);
      bounds.emplace_back(taken == 1, taken != 0);
    }
  }]);
}

def ControlOp : Loom_Op<"control", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let extraClassDefinition = !strconcat(Loom_Verify, Loom_SymbolUses);
  let summary = "Control flow over functions: what loom-regions makes of for, while and if";
  let description = [{
    `kind` and `bodies`: "for" with a body; "while" with a condition and a body; "if" with two branches. Operands: the
    count of "for" or the condition of "if"; the initial values of what is carried; then what the functions read of the
    outside. The functions take the same, but the int64 index instead of the count, and nothing instead of the
    condition. `carry` says for each carried value what it becomes after an iteration: result number c of the body, or,
    when c is negative, carried value -1 - c as it was before. The results of "if" are those of the branch.
  }];
  let arguments = (ins StrAttr:$kind, FlatSymbolRefArrayAttr:$bodies, DenseI64ArrayAttr:$carry,
                       Variadic<Loom_Tensor>:$operands);
  let results = (outs Variadic<Loom_Tensor>:$results);
  let assemblyFormat = "$kind $bodies `carry` `=` $carry `(` $operands `)` attr-dict `:` functional-type(operands, results)";
}

// ---- structure: fusion groups, kernels, plans ----------------------------------------------------------------------------

def YieldOp : Loom_Op<"yield", [Pure, Terminator, ParentOneOf<["ForOp", "WhileOp", "IfOp", "FusionOp", "KernelOp"]>,
                                DeclareOpInterfaceMethods<RegionBranchTerminatorOpInterface>]> {
  let summary = "The results of a loom region";
  let extraClassDefinition = !strconcat(Loom_Verify, [{
    ::mlir::MutableOperandRange $cppClass::getMutableSuccessorOperands(::mlir::RegionSuccessor) {
      return ::mlir::MutableOperandRange(getOperation(), 0, loom_yield_forwards(wrap(getOperation())));
    }
  }]);
  let arguments = (ins Variadic<Loom_Tensor>:$operands);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange{}); }]>];
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
}

def FusionOp : Loom_Op<"fusion", [RecursiveMemoryEffects, RecursivelySpeculatable, IsolatedFromAbove,
                                  SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "A group of ops that becomes one kernel; the block takes the operands";
  let arguments = (ins Variadic<Loom_Tensor>:$operands);
  let results = (outs Variadic<Loom_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $operands `)` $body attr-dict `:` functional-type(operands, results)";
}

def KernelOp : Loom_Op<"kernel", [IsolatedFromAbove, Symbol, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "An outlined fusion group: what one kernel computes and where its buffers lie";
  let description = [{
    The block takes one tensor for each operand and yields one for each result. `strides` holds an array of i64 for
    each operand, then for each result: the distance in elements between neighbours of each dimension (0: broadcast;
    negative: reversed). `scalars` lists the operands (0-d) that arrive as bits in the launch's parameters instead of
    a buffer. `inplace` gives for each result the operand whose buffer it overwrites, or -1.

    The schedule pass adds: `stages`, the number of chunks of each stage (stage s is entry function `<name>_s<s>`, run
    after stage s-1 has finished on all threads); `scratch`, bytes of scratch memory private to a thread; `slots`,
    bytes shared by all chunks and stages (when not 0, one more buffer after the results); and `schedule`, a
    dictionary for the lowering. `fp` is the mask of floating-point exceptions that matter.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$strides, DenseI64ArrayAttr:$scalars,
                       DenseI64ArrayAttr:$inplace,
                       DefaultValuedAttr<I64Attr, "15">:$fp,
                       OptionalAttr<DenseI64ArrayAttr>:$stages, OptionalAttr<I64Attr>:$scratch,
                       OptionalAttr<I64Attr>:$slots, OptionalAttr<DictionaryAttr>:$schedule);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $body attr-dict";
}

def ApplyOp : Loom_EffectiveOp<"apply", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let extraClassDefinition = !strconcat(Loom_Verify, Loom_Speculate, Loom_Effects, Loom_SymbolUses);
  let summary = "A use of an outlined kernel: the graph between loom-outline and loom-plan";
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Loom_Tensor>:$operands);
  let results = (outs Variadic<Loom_Tensor>:$results);
  let assemblyFormat = "$kernel `(` $operands `)` attr-dict `:` functional-type(operands, results)";
}

def PlanOp : Loom_Op<"plan", [IsolatedFromAbove, Symbol, NoTerminator]> {
  let summary = "What the runtime does for one call: a list of instructions over buffers";
  let description = [{
    The block takes a memref for each array or constant input (with its strides), a 0-d tensor for each scalar input,
    then a memref for each output. `consts` lists the inputs that are constants.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$inputs, DenseI64ArrayAttr:$consts, I64Attr:$arena);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $body attr-dict";
}
def BufferOp : Loom_Op<"buffer", [Pure]> {
  let summary = "Bytes [offset, offset + size) of the plan's arena";
  let arguments = (ins I64Attr:$offset);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "`offset` `=` $offset attr-dict `:` type($result)";
}
def LaunchOp : Loom_Op<"launch", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let extraClassDefinition = !strconcat(Loom_Verify, Loom_SymbolUses);
  let summary = "Runs one stage of a kernel over its chunks; buffers in the kernel's order, then scalars";
  let arguments = (ins FlatSymbolRefAttr:$kernel, I64Attr:$stage, I64Attr:$chunks, I64Attr:$scratch, I64Attr:$fp,
                       Arg<Variadic<AnyMemRef>, "", [MemRead, MemWrite]>:$buffers, Variadic<Loom_Tensor>:$scalars);
  let assemblyFormat = [{
    $kernel `stage` `=` $stage `chunks` `=` $chunks `(` $buffers `)` `scalars` `(` $scalars `)` attr-dict
    `:` functional-type(operands, results)
  }];
}
def CallOp : Loom_Op<"call_host"> {
  let summary = "Runs a host call: buffers read, then buffers written";
  let arguments = (ins StrAttr:$name, I64Attr:$slot, I64Attr:$reads, Variadic<AnyMemRef>:$buffers);
  let assemblyFormat = "$name `slot` `=` $slot `reads` `=` $reads `(` $buffers `)` attr-dict `:` functional-type(operands, results)";
}
def CopyBufferOp : Loom_Op<"copy_buffer"> {
  let summary = "Copies one buffer to another of the same type";
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source, Arg<AnyMemRef, "", [MemWrite]>:$target);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source) `,` type($target)";
}
def TrimArenaOp : Loom_Op<"trim_arena", [MemoryEffects<[MemWrite]>]> {
  let summary = "Gives the pages of bytes [offset, offset + bytes) of the arena back: nothing is there that will be read";
  let arguments = (ins I64Attr:$offset, I64Attr:$bytes);
  let assemblyFormat = "`offset` `=` $offset `bytes` `=` $bytes attr-dict";
}
def RunOp : Loom_Op<"run", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let extraClassDefinition = !strconcat(Loom_Verify, Loom_SymbolUses);
  let summary = "Control flow over plans: buffers read as in loom.control, then one for each result";
  let arguments = (ins StrAttr:$kind, FlatSymbolRefArrayAttr:$plans, DenseI64ArrayAttr:$carry, I64Attr:$reads,
                       Variadic<AnyMemRef>:$buffers);
  let assemblyFormat = [{
    $kind $plans `carry` `=` $carry `reads` `=` $reads `(` $buffers `)` attr-dict `:` functional-type(operands, results)
  }];
}
