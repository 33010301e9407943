// RUN: %loom-opt %s --loom-grad --split-input-file --verify-diagnostics | FileCheck %s
// RUN: %loom-opt %s --loom-grad=values=1 --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=VALUES

// CHECK-LABEL: func.func @square
// CHECK-SAME: (%[[X:.*]]: tensor<4xf64>{{.*}}, %[[G:.*]]: tensor<f64>{{.*}}) -> (tensor<4xf64>
// CHECK: %[[B:.*]] = loom.broadcast %[[G]] dims = [] : (tensor<f64>) -> tensor<4xf64>
// CHECK: %[[L:.*]] = loom.mul %[[B]], %[[X]] : tensor<4xf64>
// CHECK: %[[R:.*]] = loom.mul %[[B]], %[[X]] : tensor<4xf64>
// CHECK: %[[S:.*]] = loom.add %[[L]], %[[R]] : tensor<4xf64>
// CHECK-NEXT: return %[[S]] : tensor<4xf64>
// VALUES-LABEL: func.func @square
// VALUES: %[[V:.*]] = loom.reduce "sum"
// VALUES: return %[[V]], %{{.*}} : tensor<f64>, tensor<4xf64>
func.func @square(%x: tensor<4xf64>) -> tensor<f64> {
  %0 = loom.mul %x, %x : tensor<4xf64>
  %1 = loom.reduce "sum" %0 axes = [0] : (tensor<4xf64>) -> tensor<f64>
  return %1 : tensor<f64>
}

// -----

