// RUN: %loom-opt %s --loom-plans --split-input-file | FileCheck %s

// An update of a row of an array that is computed here writes the row and nothing else, straight into the output.
// What reads the old value comes first; a row of the array itself is read before it is written.
// CHECK-LABEL: loom.kernel @k3
// CHECK: loom.update_slice %arg0, %arg1 starts = [7, 0] steps = [1, 1] {loom.inplace}
// CHECK: inplace = array<i64: 0>
// CHECK-LABEL: loom.plan @main
// CHECK-NEXT: ^bb0(%[[A:.*]]: memref<64x64xf64>, %[[O:.*]]: memref<64x64xf64>, %[[S:.*]]: memref<f64>):
// CHECK-NEXT: loom.launch @k0 stage = 0 chunks = 1(%[[A]], %[[O]])
// CHECK-NEXT: loom.launch @k1 stage = 0 chunks = 1(%[[O]], %[[S]])
// CHECK-NEXT: %[[U:.*]] = loom.buffer offset = 0 : memref<1x64xf64>
// CHECK-NEXT: loom.launch @k2 stage = 0 chunks = 1(%[[O]], %[[U]])
// CHECK-NEXT: loom.launch @k3 stage = 0 chunks = 1(%[[O]], %[[U]], %[[O]])
// CHECK-NEXT: } {arena = 512
func.func @main(%a: tensor<64x64xf64>) -> (tensor<64x64xf64>, tensor<f64>) {
  %0 = loom.mul %a, %a : tensor<64x64xf64>
  %1 = loom.slice %0 starts = [3, 0] sizes = [1, 64] steps = [1, 1] : (tensor<64x64xf64>) -> tensor<1x64xf64>
  %3 = loom.slice %0 starts = [7, 0] sizes = [1, 1] steps = [1, 1] : (tensor<64x64xf64>) -> tensor<1x1xf64>
  %5 = loom.reshape %3 : (tensor<1x1xf64>) -> tensor<f64>
  %4 = loom.neg %5 : tensor<f64>
  %2 = loom.update_slice %0, %1 starts = [7, 0] steps = [1, 1] : (tensor<64x64xf64>, tensor<1x64xf64>) -> tensor<64x64xf64>
  return %2, %4 : tensor<64x64xf64>, tensor<f64>
}

// -----

// An argument that a result may take the place of is copied as a buffer: no copy at all where the caller passes one for both.
// CHECK-LABEL: loom.plan @main
// CHECK-NEXT: ^bb0(%[[A:.*]]: memref<64x64xf64>, %[[U:.*]]: memref<1x64xf64>, %[[O:.*]]: memref<64x64xf64>):
// CHECK-NEXT: loom.copy_buffer %[[A]] to %[[O]]
// CHECK-NEXT: loom.launch @k1 stage = 0 chunks = 1(%[[O]], %[[U]], %[[O]])
// CHECK: loom.overwrites = array<i64: 0>
func.func @main(%a: tensor<64x64xf64>, %u: tensor<1x64xf64>) -> (tensor<64x64xf64> {loom.overwrites = 0 : i64}) {
  %0 = loom.update_slice %a, %u starts = [7, 0] steps = [1, 1] : (tensor<64x64xf64>, tensor<1x64xf64>) -> tensor<64x64xf64>
  return %0 : tensor<64x64xf64>
}

// -----

// The old value is wanted later, and the array is small: both as before.
// CHECK-LABEL: loom.plan @main
// CHECK-NOT: loom.inplace
func.func @main(%a: tensor<64x64xf64>, %b: tensor<8x8xf64>, %u: tensor<1x64xf64>, %v: tensor<1x8xf64>)
    -> (tensor<64x64xf64>, tensor<64x64xf64>, tensor<8x8xf64>) {
  %0 = loom.mul %a, %a : tensor<64x64xf64>
  %1 = loom.update_slice %0, %u starts = [7, 0] steps = [1, 1] : (tensor<64x64xf64>, tensor<1x64xf64>) -> tensor<64x64xf64>
  %2 = loom.mul %b, %b : tensor<8x8xf64>
  %3 = loom.update_slice %2, %v starts = [7, 0] steps = [1, 1] : (tensor<8x8xf64>, tensor<1x8xf64>) -> tensor<8x8xf64>
  return %0, %1, %3 : tensor<64x64xf64>, tensor<64x64xf64>, tensor<8x8xf64>
}

// -----

// Many updates of a small array are one kernel, after a copy of what they begin with, which is wanted too.
// CHECK-LABEL: loom.kernel @k1
// CHECK: loom.update_slice %arg0, %arg1 starts = [0, 0]
// CHECK-COUNT-7: loom.update_slice
// CHECK: inplace = array<i64: 0>
// CHECK-NOT: loom.kernel
// CHECK-LABEL: loom.plan @main
func.func @main(%0: tensor<8x8xf64>, %u: tensor<1x1xf64>) -> (tensor<8x8xf64>, tensor<8x8xf64>) {
  %1 = loom.update_slice %0, %u starts = [0, 0] steps = [1, 1] : (tensor<8x8xf64>, tensor<1x1xf64>) -> tensor<8x8xf64>
  %2 = loom.update_slice %1, %u starts = [1, 1] steps = [1, 1] : (tensor<8x8xf64>, tensor<1x1xf64>) -> tensor<8x8xf64>
  %3 = loom.update_slice %2, %u starts = [2, 2] steps = [1, 1] : (tensor<8x8xf64>, tensor<1x1xf64>) -> tensor<8x8xf64>
  %4 = loom.update_slice %3, %u starts = [3, 3] steps = [1, 1] : (tensor<8x8xf64>, tensor<1x1xf64>) -> tensor<8x8xf64>
  %5 = loom.update_slice %4, %u starts = [4, 4] steps = [1, 1] : (tensor<8x8xf64>, tensor<1x1xf64>) -> tensor<8x8xf64>
  %6 = loom.update_slice %5, %u starts = [5, 5] steps = [1, 1] : (tensor<8x8xf64>, tensor<1x1xf64>) -> tensor<8x8xf64>
  %7 = loom.update_slice %6, %u starts = [6, 6] steps = [1, 1] : (tensor<8x8xf64>, tensor<1x1xf64>) -> tensor<8x8xf64>
  %8 = loom.update_slice %7, %u starts = [7, 7] steps = [1, 1] : (tensor<8x8xf64>, tensor<1x1xf64>) -> tensor<8x8xf64>
  return %8, %0 : tensor<8x8xf64>, tensor<8x8xf64>
}
