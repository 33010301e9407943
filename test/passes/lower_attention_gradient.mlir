// Gradients of an attention: a chunk is a head of k and v with the heads of q that use it. Scores are computed again.
// RUN: %loom-opt %s --loom-lowered --split-input-file | FileCheck %s

// Shares are exponentials of the scores less the logarithm that the attention gave: there is no search for a maximum,
// and nothing is divided.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.for
// CHECK: :{{[0-9]+}} = scf.for
// CHECK: llvm.intr.fma
// CHECK: %[[EXPONENT:.*]] = arith.subf
// CHECK-NOT: arith.divf
// CHECK-LABEL: loom.plan @all
// CHECK: loom.launch @k0 stage = 0 chunks = 2(
func.func @all(%q: tensor<1x4x20x8xf32>, %k: tensor<1x2x40x8xf32>, %l: tensor<1x4x20xf32>, %s: tensor<f32>) -> (tensor<1x4x20x8xf32>, tensor<1x2x40x8xf32>, tensor<1x2x40x8xf32>) {
  %0, %1, %2 = loom.attention_gradient %q, %q, %k, %k, %l, %l, %s causal = false : (tensor<1x4x20x8xf32>, tensor<1x4x20x8xf32>, tensor<1x2x40x8xf32>, tensor<1x2x40x8xf32>, tensor<1x4x20xf32>, tensor<1x4x20xf32>, tensor<f32>) -> (tensor<1x4x20x8xf32>, tensor<1x2x40x8xf32>, tensor<1x2x40x8xf32>)
  return %0, %1, %2 : tensor<1x4x20x8xf32>, tensor<1x2x40x8xf32>, tensor<1x2x40x8xf32>
}

// -----

// Causal: later keys than a query's own number have no share.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: %[[LATER:.*]] = arith.cmpi {{s..}}, {{.*}} : vector<8xi64>
// CHECK: arith.select {{.*}} : vector<8xi1>, vector<8xf32>
// CHECK-LABEL: loom.plan @causal
func.func @causal(%q: tensor<1x2x40x8xf32>, %k: tensor<1x2x40x8xf32>, %l: tensor<1x2x40xf32>, %s: tensor<f32>) -> tensor<1x2x40x8xf32> {
  %0, %1, %2 = loom.attention_gradient %q, %q, %k, %k, %l, %l, %s causal = true : (tensor<1x2x40x8xf32>, tensor<1x2x40x8xf32>, tensor<1x2x40x8xf32>, tensor<1x2x40x8xf32>, tensor<1x2x40xf32>, tensor<1x2x40xf32>, tensor<f32>) -> (tensor<1x2x40x8xf32>, tensor<1x2x40x8xf32>, tensor<1x2x40x8xf32>)
  return %0 : tensor<1x2x40x8xf32>
}

// -----

// Half floats: the gradient of q is summed in f32 in the slots, a buffer of the plan, and rounded once at the end.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: llvm.intr.fma
// CHECK: arith.truncf {{.*}} to {{(vector<[0-9]+x)?}}f16
// CHECK-NOT: llvm.intr.fma
// CHECK-LABEL: loom.plan @halves
// CHECK: %[[SLOTS:.*]] = loom.buffer {{.*}} : memref<{{[0-9]+}}xi8>
// CHECK: loom.launch @k0 stage = 0 chunks = 2({{.*}}, %[[SLOTS]])
func.func @halves(%q: tensor<1x4x20x8xf16>, %k: tensor<1x2x40x8xf16>, %l: tensor<1x4x20xf32>, %s: tensor<f32>) -> tensor<1x4x20x8xf16> {
  %0, %1, %2 = loom.attention_gradient %q, %q, %k, %k, %l, %l, %s causal = false : (tensor<1x4x20x8xf16>, tensor<1x4x20x8xf16>, tensor<1x2x40x8xf16>, tensor<1x2x40x8xf16>, tensor<1x4x20xf32>, tensor<1x4x20xf32>, tensor<f32>) -> (tensor<1x4x20x8xf16>, tensor<1x2x40x8xf16>, tensor<1x2x40x8xf16>)
  return %0 : tensor<1x4x20x8xf16>
}
