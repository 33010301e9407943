// RUN: %loom-opt %s --loom-vmap="size=8 shared=1" --split-input-file --verify-diagnostics | FileCheck %s
// RUN: not %loom-opt %s --loom-vmap=size=8 --split-input-file 2>/dev/null | FileCheck %s --check-prefix=ALL
// RUN: not %loom-opt %S/vmap.mlir --loom-vmap=shared=7 -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not %loom-opt %S/vmap.mlir --loom-vmap=shared=a -o /dev/null 2>&1 | FileCheck %s --check-prefix=WORDS

// NONE: cannot vectorise: there is no argument 7 to be shared
// WORDS: cannot vectorise: 'shared' takes numbers of arguments, separated by commas

// What all examples share is read by all of them.
// CHECK-LABEL: func.func @pointwise
// CHECK-SAME: (%[[X:.*]]: tensor<8x4xf64>{{.*}}, %[[W:.*]]: tensor<4xf64>{{.*}}) -> (tensor<8xf64>
// CHECK-NEXT: %[[B:.*]] = loom.broadcast %[[W]] dims = [1] : (tensor<4xf64>) -> tensor<8x4xf64>
// CHECK-NEXT: %[[M:.*]] = loom.mul %[[X]], %[[B]] : tensor<8x4xf64>
// CHECK-NEXT: %[[S:.*]] = loom.reduce "sum" %[[M]] axes = [1] : (tensor<8x4xf64>) -> tensor<8xf64>
// CHECK-NEXT: return %[[S]] : tensor<8xf64>
// ALL-LABEL: func.func @pointwise
// ALL: loom.mul %arg0, %arg1 : tensor<8x4xf64>
func.func @pointwise(%x: tensor<4xf64>, %w: tensor<4xf64>) -> tensor<f64> {
  %0 = loom.mul %x, %w : tensor<4xf64>
  %1 = loom.reduce "sum" %0 axes = [0] : (tensor<4xf64>) -> tensor<f64>
  return %1 : tensor<f64>
}

// -----

// What depends on no example is computed once, and handed to all where it is a result.
// CHECK-LABEL: func.func @shared
// CHECK: %[[E:.*]] = loom.exp %arg1 : tensor<4xf64>
// CHECK: %[[B:.*]] = loom.broadcast %[[E]] dims = [1] : (tensor<4xf64>) -> tensor<8x4xf64>
// CHECK: return %[[B]] : tensor<8x4xf64>
func.func @shared(%x: tensor<4xf64>, %w: tensor<4xf64>) -> tensor<4xf64> {
  %0 = loom.exp %w : tensor<4xf64>
  return %0 : tensor<4xf64>
}

// -----

// A product: of one batch a free dimension, of two a batch dimension.
// CHECK-LABEL: func.func @product
// CHECK: loom.dot_general %arg0, %arg1 batch = [] x [] contract = [2] x [0] : (tensor<8x2x3xf32>, tensor<3x4xf32>) -> tensor<8x2x4xf32>
// ALL-LABEL: func.func @product
// ALL: loom.dot_general %arg0, %arg1 batch = [0] x [0] contract = [2] x [1] : (tensor<8x2x3xf32>, tensor<8x3x4xf32>) -> tensor<8x2x4xf32>
func.func @product(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// Slices of the examples one behind the other; an index outside of its example raises.
// CHECK-LABEL: func.func @gather
// CHECK: loom.gather "clip" %arg0, %arg1 axis = 2 : (tensor<8x2x5xf32>, tensor<3xi64>) -> tensor<8x2x3xf32>
// ALL-LABEL: func.func @gather
// ALL: %[[F:.*]] = loom.reshape {{.*}} -> tensor<40x2xf32>
// ALL: %[[N:.*]] = loom.iota {axis = 0 : i64} : tensor<5xi64>
// ALL: %[[I:.*]] = loom.gather "clip" %[[N]], %arg1 axis = 0 : (tensor<5xi64>, tensor<8x3xi64>) -> tensor<8x3xi64>
// ALL: %[[A:.*]] = loom.add %[[I]]
// ALL: loom.gather "raise" %[[F]], %[[A]] axis = 0 : (tensor<40x2xf32>, tensor<8x3xi64>) -> tensor<8x3x2xf32>
func.func @gather(%x: tensor<2x5xf32>, %i: tensor<3xi64>) -> tensor<2x3xf32> {
  %0 = loom.gather "clip" %x, %i axis = 1 : (tensor<2x5xf32>, tensor<3xi64>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// A branch by a condition that all share stays one; of another, both are computed.
// CHECK-LABEL: func.func @branch
// CHECK: loom.if %arg1(%arg0)
// CHECK: loom.neg %{{.*}} : tensor<8x4xf32>
// ALL-LABEL: func.func @branch
// ALL-NOT: loom.if
// ALL: %[[N:.*]] = loom.neg %arg0 : tensor<8x4xf32>
// ALL: %[[E:.*]] = loom.exp %arg0 : tensor<8x4xf32>
// ALL: %[[C:.*]] = loom.broadcast %arg1 dims = [0] : (tensor<8xi1>) -> tensor<8x4xi1>
// ALL: loom.select %[[C]], %[[N]], %[[E]]
func.func @branch(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %0 = loom.if %c (%x) {
  ^bb0(%a: tensor<4xf32>):
    %1 = loom.neg %a : tensor<4xf32>
    loom.yield %1 : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    %1 = loom.exp %a : tensor<4xf32>
    loom.yield %1 : tensor<4xf32>
  } : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A loop that each example ends for itself goes on for as long as one does; the others keep their values.
// CHECK-LABEL: func.func @until
// CHECK: loom.while init(%arg0
// CHECK: loom.reduce "or" %{{.*}} axes = [0] : (tensor<8xi1>) -> tensor<i1>
// CHECK: } do {
// CHECK: %[[B:.*]] = loom.mul
// CHECK: loom.select %{{.*}}, %[[B]], %{{.*}} : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
func.func @until(%x: tensor<f32>, %w: tensor<f32>) -> tensor<f32> {
  %0:2 = loom.while init(%x, %w) {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = loom.compare "lt" %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    loom.yield %1 : tensor<i1>
  } do {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = loom.mul %a, %b : tensor<f32>
    loom.yield %1, %b : tensor<f32>, tensor<f32>
  } : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %0#0 : tensor<f32>
}

// -----

// What may raise does not run for examples that do not come to it.
// expected-error@+1 {{cannot vectorise: 'gather', which may raise, in a branch or loop that not all examples take}}
func.func @raises(%x: tensor<4xf32>, %s: tensor<4xf32>, %c: tensor<i1>, %i: tensor<i64>) -> tensor<f32> {
  %0 = loom.if %c (%x, %i) {
  ^bb0(%a: tensor<4xf32>, %k: tensor<i64>):
    %1 = loom.gather "raise" %a, %k axis = 0 : (tensor<4xf32>, tensor<i64>) -> tensor<f32>
    loom.yield %1 : tensor<f32>
  } else {
  ^bb0(%a: tensor<4xf32>, %k: tensor<i64>):
    %1 = loom.constant(0.0 : f32) : tensor<f32>
    loom.yield %1 : tensor<f32>
  } : (tensor<i1>, tensor<4xf32>, tensor<i64>) -> tensor<f32>
  return %0 : tensor<f32>
}
