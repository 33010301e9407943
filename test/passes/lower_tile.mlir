// Operands that lie across the lanes are turned, tile by tile, through scratch.
// RUN: %loom-opt %s --loom-lowered --split-input-file | FileCheck %s

// Squares of 8 are read along their own order, turned by shuffles and laid down; the body then reads whole vectors.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-8: llvm.load {{.*}} -> vector<8xf32>
// CHECK-COUNT-24: vector.shuffle
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-8: llvm.store {{.*}} vector<8xf32>
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: gather
// CHECK: %[[X:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: %[[Y:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: arith.addf
// CHECK-LABEL: loom.plan @turned
// CHECK: scratch = 65536 : i64
func.func @turned(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = loom.transpose %a perm = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %1 = loom.add %0, %b : tensor<512x512xf32>
  return %1 : tensor<512x512xf32>
}

// -----

// What lies along the lanes is read where it is.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK-NOT: vector.shuffle
// CHECK-LABEL: loom.plan @straight
// CHECK: scratch = 0 : i64
func.func @straight(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %1 = loom.add %a, %b : tensor<512x512xf32>
  return %1 : tensor<512x512xf32>
}

// -----

// A result in the operand's order asks for nothing to be turned: the lanes run along both.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK-NOT: vector.shuffle
// CHECK-LABEL: loom.plan @ordered
// CHECK: scratch = 0 : i64
func.func @ordered(%a: tensor<512x512xf32> {loom.strides = array<i64: 1, 512>}) -> (tensor<512x512xf32> {loom.strides = array<i64: 1, 512>}) {
  %0 = loom.neg %a : tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// -----

// Nor does what is smaller than a square.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK-NOT: vector<8xf32>
// CHECK-LABEL: loom.plan @small
// CHECK: scratch = 0 : i64
func.func @small(%a: tensor<5x3xf32>, %b: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = loom.transpose %a perm = [1, 0] : (tensor<5x3xf32>) -> tensor<3x5xf32>
  %1 = loom.add %0, %b : tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}
