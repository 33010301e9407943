// Random numbers: Philox 4x32-10 on lanes of 64 bits, whose products are then the full ones.
// RUN: %loom-opt %s --loom-lowered --split-input-file | FileCheck %s

// Key and counter are read outside of the loop. Two products a round, of the words' lower halves; ten rounds.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK-COUNT-3: llvm.load {{.*}} -> i64
// CHECK: scf.for
// CHECK-COUNT-20: arith.muli {{.*}} : vector<4xi64>
// CHECK-NOT: arith.muli {{.*}} : vector<4xi64>
// CHECK: arith.sitofp
// CHECK: llvm.store {{.*}} vector<4xf32>
// CHECK-LABEL: loom.plan @uniform
func.func @uniform(%k: tensor<2xui64>, %c: tensor<2xui64>) -> tensor<1024xf32> {
  %0 = loom.random "uniform" %k, %c : (tensor<2xui64>, tensor<2xui64>) -> tensor<1024xf32>
  return %0 : tensor<1024xf32>
}

// -----

// Bits stay bits: two words of an element, the low one first.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK-COUNT-20: arith.muli {{.*}} : vector<4xi64>
// CHECK-NOT: tofp
// CHECK: %[[HIGH:.*]] = arith.shli
// CHECK-NEXT: arith.ori %[[HIGH]],
// CHECK-NOT: tofp
// CHECK: llvm.store {{.*}} vector<4xi64>
// CHECK-LABEL: loom.plan @bits
func.func @bits(%k: tensor<2xui64>, %c: tensor<2xui64>) -> tensor<1024xui64> {
  %0 = loom.random "bits" %k, %c : (tensor<2xui64>, tensor<2xui64>) -> tensor<1024xui64>
  return %0 : tensor<1024xui64>
}

// -----

// A normal number is made of a whole block: a root of a logarithm times a cosine.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK-COUNT-20: arith.muli {{.*}} : vector<4xi64>
// CHECK: llvm.intr.sqrt
// CHECK-LABEL: loom.plan @normal
func.func @normal(%k: tensor<2xui64>, %c: tensor<2xui64>) -> tensor<1024xf64> {
  %0 = loom.random "normal" %k, %c : (tensor<2xui64>, tensor<2xui64>) -> tensor<1024xf64>
  return %0 : tensor<1024xf64>
}

// -----

// The block of an element follows from its place in C order alone: read as a transposed view, the place is computed.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: scf.for %[[J:[a-z0-9]+]] =
// CHECK: arith.muli {{.*}} : vector<4xi64>
// CHECK-LABEL: loom.plan @turned
func.func @turned(%k: tensor<2xui64>, %c: tensor<2xui64>, %a: tensor<24x32xf32>) -> tensor<24x32xf32> {
  %0 = loom.random "uniform" %k, %c : (tensor<2xui64>, tensor<2xui64>) -> tensor<32x24xf32>
  %1 = loom.transpose %0 perm = [1, 0] : (tensor<32x24xf32>) -> tensor<24x32xf32>
  %2 = loom.add %a, %1 : tensor<24x32xf32>
  return %2 : tensor<24x32xf32>
}
