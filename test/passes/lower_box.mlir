// RUN: %loom-opt %s --loom-schedule --loom-lower | FileCheck %s

module {
  // Rows above and below are filled; inside, the lane loop is cut into what lies left of the operand, the operand
  // itself, read whole vectors at a time without a mask, and what lies right of it.
  // CHECK-LABEL: func.func private @pad_s0_body
  // CHECK: scf.if
  // CHECK-NOT: llvm.load
  // CHECK: llvm.store {{.*}} vector<16xf32>
  // CHECK: scf.if
  // CHECK: scf.for
  // CHECK-NOT: llvm.load
  // CHECK: llvm.store {{.*}} f32
  // CHECK: scf.for
  // CHECK-NEXT: %[[P:.*]] = llvm.getelementptr
  // CHECK-NEXT: %[[V:.*]] = llvm.load %[[P]] {{.*}} -> vector<16xf32>
  // CHECK-NOT: arith.select
  // CHECK: llvm.store %[[V]]
  // CHECK: scf.for
  // CHECK: llvm.intr.masked.load
  // CHECK: scf.for
  // CHECK-NOT: llvm.load
  // CHECK: scf.if
  // CHECK-NOT: llvm.load {{.*}}f32
  // CHECK-LABEL: func.func @pad_s0(
  loom.kernel @pad {
  ^bb0(%a: tensor<100x100xf32>):
    %0 = loom.constant(0.0 : f32) : tensor<f32>
    %1 = loom.pad %a, %0 low = [1, 1] high = [1, 1] : (tensor<100x100xf32>, tensor<f32>) -> tensor<102x102xf32>
    loom.yield %1 : tensor<102x102xf32>
  } {strides = [array<i64: 100, 1>, array<i64: 102, 1>], scalars = array<i64>, inplace = array<i64: -1>}

  // A guard that is no interval of one variable stays one, and a short lane loop is not cut.
  // CHECK-LABEL: func.func private @short_s0_body
  // CHECK-NOT: scf.if
  // CHECK: llvm.intr.masked.load
  // CHECK-LABEL: func.func @short_s0(
  loom.kernel @short {
  ^bb0(%a: tensor<100x8xf32>):
    %0 = loom.concatenate %a, %a axis = 1 : (tensor<100x8xf32>, tensor<100x8xf32>) -> tensor<100x16xf32>
    loom.yield %0 : tensor<100x16xf32>
  } {strides = [array<i64: 8, 1>, array<i64: 16, 1>], scalars = array<i64>, inplace = array<i64: -1>}

  // A part of the lane loop that is no multiple of the width, but of half of it, goes in halves.
  // CHECK-LABEL: func.func private @half_s0_body
  // CHECK: scf.for {{.*}} step %c8_i64
  // CHECK-NEXT: llvm.getelementptr
  // CHECK-NEXT: %[[EIGHT:.*]] = llvm.load {{.*}} -> vector<8xf32>
  // CHECK: llvm.store %[[EIGHT]]
  // CHECK-LABEL: func.func @half_s0(
  loom.kernel @half {
  ^bb0(%a: tensor<50x56xf32>):
    %0 = loom.constant(0.0 : f32) : tensor<f32>
    %1 = loom.pad %a, %0 low = [0, 2] high = [0, 2] : (tensor<50x56xf32>, tensor<f32>) -> tensor<50x60xf32>
    loom.yield %1 : tensor<50x60xf32>
  } {strides = [array<i64: 56, 1>, array<i64: 60, 1>], scalars = array<i64>, inplace = array<i64: -1>}
}
