// RUN: %loom-opt %s --loom-partition --split-input-file --verify-diagnostics | FileCheck %s

// A value that is a result anyway is saved; so is the argument that a product reads.
// CHECK-LABEL: func.func @exp_forward
// CHECK-SAME: (%[[X:.*]]: tensor<4xf64>
// CHECK: %[[E:.*]] = loom.exp %[[X]] : tensor<4xf64>
// CHECK-NEXT: return %[[E]], %[[E]] : tensor<4xf64>, tensor<4xf64>
// CHECK-LABEL: func.func @exp_backward
// CHECK-SAME: (%[[S:.*]]: tensor<4xf64>{{.*}}, %[[G:.*]]: tensor<4xf64>
// CHECK-NEXT: %[[D:.*]] = loom.mul %[[G]], %[[S]] : tensor<4xf64>
// CHECK-NEXT: return %[[D]] : tensor<4xf64>
func.func @exp(%x: tensor<4xf64>, %g: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %0 = loom.exp %x : tensor<4xf64>
  %1 = loom.mul %g, %0 : tensor<4xf64>
  return %0, %1 : tensor<4xf64>, tensor<4xf64>
}

// -----

// What is cheap is computed again from an argument that is saved in any case.
// CHECK-LABEL: func.func @cheap_forward
// CHECK: return %{{.*}}, %arg0 : tensor<f32>, tensor<1000xf32>
// CHECK-LABEL: func.func @cheap_backward
// CHECK-SAME: (%[[X:.*]]: tensor<1000xf32>{{.*}}, %[[G:.*]]: tensor<f32>
// CHECK: loom.add %[[X]], %[[X]] : tensor<1000xf32>
func.func @cheap(%x: tensor<1000xf32>, %g: tensor<f32>) -> (tensor<f32>, tensor<1000xf32>) {
  %0 = loom.add %x, %x : tensor<1000xf32>
  %1 = loom.mul %0, %0 : tensor<1000xf32>
  %2 = loom.reduce "sum" %1 axes = [0] : (tensor<1000xf32>) -> tensor<f32>
  %3 = loom.broadcast %g dims = [] : (tensor<f32>) -> tensor<1000xf32>
  %4 = loom.mul %3, %0 : tensor<1000xf32>
  %5 = loom.mul %4, %x : tensor<1000xf32>
  return %2, %5 : tensor<f32>, tensor<1000xf32>
}

// -----

// Nothing reads the argument but what would be computed again: a copy of it would cost as much.
// CHECK-LABEL: func.func @copied_forward
// CHECK: %[[A:.*]] = loom.add
// CHECK: return %{{.*}}, %[[A]] : tensor<f32>, tensor<1000xf32>
func.func @copied(%x: tensor<1000xf32>, %g: tensor<f32>) -> (tensor<f32>, tensor<1000xf32>) {
  %0 = loom.add %x, %x : tensor<1000xf32>
  %1 = loom.mul %0, %0 : tensor<1000xf32>
  %2 = loom.reduce "sum" %1 axes = [0] : (tensor<1000xf32>) -> tensor<f32>
  %3 = loom.broadcast %g dims = [] : (tensor<f32>) -> tensor<1000xf32>
  %4 = loom.mul %3, %0 : tensor<1000xf32>
  return %2, %4 : tensor<f32>, tensor<1000xf32>
}

// -----

// A product is never computed twice: its result is saved, though the argument would be smaller.
// CHECK-LABEL: func.func @product_forward
// CHECK: %[[P:.*]] = loom.dot_general
// CHECK: return %{{.*}}, %[[P]] : tensor<f32>, tensor<64x64xf32>
// CHECK-LABEL: func.func @product_backward
// CHECK-NOT: loom.dot_general
func.func @product(%x: tensor<64x2xf32>, %g: tensor<f32>) -> (tensor<f32>, tensor<64x64xf32>) {
  %0 = loom.dot_general %x, %x batch = [] x [] contract = [1] x [1] : (tensor<64x2xf32>, tensor<64x2xf32>) -> tensor<64x64xf32>
  %1 = loom.mul %0, %0 : tensor<64x64xf32>
  %2 = loom.reduce "sum" %1 axes = [0, 1] : (tensor<64x64xf32>) -> tensor<f32>
  %3 = loom.broadcast %g dims = [] : (tensor<f32>) -> tensor<64x64xf32>
  %4 = loom.mul %3, %0 : tensor<64x64xf32>
  return %2, %4 : tensor<f32>, tensor<64x64xf32>
}

