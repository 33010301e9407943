// RUN: %loom-opt %s --loom-outline --split-input-file | FileCheck %s

// Views that are only other strides go into the operands; a slice that starts elsewhere stays. Scalars stay scalars.
// CHECK: loom.kernel @k0
// CHECK-NEXT: ^bb0(%[[B:.*]]: tensor<10xf32>, %[[S:.*]]: tensor<f32>, %[[T:.*]]: tensor<8x4xf32>, %[[C:.*]]: tensor<8x4xf32>)
// CHECK-NEXT: loom.broadcast %[[S]]
// CHECK-NEXT: loom.slice %[[B]] starts = [1]
// CHECK-NEXT: loom.broadcast
// CHECK-NEXT: loom.add %[[T]], %[[C]]
// CHECK: scalars = array<i64: 1>
// CHECK-SAME: strides = [array<i64: 1>, array<i64>, array<i64: 1, 8>, array<i64: 0, 2>, array<i64: 1, 8>]
// CHECK: func.func @main
// CHECK: loom.apply @k0(%arg1, %arg2, %arg0, %arg3)
func.func @main(%a: tensor<4x8xf32>, %b: tensor<10xf32>, %s: tensor<f32> {loom.scalar}, %c: tensor<8xf32>)
    -> (tensor<8x4xf32> {loom.strides = array<i64: 1, 8>}) {
  %0 = loom.fusion(%a, %b, %s, %c) {
  ^bb0(%x: tensor<4x8xf32>, %y: tensor<10xf32>, %z: tensor<f32>, %w: tensor<8xf32>):
    %t = loom.transpose %x perm = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %zb = loom.broadcast %z dims = [] : (tensor<f32>) -> tensor<8x4xf32>
    %ys = loom.slice %y starts = [1] sizes = [4] steps = [1] : (tensor<10xf32>) -> tensor<4xf32>
    %yb = loom.broadcast %ys dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
    %ws = loom.slice %w starts = [0] sizes = [4] steps = [2] : (tensor<8xf32>) -> tensor<4xf32>
    %wb = loom.broadcast %ws dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
    %1 = loom.add %t, %wb : tensor<8x4xf32>
    %2 = loom.mul %1, %zb : tensor<8x4xf32>
    %3 = loom.sub %2, %yb : tensor<8x4xf32>
    loom.yield %3 : tensor<8x4xf32>
  } : (tensor<4x8xf32>, tensor<10xf32>, tensor<f32>, tensor<8xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// Identical kernels are one. The second overwrites its operand, which dies there; the third writes an output.
// CHECK: loom.kernel @k0
// CHECK: inplace = array<i64: -1>
// CHECK: loom.kernel @k1
// CHECK: inplace = array<i64: 0>
// CHECK-NOT: loom.kernel
// CHECK: %[[A:.*]] = loom.apply @k0(%arg0)
// CHECK: %[[B:.*]] = loom.apply @k1(%[[A]])
// CHECK: loom.apply @k0(%[[B]])
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = loom.fusion(%a) {
  ^bb0(%x: tensor<8xf32>):
    %1 = loom.neg %x : tensor<8xf32>
    loom.yield %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %2 = loom.fusion(%0) {
  ^bb0(%x: tensor<8xf32>):
    %1 = loom.neg %x : tensor<8xf32>
    loom.yield %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %3 = loom.fusion(%2) {
  ^bb0(%x: tensor<8xf32>):
    %1 = loom.neg %x : tensor<8xf32>
    loom.yield %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}

// -----

// Nothing is overwritten that is read later, read through a view, or an input.
// CHECK-COUNT-3: inplace = array<i64: -1>
// CHECK: func.func @main
func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = loom.fusion(%a) {
  ^bb0(%x: tensor<8xf32>):
    %1 = loom.neg %x : tensor<8xf32>
    loom.yield %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %2 = loom.fusion(%0) {
  ^bb0(%x: tensor<8xf32>):
    %1 = loom.slice %x starts = [7] sizes = [8] steps = [-1] : (tensor<8xf32>) -> tensor<8xf32>
    loom.yield %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %3 = loom.fusion(%2) {
  ^bb0(%x: tensor<8xf32>):
    %1 = loom.abs %x : tensor<8xf32>
    loom.yield %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %3, %2 : tensor<8xf32>, tensor<8xf32>
}

// -----

// The caller would like to pass %a for the result too: it may, since its last reader reads it element by element.
// CHECK: loom.kernel @k1
// CHECK: loom.overlaps = array<i64: 0>
// CHECK: loom.apply @k1(%arg0
func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32> {loom.overwrites = 0}) {
  %s = loom.fusion(%a) {
  ^bb0(%x: tensor<8xf32>):
    %1 = loom.reduce "sum" %x axes = [0] : (tensor<8xf32>) -> tensor<f32>
    loom.yield %1 : tensor<f32>
  } : (tensor<8xf32>) -> tensor<f32>
  %0 = loom.fusion(%a, %s) {
  ^bb0(%x: tensor<8xf32>, %y: tensor<f32>):
    %b = loom.broadcast %y dims = [] : (tensor<f32>) -> tensor<8xf32>
    %1 = loom.sub %x, %b : tensor<8xf32>
    loom.yield %1 : tensor<8xf32>
  } : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// It may also be read behind, from the result's buffer; but it may not be a result twice.
// CHECK: loom.kernel @k0
// CHECK: loom.overlaps = array<i64: 0>
// CHECK: loom.kernel @k1
// CHECK-NOT: loom.overlaps
// CHECK: func.func @main
func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32> {loom.overwrites = 0}, tensor<f32>) {
  %0 = loom.fusion(%a) {
  ^bb0(%x: tensor<8xf32>):
    %1 = loom.neg %x : tensor<8xf32>
    loom.yield %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %s = loom.fusion(%0) {
  ^bb0(%x: tensor<8xf32>):
    %1 = loom.reduce "sum" %x axes = [0] : (tensor<8xf32>) -> tensor<f32>
    loom.yield %1 : tensor<f32>
  } : (tensor<8xf32>) -> tensor<f32>
  return %0, %s : tensor<8xf32>, tensor<f32>
}

// -----

// CHECK: loom.kernel @k0
// CHECK-NOT: loom.overlaps
// CHECK: func.func @main
func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32> {loom.overwrites = 0}, tensor<8xf32>) {
  %0 = loom.fusion(%a) {
  ^bb0(%x: tensor<8xf32>):
    %1 = loom.neg %x : tensor<8xf32>
    loom.yield %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %0 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Not when it is read in another order,
// CHECK: loom.kernel @k0
// CHECK-NOT: loom.overlaps
// CHECK: func.func @main
func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32> {loom.overwrites = 0}) {
  %0 = loom.fusion(%a) {
  ^bb0(%x: tensor<8xf32>):
    %1 = loom.slice %x starts = [7] sizes = [8] steps = [-1] : (tensor<8xf32>) -> tensor<8xf32>
    %2 = loom.add %x, %1 : tensor<8xf32>
    loom.yield %2 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// nor when it is read later, be it only as a result.
// CHECK: loom.kernel @k0
// CHECK-NOT: loom.overlaps
// CHECK: func.func @main
func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32> {loom.overwrites = 0}, tensor<8xf32>) {
  %0 = loom.fusion(%a) {
  ^bb0(%x: tensor<8xf32>):
    %1 = loom.neg %x : tensor<8xf32>
    loom.yield %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %a : tensor<8xf32>, tensor<8xf32>
}

// -----

// Functions of the user's may have any names: kernels get others.
// CHECK: loom.kernel @k2
// CHECK: func.func @k0
// CHECK: loom.apply @k2
// CHECK: func.func @k1_s0
// CHECK: loom.apply @k2
func.func @k0(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = loom.fusion(%a) {
  ^bb0(%x: tensor<4xf32>):
    %1 = loom.exp %x : tensor<4xf32>
    loom.yield %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @k1_s0(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = loom.fusion(%a) {
  ^bb0(%x: tensor<4xf32>):
    %1 = loom.exp %x : tensor<4xf32>
    loom.yield %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
