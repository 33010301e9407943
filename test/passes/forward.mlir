// RUN: %loom-opt %s --loom-forward --split-input-file | FileCheck %s

// What was written last is read where it comes from; what was never written, from the array before.
// CHECK-LABEL: func.func @elements
// CHECK-SAME: (%[[A:.*]]: tensor<4x4xf64>, %[[U:.*]]: tensor<1x1xf64>, %[[V:.*]]: tensor<1x4xf64>)
// CHECK: %[[FIRST:.*]] = loom.slice %[[U]] starts = [0, 0]
// CHECK: loom.update_slice %{{.*}}, %[[FIRST]] starts = [1, 2]
// CHECK: loom.slice %[[A]] starts = [3, 3] sizes = [1, 1]
// CHECK: loom.slice %[[V]] starts = [0, 1] sizes = [1, 2] steps = [1, 2]
func.func @elements(%a: tensor<4x4xf64>, %u: tensor<1x1xf64>, %v: tensor<1x4xf64>) -> (tensor<4x4xf64>, tensor<1x1xf64>, tensor<1x2xf64>) {
  %0 = loom.update_slice %a, %u starts = [1, 1] steps = [1, 1] : (tensor<4x4xf64>, tensor<1x1xf64>) -> tensor<4x4xf64>
  %1 = loom.slice %0 starts = [1, 1] sizes = [1, 1] steps = [1, 1] : (tensor<4x4xf64>) -> tensor<1x1xf64>
  %2 = loom.update_slice %0, %1 starts = [1, 2] steps = [1, 1] : (tensor<4x4xf64>, tensor<1x1xf64>) -> tensor<4x4xf64>
  %3 = loom.slice %2 starts = [3, 3] sizes = [1, 1] steps = [1, 1] : (tensor<4x4xf64>) -> tensor<1x1xf64>
  %4 = loom.update_slice %2, %v starts = [2, 0] steps = [1, 1] : (tensor<4x4xf64>, tensor<1x4xf64>) -> tensor<4x4xf64>
  %5 = loom.slice %4 starts = [2, 1] sizes = [1, 2] steps = [1, 2] : (tensor<4x4xf64>) -> tensor<1x2xf64>
  return %4, %3, %5 : tensor<4x4xf64>, tensor<1x1xf64>, tensor<1x2xf64>
}

// -----

// What was written and what was there meet in the row.
// CHECK-LABEL: func.func @mixed
// CHECK: %[[B:.*]] = loom.update_slice %{{.*}} starts = [1, 1]
// CHECK: loom.slice %[[B]] starts = [1, 0]
func.func @mixed(%a: tensor<4x4xf64>, %u: tensor<1x1xf64>) -> (tensor<4x4xf64>, tensor<1x4xf64>) {
  %0 = loom.update_slice %a, %u starts = [1, 1] steps = [1, 1] : (tensor<4x4xf64>, tensor<1x1xf64>) -> tensor<4x4xf64>
  %1 = loom.slice %0 starts = [1, 0] sizes = [1, 4] steps = [1, 1] : (tensor<4x4xf64>) -> tensor<1x4xf64>
  %2 = loom.update_slice %0, %u starts = [3, 3] steps = [1, 1] : (tensor<4x4xf64>, tensor<1x1xf64>) -> tensor<4x4xf64>
  return %2, %1 : tensor<4x4xf64>, tensor<1x4xf64>
}

// -----

// Nothing else keeps the quotient: the slice stays, and so does what it may raise.
// CHECK-LABEL: func.func @last
// CHECK: %[[LAST:.*]] = loom.update_slice %{{.*}} starts = [1, 1]
// CHECK: loom.slice %[[LAST]] starts = [1, 1]
func.func @last(%a: tensor<4x4xf64>, %u: tensor<1x1xf64>) -> tensor<1x1xf64> {
  %0 = loom.div %a, %a : tensor<4x4xf64>
  %1 = loom.update_slice %0, %u starts = [1, 1] steps = [1, 1] : (tensor<4x4xf64>, tensor<1x1xf64>) -> tensor<4x4xf64>
  %2 = loom.slice %1 starts = [1, 1] sizes = [1, 1] steps = [1, 1] : (tensor<4x4xf64>) -> tensor<1x1xf64>
  return %2 : tensor<1x1xf64>
}

// -----

// An array that is updated in place is read where it lies.
// CHECK-LABEL: func.func @large
// CHECK: %[[B:.*]] = loom.update_slice
// CHECK: loom.slice %[[B]]
func.func @large(%a: tensor<64x64xf64>, %u: tensor<1x64xf64>) -> (tensor<64x64xf64>, tensor<1x64xf64>) {
  %0 = loom.update_slice %a, %u starts = [7, 0] steps = [1, 1] : (tensor<64x64xf64>, tensor<1x64xf64>) -> tensor<64x64xf64>
  %1 = loom.slice %0 starts = [8, 0] sizes = [1, 64] steps = [1, 1] : (tensor<64x64xf64>) -> tensor<1x64xf64>
  return %0, %1 : tensor<64x64xf64>, tensor<1x64xf64>
}