// A product: one for each operand, and a cotangent of another type is converted back.
// CHECK-LABEL: func.func @product
// CHECK-SAME: (%[[A:.*]]: tensor<2x3xf32>{{.*}}, %[[B:.*]]: tensor<3x4xf32>{{.*}}, %[[G:.*]]: tensor<2x4xf64>{{.*}})
// CHECK: %[[C:.*]] = loom.convert %[[G]] : (tensor<2x4xf64>) -> tensor<2x4xf32>
// CHECK: loom.dot_general %[[C]], %[[B]] batch = [] x [] contract = [1] x [1] : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
// CHECK: %[[D:.*]] = loom.dot_general %[[C]], %[[A]] batch = [] x [] contract = [0] x [0] : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
// CHECK: loom.transpose %[[D]] perm = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
func.func @product(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf64> {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = loom.convert %0 : (tensor<2x4xf32>) -> tensor<2x4xf64>
  return %1 : tensor<2x4xf64>
}

// -----

// Integers take no part: neither a cotangent of an integer result, nor one for an integer argument.
// CHECK-LABEL: func.func @whole
// CHECK-SAME: (%{{.*}}: tensor<3xi64>{{.*}}, %{{.*}}: tensor<3xf64>{{.*}}, %[[G:.*]]: tensor<3xf64>{{.*}}) -> (tensor<3xf64>
// CHECK-NEXT: return %[[G]] : tensor<3xf64>
func.func @whole(%i: tensor<3xi64>, %x: tensor<3xf64>) -> (tensor<3xi64>, tensor<3xf64>) {
  %0 = loom.convert %x : (tensor<3xf64>) -> tensor<3xi64>
  %1 = loom.add %0, %i : tensor<3xi64>
  %2 = loom.convert %1 : (tensor<3xi64>) -> tensor<3xf64>
  %3 = loom.add %2, %x : tensor<3xf64>
  return %1, %3 : tensor<3xi64>, tensor<3xf64>
}

// -----

// A slice goes back to where it came from; symbolic sizes stay.
// CHECK-LABEL: func.func @slice
// CHECK: %[[Z:.*]] = loom.constant(0.000000e+00 : f32) : tensor<?xf32
// CHECK: loom.update_slice %[[Z]], %{{.*}} starts = [1] steps = [2]
func.func @slice(%x: tensor<?xf32, affine_map<()[s0] -> (s0 + 4)>>) -> tensor<2xf32> {
  %0 = loom.slice %x starts = [1] sizes = [2] steps = [2] : (tensor<?xf32, affine_map<()[s0] -> (s0 + 4)>>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// A branch: each way is computed again, and its cotangents.
// CHECK-LABEL: func.func @branch
// CHECK: %[[R:.*]] = loom.if %{{.*}}
// CHECK: loom.cos
// CHECK: else
// CHECK: return %[[R]]
func.func @branch(%c: tensor<i1>, %x: tensor<f64>) -> tensor<f64> {
  %0 = loom.if %c () {
    %1 = loom.sin %x : tensor<f64>
    loom.yield %1 : tensor<f64>
  } else {
    %1 = loom.mul %x, %x : tensor<f64>
    loom.yield %1 : tensor<f64>
  } : (tensor<i1>) -> tensor<f64>
  return %0 : tensor<f64>
}

// -----

// expected-error@+1 {{cannot differentiate: 'h' has no derivative}}
func.func @none(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = loom.host_call "h"(%x) effects = "pure" slot = 0 : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// -----

// A loop: one that keeps what is carried, and one that goes back over it.
// CHECK-LABEL: func.func @loop
// CHECK-SAME: (%[[X:.*]]: tensor<3xf64>{{.*}}, %[[G:.*]]: tensor<3xf64>
// CHECK: %[[N:.*]] = loom.constant(4 : i64)
// CHECK: %[[Z:.*]] = loom.constant(0.000000e+00 : f64) : tensor<4x3xf64>
// CHECK: %[[S:.*]]:2 = loom.for %[[N]] init(%[[X]], %[[Z]]) symbol = 0
// CHECK: loom.update_slice
// CHECK: %[[R:.*]]:2 = loom.for %[[N]] init(%[[G]], %{{.*}}) symbol = 1
// CHECK: loom.slice %[[S]]#1
// CHECK: loom.yield %{{.*}}, %{{.*}} : tensor<3xf64>, tensor<3xf64>
// CHECK: loom.add %[[R]]#0, %[[R]]#1 : tensor<3xf64>
func.func @loop(%x: tensor<3xf64>) -> tensor<3xf64> {
  %c = loom.constant(4 : i64) : tensor<i64>
  %0 = loom.for %c init(%x) {
  ^bb0(%i: tensor<i64>, %v: tensor<3xf64>):
    %1 = loom.mul %v, %x : tensor<3xf64>
    loom.yield %1 : tensor<3xf64>
  } : (tensor<i64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// -----

// expected-error@+1 {{cannot differentiate: a loop whose length changes has no derivative}}
func.func @length(%n: tensor<i64>, %x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = loom.for %n init(%x) {
  ^bb0(%i: tensor<i64>, %v: tensor<3xf64>):
    %1 = loom.mul %v, %x : tensor<3xf64>
    loom.yield %1 : tensor<3xf64>
  } : (tensor<i64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// -----

// A checkpointed call (loom.checkpoint): the derivative computes its ops again, in a loop of one iteration, from what they read.
// CHECK-LABEL: func.func @again
// CHECK-SAME: (%{{.*}}: tensor<4x4xf64>{{.*}}, %[[W:.*]]: tensor<4x4xf64>{{.*}}, %[[G:.*]]: tensor<f64>{{.*}})
// CHECK: %[[S:.*]] = loom.sin
// CHECK-NOT: loom.tanh
// CHECK: %[[B:.*]] = loom.broadcast %[[G]]
// CHECK: %[[ONE:.*]] = loom.constant(1 : i64)
// CHECK: %[[F:.*]]:2 = loom.for %[[ONE]] init
// CHECK: %[[P:.*]] = loom.dot_general %[[S]], %[[W]]
// CHECK: loom.tanh %[[P]]
// CHECK: loom.dot_general %{{.*}}, %[[S]]
// CHECK: loom.yield
// CHECK: loom.mul %[[F]]#0, %{{.*}}
// CHECK: return %{{.*}}, %[[F]]#1
func.func @again(%x: tensor<4x4xf64>, %w: tensor<4x4xf64>) -> tensor<f64> {
  %0 = loom.sin %x : tensor<4x4xf64>
  %1 = loom.dot_general %0, %w batch = [] x [] contract = [1] x [0] {loom.checkpoint = 1} : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  %2 = loom.tanh %1 {loom.checkpoint = 1} : tensor<4x4xf64>
  %3 = loom.constant(3.0 : f64) : tensor<4x4xf64>
  %4 = loom.mul %2, %3 {loom.checkpoint = 1} : tensor<4x4xf64>
  %5 = loom.reduce "sum" %4 axes = [0, 1] : (tensor<4x4xf64>) -> tensor<f64>
  return %5 : tensor<f64>
}

// -----

// Two calls: each of them has a loop of its own, the later one first.
// CHECK-LABEL: func.func @twice
// CHECK: loom.for
// CHECK: loom.exp
// CHECK: loom.yield
// CHECK: loom.for
// CHECK: loom.tanh
// CHECK: loom.yield
func.func @twice(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = loom.tanh %x {loom.checkpoint = 1} : tensor<4xf64>
  %1 = loom.exp %0 {loom.checkpoint = 2} : tensor<4xf64>
  return %1 : tensor<4xf64>
}

// -----

// A call of which nothing is asked has none.
// CHECK-LABEL: func.func @unused
// CHECK-NOT: loom.for
func.func @unused(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xi64>) {
  %0 = loom.sin %x : tensor<4xf64>
  %1 = loom.exp %x {loom.checkpoint = 1} : tensor<4xf64>
  %2 = loom.convert %1 {loom.checkpoint = 1} : (tensor<4xf64>) -> tensor<4xi64>
  return %0, %2 : tensor<4xf64>, tensor<4xi64>
}
