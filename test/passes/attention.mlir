// Attention: a kernel of its own, whose operands are read through views.
// RUN: %loom-opt --loom-fuse --loom-outline --loom-schedule --split-input-file %s | FileCheck %s

// Heads are views of one product, which is not copied.
// CHECK-LABEL: loom.kernel @k0
func.func @heads(%x: tensor<2x17x192xf32>) -> tensor<2x4x17x16xf32> {
  %e = loom.exp %x : tensor<2x17x192xf32>
  %qs = loom.slice %e starts = [0, 0, 0] sizes = [2, 17, 64] steps = [1, 1, 1] : (tensor<2x17x192xf32>) -> tensor<2x17x64xf32>
  %ks = loom.slice %e starts = [0, 0, 64] sizes = [2, 17, 64] steps = [1, 1, 1] : (tensor<2x17x192xf32>) -> tensor<2x17x64xf32>
  %vs = loom.slice %e starts = [0, 0, 128] sizes = [2, 17, 64] steps = [1, 1, 1] : (tensor<2x17x192xf32>) -> tensor<2x17x64xf32>
  %qr = loom.reshape %qs : (tensor<2x17x64xf32>) -> tensor<2x17x4x16xf32>
  %kr = loom.reshape %ks : (tensor<2x17x64xf32>) -> tensor<2x17x4x16xf32>
  %vr = loom.reshape %vs : (tensor<2x17x64xf32>) -> tensor<2x17x4x16xf32>
  %q = loom.transpose %qr perm = [0, 2, 1, 3] : (tensor<2x17x4x16xf32>) -> tensor<2x4x17x16xf32>
  %k = loom.transpose %kr perm = [0, 2, 1, 3] : (tensor<2x17x4x16xf32>) -> tensor<2x4x17x16xf32>
  %v = loom.transpose %vr perm = [0, 2, 1, 3] : (tensor<2x17x4x16xf32>) -> tensor<2x4x17x16xf32>
  %s = loom.constant(0.25 : f32) : tensor<f32>
  %o, %lse = loom.attention %q, %k, %v, %s causal = true empty = "nan" : (tensor<2x4x17x16xf32>, tensor<2x4x17x16xf32>, tensor<2x4x17x16xf32>, tensor<f32>) -> (tensor<2x4x17x16xf32>, tensor<2x4x17xf32>)
  return %o : tensor<2x4x17x16xf32>
}
// CHECK-NOT: loom.copy
// CHECK-LABEL: loom.kernel @k1
// CHECK: %[[K:.*]] = loom.slice %{{.*}} starts = [0, 0, 64]
// CHECK: loom.slice %{{.*}} starts = [0, 0, 128]
// CHECK-NOT: loom.copy
// CHECK: %[[R:.*]], %{{.*}} = loom.attention
// CHECK: loom.yield %[[R]] : tensor<2x4x17x16xf32>
// CHECK: schedule = {kind = "attention"}
// CHECK-SAME: stages = array<i64: 8>
// CHECK-SAME: strides = [array<i64: 3264, 192, 1>, array<i64: 3264, 16, 192, 1>, array<i64: 1088, 272, 16, 1>]

// -----

// What no strides describe is copied; both results are yielded where both are read.
// CHECK-LABEL: loom.kernel @k0
// CHECK: loom.copy
// CHECK-LABEL: loom.kernel @k1
// CHECK: loom.yield %{{.*}}, %{{.*}} : tensor<1x2x100x8xf32>, tensor<1x2x100xf32>
// CHECK: stages = array<i64: 4>
// CHECK-LABEL: func.func @copied
func.func @copied(%x: tensor<1x100x16xf32> {loom.strides = array<i64: 1600, 1, 100>}, %k: tensor<1x2x40x8xf32>, %s: tensor<f32>) -> (tensor<1x2x100x8xf32>, tensor<1x2x100xf32>) {
  %q = loom.reshape %x : (tensor<1x100x16xf32>) -> tensor<1x2x100x8xf32>
  %o, %lse = loom.attention %q, %k, %k, %s causal = false empty = "zero" : (tensor<1x2x100x8xf32>, tensor<1x2x40x8xf32>, tensor<1x2x40x8xf32>, tensor<f32>) -> (tensor<1x2x100x8xf32>, tensor<1x2x100xf32>)
  return %o, %lse : tensor<1x2x100x8xf32>, tensor<1x2x100xf32>
}

// -----

// Heads of k and v are shared; half floats sum the gradient of q in slots, others where it goes.
// CHECK-LABEL: loom.kernel @k0
// CHECK: loom.attention_gradient
// CHECK: slots = 0 : i64
// CHECK-SAME: stages = array<i64: 2>
// CHECK-LABEL: loom.kernel @k1
// CHECK: loom.attention_gradient
// CHECK-NOT: slots = 0
// CHECK: stages = array<i64: 2>
// CHECK-LABEL: func.func @gradient
func.func @gradient(%q: tensor<1x4x20x8xf32>, %k: tensor<1x2x40x8xf32>, %l: tensor<1x4x20xf32>, %s: tensor<f32>, %qh: tensor<1x4x20x8xf16>, %kh: tensor<1x2x40x8xf16>) -> (tensor<1x4x20x8xf32>, tensor<1x4x20x8xf16>) {
  %0, %1, %2 = loom.attention_gradient %q, %q, %k, %k, %l, %l, %s causal = false : (tensor<1x4x20x8xf32>, tensor<1x4x20x8xf32>, tensor<1x2x40x8xf32>, tensor<1x2x40x8xf32>, tensor<1x4x20xf32>, tensor<1x4x20xf32>, tensor<f32>) -> (tensor<1x4x20x8xf32>, tensor<1x2x40x8xf32>, tensor<1x2x40x8xf32>)
  %3, %4, %5 = loom.attention_gradient %qh, %qh, %kh, %kh, %l, %l, %s causal = false : (tensor<1x4x20x8xf16>, tensor<1x4x20x8xf16>, tensor<1x2x40x8xf16>, tensor<1x2x40x8xf16>, tensor<1x4x20xf32>, tensor<1x4x20xf32>, tensor<f32>) -> (tensor<1x4x20x8xf16>, tensor<1x2x40x8xf16>, tensor<1x2x40x8xf16>)
  return %0, %3 : tensor<1x4x20x8xf32>, tensor<1x4x20x8xf16>
}
