// Upstream's passes see control flow and effects through MLIR's interfaces.
// RUN: %loom-opt %s --split-input-file --loop-invariant-code-motion | FileCheck %s --check-prefix=LICM
// RUN: %loom-opt %s --split-input-file --canonicalize | FileCheck %s --check-prefix=CANON
// RUN: %loom-opt %s --split-input-file --sccp --canonicalize | FileCheck %s --check-prefix=SCCP
// RUN: %loom-opt %s --split-input-file --cse | FileCheck %s --check-prefix=CSE
// RUN: %loom-opt %s --split-input-file --remove-dead-values | %loom-opt > /dev/null

// What cannot raise moves out of a loop that may have no iterations; what can stays.
// LICM-LABEL: func.func @invariant
func.func @invariant(%n: tensor<i64>, %x: tensor<4xf32>, %y: tensor<4xf32>, %k: tensor<4xi64>) -> tensor<4xf32> {
  // LICM-NEXT: loom.neg
  // LICM-NEXT: loom.add %arg3, %arg3 : tensor<4xi64>
  // LICM-NEXT: loom.gather "clip"
  // LICM-NEXT: loom.for
  // LICM-NEXT: ^bb0
  // LICM-NEXT: loom.mul
  // LICM-NEXT: loom.gather "raise"
  %0 = loom.for %n init(%x) {
  ^bb0(%i: tensor<i64>, %a: tensor<4xf32>):
    %1 = loom.neg %y : tensor<4xf32>
    %2 = loom.mul %y, %y : tensor<4xf32>
    %3 = loom.add %k, %k : tensor<4xi64>
    %4 = loom.gather "clip" %y, %3 axis = 0 : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
    %5 = loom.gather "raise" %y, %3 axis = 0 : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
    %6 = loom.add %1, %2 : tensor<4xf32>
    %7 = loom.add %4, %5 : tensor<4xf32>
    %8 = loom.add %6, %7 : tensor<4xf32>
    loom.yield %8 : tensor<4xf32>
  } : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Nobody asks for floating-point exceptions: all moves. A while has two regions.
module attributes {loom.quiet} {
  // LICM-LABEL: func.func @quiet
  func.func @quiet(%x: tensor<4xf32>, %t: tensor<i1>, %y: tensor<4xf32>) -> tensor<4xf32> {
    // LICM-NEXT: loom.not
    // LICM-NEXT: loom.mul
    // LICM-NEXT: loom.while
    %0:2 = loom.while init(%x, %t) {
    ^bb0(%a: tensor<4xf32>, %go: tensor<i1>):
      %1 = loom.not %t : tensor<i1>
      %2 = loom.and %1, %go : tensor<i1>
      loom.yield %2 : tensor<i1>
    } do {
    ^bb0(%a: tensor<4xf32>, %go: tensor<i1>):
      %1 = loom.mul %y, %y : tensor<4xf32>
      loom.yield %1, %go : tensor<4xf32>, tensor<i1>
    } : (tensor<4xf32>, tensor<i1>) -> (tensor<4xf32>, tensor<i1>)
    return %0#0 : tensor<4xf32>
  }
}

// -----

// What reads the symbol that is the loop's index stays, though no operand tells.
module attributes {loom.exprs = array<i64: 1, 0, 0, 0>, loom.symbols = array<i64: 0, 37, 1, 0>} {
  // LICM-LABEL: func.func @symbol
  func.func @symbol(%x: tensor<1xf64>, %y: tensor<40xf64>, %n: tensor<i64>) -> tensor<1xf64> {
    // LICM-NEXT: loom.for
    // LICM-NEXT: ^bb0
    // LICM-NEXT: loom.slice
    %0 = loom.for %n init(%x) symbol = 0 {
    ^bb0(%i: tensor<i64>, %a: tensor<1xf64>):
      %1 = loom.slice %y starts = [-9223372036854775808] sizes = [1] steps = [1] : (tensor<40xf64>) -> tensor<1xf64>
      loom.yield %1 : tensor<1xf64>
    } : (tensor<i64>, tensor<1xf64>) -> tensor<1xf64>
    return %0 : tensor<1xf64>
  }
}

// -----

// CANON-LABEL: func.func @taken
func.func @taken(%x: tensor<4xf32>, %c: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CANON-NEXT: loom.exp %arg0
  // CANON-NEXT: loom.if %arg1
  %t = loom.constant(false) : tensor<i1>
  %0 = loom.if %t(%x) {
  ^bb0(%a: tensor<4xf32>):
    %1 = loom.neg %a : tensor<4xf32>
    loom.yield %1 : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    %1 = loom.exp %a : tensor<4xf32>
    loom.yield %1 : tensor<4xf32>
  } : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  %2 = loom.if %c(%x) {
  ^bb0(%a: tensor<4xf32>):
    %1 = loom.neg %a : tensor<4xf32>
    loom.yield %1 : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    loom.yield %a : tensor<4xf32>
  } : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A for without iterations, one with; a while that never holds still calls what its condition calls.
// CANON-LABEL: func.func @never
func.func @never(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CANON: %[[F:.*]] = loom.for
  // CANON: loom.host_call "seen"(%arg0)
  // CANON-NOT: loom.while
  // CANON: return %arg0, %[[F]], %arg0
  %zero = loom.constant(0) : tensor<i64>
  %one = loom.constant(1) : tensor<i64>
  %0 = loom.for %zero init(%x) {
  ^bb0(%i: tensor<i64>, %a: tensor<4xf32>):
    %1 = loom.neg %a : tensor<4xf32>
    loom.yield %1 : tensor<4xf32>
  } : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  %2 = loom.for %one init(%x) {
  ^bb0(%i: tensor<i64>, %a: tensor<4xf32>):
    %1 = loom.neg %a : tensor<4xf32>
    loom.yield %1 : tensor<4xf32>
  } : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  %3 = loom.while init(%x) {
  ^bb0(%a: tensor<4xf32>):
    %4 = loom.host_call "seen" (%a) effects = "reads" slot = 0 : (tensor<4xf32>) -> tensor<4xf32>
    %5 = loom.constant(false) : tensor<i1>
    loom.yield %5 : tensor<i1>
  } do {
  ^bb0(%a: tensor<4xf32>):
    loom.yield %a : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Constants flow into branches and, where nothing else arrives, through loops; not into what a loop changes.
// SCCP-LABEL: func.func @flow
func.func @flow(%n: tensor<i64>, %c: tensor<i1>) -> (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) {
  // SCCP-DAG: %[[SIX:.*]] = loom.constant(6 : i32)
  // SCCP-DAG: %[[THREE:.*]] = loom.constant(3 : i32)
  // SCCP: %[[L:.*]]:2 = loom.for
  // SCCP: %[[W:.*]]:2 = loom.while
  // SCCP: return %[[SIX]], %[[THREE]], %[[L]]#1, %[[W]]#0
  %three = loom.constant(3 : i32) : tensor<i32>
  %true = loom.constant(true) : tensor<i1>
  %0 = loom.if %true(%three) {
  ^bb0(%a: tensor<i32>):
    %1 = loom.add %a, %three : tensor<i32>
    loom.yield %1 : tensor<i32>
  } else {
  ^bb0(%a: tensor<i32>):
    loom.yield %a : tensor<i32>
  } : (tensor<i1>, tensor<i32>) -> tensor<i32>
  %2:2 = loom.for %n init(%three, %three) {
  ^bb0(%i: tensor<i64>, %a: tensor<i32>, %b: tensor<i32>):
    %1 = loom.add %b, %a : tensor<i32>
    loom.yield %a, %1 : tensor<i32>, tensor<i32>
  } : (tensor<i64>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %3:2 = loom.while init(%three, %c) {
  ^bb0(%a: tensor<i32>, %go: tensor<i1>):
    loom.yield %go : tensor<i1>
  } do {
  ^bb0(%a: tensor<i32>, %go: tensor<i1>):
    %1 = loom.add %a, %three : tensor<i32>
    %4 = loom.not %go : tensor<i1>
    loom.yield %1, %4 : tensor<i32>, tensor<i1>
  } : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i1>)
  return %0, %2#0, %2#1, %3#0 : tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>
}

// -----

// Two uses of a kernel are one; of a kernel that may report an index, both stay, used or not. So does a group.
// CSE-LABEL: func.func @kernels
func.func @kernels(%x: tensor<4xf32>, %i: tensor<2xi64>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CSE: %[[A:.*]] = loom.apply @plain
  // CSE-NOT: loom.apply @plain
  // CSE: loom.apply @raises
  // CSE: loom.apply @raises
  // CSE: loom.fusion
  // CSE: return %[[A]], %[[A]]
  %0 = loom.apply @plain(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = loom.apply @plain(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = loom.apply @raises(%x, %i) : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  %3 = loom.apply @raises(%x, %i) : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  %4 = loom.fusion(%x, %i) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<2xi64>):
    %5 = loom.gather "raise" %a, %b axis = 0 : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
    loom.yield %5 : tensor<2xf32>
  } : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
loom.kernel @plain {
^bb0(%a: tensor<4xf32>):
  %0 = loom.neg %a : tensor<4xf32>
  loom.yield %0 : tensor<4xf32>
} {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}
loom.kernel @raises {
^bb0(%a: tensor<4xf32>, %b: tensor<2xi64>):
  %0 = loom.gather "raise" %a, %b axis = 0 : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  loom.yield %0 : tensor<2xf32>
} {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}
