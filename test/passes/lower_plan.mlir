// How a kernel loops: which variables are kept, in which order, and where the lanes are.
// RUN: %loom-opt %s --loom-schedule --loom-lower --split-input-file | FileCheck %s

// A reduced and a full result: rows are kept, and a row is gone through twice while it is in the cache.
// CHECK-LABEL: func.func private @both_s0_body
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args
// CHECK: arith.maximumf
// CHECK: %[[MAX:.*]] = arith.maximumf {{.*}} : f32
// CHECK: %[[ALL:.*]] = vector.broadcast %[[MAX]]
// CHECK: scf.for
// CHECK: arith.subf %{{.*}}, %[[ALL]]
// CHECK: llvm.store
// CHECK: }
// CHECK: llvm.store %[[MAX]]
// CHECK-LABEL: func.func @both_s0(
loom.kernel @both {
^bb0(%a: tensor<64x1024xf32>):
  %m = loom.reduce "max" %a axes = [1] : (tensor<64x1024xf32>) -> tensor<64xf32>
  %b = loom.broadcast %m dims = [0] : (tensor<64xf32>) -> tensor<64x1024xf32>
  %d = loom.sub %a, %b : tensor<64x1024xf32>
  loom.yield %m, %d : tensor<64xf32>, tensor<64x1024xf32>
} {strides = [array<i64: 1024, 1>, array<i64: 1>, array<i64: 1024, 1>], scalars = array<i64>, inplace = array<i64: -1, -1>}

// -----

// Too few rows for the threads: each is cut into parts, which a second stage joins in their order.
// CHECK-LABEL: func.func private @split_s0_body
// CHECK: scf.for %[[UNIT:[a-z0-9]+]] =
// CHECK: %[[PART:.*]] = arith.remui %[[UNIT]],
// CHECK: arith.muli %[[PART]],
// CHECK: arith.divui %[[UNIT]],
// CHECK: llvm.store {{.*}} f32
// CHECK-LABEL: func.func private @split_s1_body
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (f32)
// CHECK: llvm.load {{.*}} -> f32
// CHECK: arith.maximumf
// CHECK-LABEL: func.func @split_s1(
loom.kernel @split {
^bb0(%a: tensor<4x1048576xf32>):
  %m = loom.reduce "max" %a axes = [1] : (tensor<4x1048576xf32>) -> tensor<4xf32>
  loom.yield %m : tensor<4xf32>
} {strides = [array<i64: 1048576, 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// A reduced dimension in the middle: the lanes run along the kept one behind it, so that each reduces for itself, and
// there are rows enough for one stage.
// CHECK-LABEL: func.func private @middle_s0_body
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>)
// CHECK-NOT: vector.shuffle
// CHECK-NOT: @middle_s1
loom.kernel @middle {
^bb0(%a: tensor<64x100x32xf32>):
  %m = loom.reduce "max" %a axes = [1] : (tensor<64x100x32xf32>) -> tensor<64x32xf32>
  loom.yield %m : tensor<64x32xf32>
} {strides = [array<i64: 3200, 32, 1>, array<i64: 32, 1>], scalars = array<i64>, inplace = array<i64: -1>}
