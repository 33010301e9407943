// Ops that make, view, move, reduce and contract arrays. Columns: loom.td.

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
  let alias = 1;
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
  let updates = 1;
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
  let indexed = 1;
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
  let indexed = 1;
  let updates = 1;
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
  let windowed = 1;
  let fusion = "dot";
  let fp = FpOverflowInvalid;
}
def ConvolutionGradientOp : Loom_PureInferredOp<"convolution_gradient"> {
  let group = "reductions";
  let summary = "Gradient of a convolution with respect to its weights, from its input and the gradient of its result";
  let description = [{
    result[o, i, k] is the sum over n and y of rhs[n, o, y] * lhs[n, g I + i, y * strides + k * dilation - low], where g is
    the group of output channel o and lhs is zero outside. Attributes are the convolution's; `window` has the spatial
    sizes of its weights. Of half floats the result is float32.
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

def ConvolutionInputOp : Loom_PureInferredOp<"convolution_input"> {
  let group = "reductions";
  let summary = "Gradient of a depthwise convolution with respect to its input, from the gradient of its result and its weights";
  let description = [{
    result[n, c, x] is the sum of lhs[n, c, y] * rhs[c, 0, k] over all y and k with y * strides + k * dilation - low = x.
    Attributes are the convolution's; `sizes` has the spatial sizes of its input, and its groups are its channels.
  }];
  let arguments = (ins Loom_Tensor:$lhs, Loom_Tensor:$rhs, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding,
                       DenseI64ArrayAttr:$dilation, DenseI64ArrayAttr:$sizes);
  let results = (outs Loom_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `strides` `=` $strides `padding` `=` $padding `dilation` `=` $dilation `sizes` `=` $sizes attr-dict
    `:` functional-type(operands, results)
  }];
  let dtypes = "iuf";
  let shape = "convolution_input";
  let windowed = 1;
  let fusion = "dot";
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
