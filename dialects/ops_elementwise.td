// Ops that compute each element of their result from elements of their operands at the same place. Columns: loom.td.

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
  let cost = CostFunction;
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
  let cost = CostFunction;
  let real = "sinh(x)";
  let complex = "csinh(x)";
  let gradient = ["MUL(g, OP1(COSH, x))"];
}
def CoshOp : Loom_Unary<"cosh", "Hyperbolic cosine", "fc", FpOverflowUnderflow> {
  let cost = CostFunction;
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
