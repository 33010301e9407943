// Ops of sizes, calls and control flow, and the structure that only the compiler makes. Columns: loom.td.

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
  let control = 1;
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
  let body = 1;
  let arguments = (ins Variadic<Loom_Tensor>:$operands);
  let results = (outs Variadic<Loom_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $operands `)` $body attr-dict `:` functional-type(operands, results)";
}

def KernelOp : Loom_Op<"kernel", [IsolatedFromAbove, Symbol, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "An outlined fusion group: what one kernel computes and where its buffers lie";
  let body = 1;
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
  let applies = 1;
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
  let control = 1;
  let arguments = (ins StrAttr:$kind, FlatSymbolRefArrayAttr:$plans, DenseI64ArrayAttr:$carry, I64Attr:$reads,
                       Variadic<AnyMemRef>:$buffers);
  let assemblyFormat = [{
    $kind $plans `carry` `=` $carry `reads` `=` $reads `(` $buffers `)` attr-dict `:` functional-type(operands, results)
  }];
}