// -----

// The order in which the function computes does not matter.
// CHECK-LABEL: func.func @mixed_forward
// CHECK-LABEL: func.func @mixed_backward
// CHECK: loom.neg
func.func @mixed(%x: tensor<4xf64>, %g: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %0 = loom.neg %g : tensor<4xf64>
  %1 = loom.sin %x : tensor<4xf64>
  return %1, %0 : tensor<4xf64>, tensor<4xf64>
}

// -----

// expected-error@+1 {{cannot cut the function: result 0 depends on a cotangent}}
func.func @wrong(%x: tensor<4xf64>, %g: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %0 = loom.add %x, %g : tensor<4xf64>
  return %0, %g : tensor<4xf64>, tensor<4xf64>
}

// -----

// expected-error@+1 {{cannot cut the function: its sizes are not known}}
func.func @symbolic(%x: tensor<?xf32, affine_map<()[s0] -> (s0)>>, %g: tensor<f32>) -> (tensor<f32>, tensor<?xf32, affine_map<()[s0] -> (s0)>>) {
  %0 = loom.reduce "sum" %x axes = [0] : (tensor<?xf32, affine_map<()[s0] -> (s0)>>) -> tensor<f32>
  return %0, %x : tensor<f32>, tensor<?xf32, affine_map<()[s0] -> (s0)>>
}

// -----

// What is inside of a checkpointed call (loom.checkpoint) is computed again, also a product: its arguments are saved.
// CHECK-LABEL: func.func @again_forward
// CHECK: %[[S:.*]] = loom.sin
// CHECK: %[[P:.*]] = loom.dot_general %[[S]], %[[S]]
// CHECK: return %{{.*}}, %[[S]] : tensor<f64>, tensor<8x8xf64>
// CHECK-LABEL: func.func @again_backward
// CHECK-SAME: (%[[A:.*]]: tensor<8x8xf64>{{.*}}, %[[G:.*]]: tensor<f64>
// CHECK: loom.dot_general %[[A]], %[[A]]
// CHECK: loom.tanh
func.func @again(%x: tensor<8x8xf64>, %g: tensor<f64>) -> (tensor<f64>, tensor<8x8xf64>) {
  %0 = loom.sin %x : tensor<8x8xf64>
  %1 = loom.dot_general %0, %0 batch = [] x [] contract = [1] x [1] {loom.checkpoint = 1} : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
  %2 = loom.tanh %1 {loom.checkpoint = 1} : tensor<8x8xf64>
  %3 = loom.reduce "sum" %2 axes = [0, 1] {loom.checkpoint = 1} : (tensor<8x8xf64>) -> tensor<f64>
  %4 = loom.exp %3 : tensor<f64>
  %5 = loom.broadcast %g dims = [] : (tensor<f64>) -> tensor<8x8xf64>
  %6 = loom.mul %2, %5 : tensor<8x8xf64>
  %7 = loom.dot_general %6, %0 batch = [] x [] contract = [1] x [0] : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
  return %4, %7 : tensor<f64>, tensor<8x8xf64>
}

// -----

// What others read of the call is saved, so that nothing before it is computed again.
// CHECK-LABEL: func.func @border_forward
// CHECK: %[[E:.*]] = loom.exp
// CHECK: %[[T:.*]] = loom.tanh
// CHECK: return %{{.*}}, %[[T]]
// CHECK-LABEL: func.func @border_backward
// CHECK-NOT: loom.exp
// CHECK: loom.sin
func.func @border(%x: tensor<64xf64>, %g: tensor<f64>) -> (tensor<f64>, tensor<64xf64>) {
  %0 = loom.exp %x {loom.checkpoint = 1} : tensor<64xf64>
  %1 = loom.tanh %0 {loom.checkpoint = 1} : tensor<64xf64>
  %2 = loom.sin %1 {loom.checkpoint = 2} : tensor<64xf64>
  %3 = loom.mul %2, %2 {loom.checkpoint = 2} : tensor<64xf64>
  %4 = loom.reduce "sum" %3 axes = [0] : (tensor<64xf64>) -> tensor<f64>
  %5 = loom.broadcast %g dims = [] : (tensor<f64>) -> tensor<64xf64>
  %6 = loom.mul %2, %5 : tensor<64xf64>
  return %4, %6 : tensor<f64>, tensor<64xf64>
}
