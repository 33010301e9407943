// Indices: views change them on the way to the memory that they read, and cost nothing where they stay affine.
// RUN: %loom-opt %s --loom-schedule --loom-lower --split-input-file | FileCheck %s

// Dimensions are taken in groups of equal products: splitting one of them needs no division of an index beside the one
// that the loop over rows makes.
// CHECK-LABEL: func.func private @grouped_s0_body
// CHECK: arith.remui
// CHECK: arith.divui
// CHECK-NOT: arith.{{rem|div}}
// CHECK: scf.for
// CHECK-NOT: arith.{{rem|div}}
// CHECK: %[[X:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: llvm.store %[[X]]
// CHECK-LABEL: func.func @grouped_s0(
loom.kernel @grouped {
^bb0(%a: tensor<4x6x32xf32>):
  %0 = loom.transpose %a perm = [1, 0, 2] : (tensor<4x6x32xf32>) -> tensor<6x4x32xf32>
  %1 = loom.reshape %0 : (tensor<6x4x32xf32>) -> tensor<6x2x2x32xf32>
  loom.yield %1 : tensor<6x2x2x32xf32>
} {strides = [array<i64: 192, 32, 1>, array<i64: 128, 64, 32, 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// Of a reshape that joins what a transpose took apart each lane has an index of its own, divided by a size.
// CHECK-LABEL: func.func private @divided_s0_body
// CHECK: %[[I:.*]] = arith.addi {{.*}} : vector<16xi64>
// CHECK: arith.divui %[[I]],
// CHECK: arith.remui %[[I]],
// CHECK: llvm.intr.masked.gather
// CHECK-LABEL: func.func @divided_s0(
loom.kernel @divided {
^bb0(%a: tensor<6x32xf32>):
  %0 = loom.transpose %a perm = [1, 0] : (tensor<6x32xf32>) -> tensor<32x6xf32>
  %1 = loom.reshape %0 : (tensor<32x6xf32>) -> tensor<192xf32>
  loom.yield %1 : tensor<192xf32>
} {strides = [array<i64: 32, 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// A slice is a start and a step. Lanes two elements apart, backwards, are shuffled out of whole vectors, which never
// begin outside of the array; in the tail they are gathered.
// CHECK-LABEL: func.func private @sliced_s0_body
// CHECK: %[[START:.*]] = arith.constant 99 : i64
// CHECK: %[[FIRST:.*]] = llvm.getelementptr %{{.*}}[%[[START]]]
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: %[[STEP:.*]] = arith.muli %[[I]],
// CHECK: llvm.getelementptr %[[FIRST]][%[[STEP]]]
// CHECK-COUNT-2: vector.shuffle
// CHECK: scf.for
// CHECK: llvm.intr.masked.gather
// CHECK-LABEL: func.func @sliced_s0(
loom.kernel @sliced {
^bb0(%a: tensor<100xf32>):
  %0 = loom.slice %a starts = [99] sizes = [50] steps = [-2] : (tensor<100xf32>) -> tensor<50xf32>
  loom.yield %0 : tensor<50xf32>
} {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// A window's element lies where the window and the place in it say, added up.
// CHECK-LABEL: func.func private @windows_s0_body
// CHECK: scf.for %[[O:[a-z0-9]+]] =
// CHECK: %[[WINDOW:.*]] = llvm.getelementptr %{{.*}}[%[[O]]]
// CHECK: scf.for %[[K:[a-z0-9]+]] =
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[WINDOW]][%[[K]]]
// CHECK: llvm.load %[[AT]] {{.*}} -> vector<16xf32>
// CHECK-LABEL: func.func @windows_s0(
loom.kernel @windows {
^bb0(%a: tensor<66xf32>):
  %0 = loom.windows %a sizes = [3] strides = [1] dilation = [1] : (tensor<66xf32>) -> tensor<64x3xf32>
  %1 = loom.reduce "max" %0 axes = [1] : (tensor<64x3xf32>) -> tensor<64xf32>
  loom.yield %1 : tensor<64xf32>
} {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}
