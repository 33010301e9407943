// Loops: neighbours that are one in all memory become one loop; the innermost one runs along the lanes.
// RUN: %loom-opt %s --loom-schedule --loom-lower --split-input-file | FileCheck %s

// CHECK-LABEL: func.func private @folded_s0_body
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK-NEXT: %[[AT:.*]] = llvm.getelementptr %{{.*}}[%[[I]]]
// CHECK-NEXT: llvm.load %[[AT]] {{.*}} -> vector<16xf32>
// CHECK-NOT: scf.for
// CHECK-LABEL: func.func @folded_s0(
loom.kernel @folded {
^bb0(%a: tensor<8x16x64xf32>):
  %0 = loom.neg %a : tensor<8x16x64xf32>
  loom.yield %0 : tensor<8x16x64xf32>
} {strides = [array<i64: 1024, 64, 1>, array<i64: 1024, 64, 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// Where one operand has gaps between slices, they stay apart; within a slice the other two are one.
// CHECK-LABEL: func.func private @apart_s0_body
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK-LABEL: func.func @apart_s0(
loom.kernel @apart {
^bb0(%a: tensor<8x16x64xf32>):
  %0 = loom.neg %a : tensor<8x16x64xf32>
  loom.yield %0 : tensor<8x16x64xf32>
} {strides = [array<i64: 2048, 64, 1>, array<i64: 1024, 64, 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// Arrays in Fortran's order: the first dimension is the innermost loop, and whole vectors are read along it.
// CHECK-LABEL: func.func private @columns_s0_body
// CHECK: scf.for %[[COLUMN:[a-z0-9]+]] =
// CHECK: arith.muli %[[COLUMN]],
// CHECK: scf.for %[[ROW:[a-z0-9]+]] =
// CHECK-NEXT: %[[AT:.*]] = llvm.getelementptr %{{.*}}[%[[ROW]]]
// CHECK-NEXT: llvm.load %[[AT]] {{.*}} -> vector<16xf32>
// CHECK-LABEL: func.func @columns_s0(
loom.kernel @columns {
^bb0(%a: tensor<64x48xf32>):
  %0 = loom.neg %a : tensor<64x48xf32>
  loom.yield %0 : tensor<64x48xf32>
} {strides = [array<i64: 1, 80>, array<i64: 1, 64>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// What is read by an index of one dimension keeps that dimension a loop.
// CHECK-LABEL: func.func private @rows_s0_body
// CHECK: scf.for %[[R:[a-z0-9]+]] =
// CHECK: llvm.getelementptr %{{.*}}[%[[R]]]
// CHECK: scf.for
// CHECK-LABEL: func.func @rows_s0(
loom.kernel @rows {
^bb0(%a: tensor<16x64xf32>, %b: tensor<16xf32>):
  %c = loom.broadcast %b dims = [0] : (tensor<16xf32>) -> tensor<16x64xf32>
  %0 = loom.mul %a, %c : tensor<16x64xf32>
  loom.yield %0 : tensor<16x64xf32>
} {strides = [array<i64: 64, 1>, array<i64: 1>, array<i64: 64, 1>], scalars = array<i64>, inplace = array<i64: -1>}
