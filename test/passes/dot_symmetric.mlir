// RUN: %loom-opt %s --loom-outline --loom-schedule --split-input-file | FileCheck %s
// RUN: %loom-opt %s --loom-outline --loom-schedule --loom-lower --split-input-file | FileCheck %s --check-prefix=LOWER

// A matrix with its own transpose: the loop over tiles ends where these come below the diagonal.
// CHECK-LABEL: loom.kernel @k0
// CHECK: loom.same = array<i64: 0, 0>
// CHECK-SAME: symmetric, vl
// LOWER: llvm.intr.masked.gather
func.func @gram(%a: tensor<100x60xf64>) -> tensor<60x60xf64> {
  %0 = loom.fusion(%a) {
  ^bb0(%x: tensor<100x60xf64>):
    %1 = loom.transpose %x perm = [1, 0] : (tensor<100x60xf64>) -> tensor<60x100xf64>
    %2 = loom.dot_general %1, %x batch = [] x [] contract = [1] x [0] : (tensor<60x100xf64>, tensor<100x60xf64>) -> tensor<60x60xf64>
    loom.yield %2 : tensor<60x60xf64>
  } : (tensor<100x60xf64>) -> tensor<60x60xf64>
  return %0 : tensor<60x60xf64>
}

// -----

// The same of what the kernel computes itself.
// CHECK-LABEL: loom.kernel @k0
// CHECK: symmetric, vl
func.func @computed(%a: tensor<3x100x60xf32>) -> tensor<3x100x100xf32> {
  %0 = loom.fusion(%a) {
  ^bb0(%x: tensor<3x100x60xf32>):
    %1 = loom.neg %x : tensor<3x100x60xf32>
    %2 = loom.transpose %1 perm = [0, 2, 1] : (tensor<3x100x60xf32>) -> tensor<3x60x100xf32>
    %3 = loom.dot_general %1, %2 batch = [0] x [0] contract = [2] x [1] : (tensor<3x100x60xf32>, tensor<3x60x100xf32>) -> tensor<3x100x100xf32>
    loom.yield %3 : tensor<3x100x100xf32>
  } : (tensor<3x100x60xf32>) -> tensor<3x100x100xf32>
  return %0 : tensor<3x100x100xf32>
}

// -----

// Two arguments may be one matrix in some call: that is not known here.
// CHECK-LABEL: loom.kernel @k0
// CHECK-NOT: loom.same
// CHECK: kind = "dot"
// CHECK-NOT: symmetric
// CHECK: loom.apply
func.func @two(%a: tensor<100x60xf64>, %b: tensor<100x60xf64>) -> tensor<60x60xf64> {
  %0 = loom.fusion(%a, %b) {
  ^bb0(%x: tensor<100x60xf64>, %y: tensor<100x60xf64>):
    %1 = loom.dot_general %x, %y batch = [] x [] contract = [0] x [0] : (tensor<100x60xf64>, tensor<100x60xf64>) -> tensor<60x60xf64>
    loom.yield %1 : tensor<60x60xf64>
  } : (tensor<100x60xf64>, tensor<100x60xf64>) -> tensor<60x60xf64>
  return %0 : tensor<60x60xf64>
}

// -----

// The square of a square matrix.
// CHECK-LABEL: loom.kernel @k0
// CHECK: kind = "dot"
// CHECK-NOT: symmetric
// CHECK: loom.apply
func.func @square(%a: tensor<60x60xf64>) -> tensor<60x60xf64> {
  %0 = loom.fusion(%a) {
  ^bb0(%x: tensor<60x60xf64>):
    %1 = loom.dot_general %x, %x batch = [] x [] contract = [1] x [0] : (tensor<60x60xf64>, tensor<60x60xf64>) -> tensor<60x60xf64>
    loom.yield %1 : tensor<60x60xf64>
  } : (tensor<60x60xf64>) -> tensor<60x60xf64>
  return %0 : tensor<60x60xf64>
}

// -----

// Other rows of one matrix: the left operand begins elsewhere.
// CHECK-LABEL: loom.kernel @k0
// CHECK: kind = "dot"
// CHECK-NOT: symmetric
// CHECK: loom.apply
func.func @slices(%a: tensor<60x101xf64>) -> tensor<60x60xf64> {
  %0 = loom.fusion(%a) {
  ^bb0(%x: tensor<60x101xf64>):
    %1 = loom.slice %x starts = [0, 0] sizes = [60, 100] steps = [1, 1] : (tensor<60x101xf64>) -> tensor<60x100xf64>
    %2 = loom.slice %x starts = [0, 1] sizes = [60, 100] steps = [1, 1] : (tensor<60x101xf64>) -> tensor<60x100xf64>
    %3 = loom.dot_general %1, %2 batch = [] x [] contract = [1] x [1] : (tensor<60x100xf64>, tensor<60x100xf64>) -> tensor<60x60xf64>
    loom.yield %3 : tensor<60x60xf64>
  } : (tensor<60x101xf64>) -> tensor<60x60xf64>
  return %0 : tensor<60x60xf64>
}

// -----

// A short depth: an element is computed faster than it is moved across the diagonal, and is written in the order of the rows.
// CHECK-LABEL: loom.kernel @k0
// CHECK: kind = "dot"
// CHECK-SAME: rows_first
// CHECK-NOT: symmetric
// CHECK: loom.apply
func.func @outer(%a: tensor<60x3xf64>) -> tensor<60x60xf64> {
  %0 = loom.fusion(%a) {
  ^bb0(%x: tensor<60x3xf64>):
    %1 = loom.dot_general %x, %x batch = [] x [] contract = [1] x [1] : (tensor<60x3xf64>, tensor<60x3xf64>) -> tensor<60x60xf64>
    loom.yield %1 : tensor<60x60xf64>
  } : (tensor<60x3xf64>) -> tensor<60x60xf64>
  return %0 : tensor<60x60xf64>
}
