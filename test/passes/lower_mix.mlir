// RUN: %loom-opt %s --loom-schedule --loom-lower | FileCheck %s

module {
  // Lanes along the rows; two vectors are shuffled into pairs and stored one behind the other.
  // CHECK-LABEL: func.func private @pairs_s0_body
  // CHECK: scf.for
  // CHECK: %[[A:.*]] = llvm.load {{.*}} -> vector<16xf32>
  // CHECK: %[[C:.*]] = llvm.load {{.*}} -> vector<16xf32>
  // CHECK: %[[B:.*]] = arith.addf %[[C]], {{.*}} : vector<16xf32>
  // CHECK: %[[L:.*]] = vector.shuffle %[[A]], %[[B]] [0, 16, 1, 17,
  // CHECK: llvm.store %[[L]]
  // CHECK: %[[H:.*]] = vector.shuffle %[[A]], %[[B]] [8, 24, 9, 25,
  // CHECK: llvm.store %[[H]]
  // CHECK-LABEL: func.func @pairs_s0(
  loom.kernel @pairs {
  ^bb0(%a: tensor<64x1xf32>, %c: tensor<f32>):
    %0 = loom.broadcast %c dims = [] : (tensor<f32>) -> tensor<64x1xf32>
    %1 = loom.add %a, %0 : tensor<64x1xf32>
    %2 = loom.concatenate %a, %1 axis = 1 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x2xf32>
    loom.yield %2 : tensor<64x2xf32>
  } {strides = [array<i64: 1, 1>, array<i64>, array<i64: 2, 1>], scalars = array<i64: 1>, inplace = array<i64: -1>}

  // Not where memory is in another order, nor for longer dimensions.
  // CHECK-LABEL: func.func private @apart_s0_body
  // CHECK-NOT: vector.shuffle
  // CHECK-LABEL: func.func private @long_s0_body
  // CHECK-NOT: vector.shuffle
  // CHECK-LABEL: func.func @long_s0(
  loom.kernel @apart {
  ^bb0(%a: tensor<64x1xf32>):
    %2 = loom.concatenate %a, %a axis = 1 : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x2xf32>
    loom.yield %2 : tensor<64x2xf32>
  } {strides = [array<i64: 1, 1>, array<i64: 1, 64>], scalars = array<i64>, inplace = array<i64: -1>}
  loom.kernel @long {
  ^bb0(%a: tensor<64x9xf32>):
    %0 = loom.copy %a : tensor<64x9xf32>
    loom.yield %0 : tensor<64x9xf32>
  } {strides = [array<i64: 1, 0>, array<i64: 9, 1>], scalars = array<i64>, inplace = array<i64: -1>}
}
