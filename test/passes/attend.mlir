// A softmax between two products becomes an attention, unless something else reads what is in between.
// RUN: %loom-opt --loom-attend --canonicalize --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @masked(
// CHECK-SAME: %[[Q:.*]]: tensor<2x4x64x16xf32>, %[[K:.*]]: tensor<2x4x64x16xf32>, %[[V:.*]]: tensor<2x4x64x16xf32>, %[[M:.*]]: tensor<64x64xf32>
// CHECK: %[[S:.*]] = loom.constant(1.250000e-01 : f32) : tensor<f32>
// CHECK: %[[M4:.*]] = loom.reshape %[[M]] : (tensor<64x64xf32>) -> tensor<1x1x64x64xf32>
// CHECK: %[[R:.*]], %{{.*}} = loom.attention %[[Q]], %[[K]], %[[V]], %[[S]], %[[M4]] causal = false empty = "nan"
// CHECK-NEXT: return %[[R]]
func.func @masked(%q: tensor<2x4x64x16xf32>, %k: tensor<2x4x64x16xf32>, %v: tensor<2x4x64x16xf32>, %m: tensor<64x64xf32>) -> tensor<2x4x64x16xf32> {
  %0 = loom.constant(0.125 : f32) : tensor<2x4x64x64xf32>
  %1 = loom.dot_general %q, %k batch = [0, 1] x [0, 1] contract = [3] x [3] : (tensor<2x4x64x16xf32>, tensor<2x4x64x16xf32>) -> tensor<2x4x64x64xf32>
  %2 = loom.mul %1, %0 : tensor<2x4x64x64xf32>
  %3 = loom.broadcast %m dims = [2, 3] : (tensor<64x64xf32>) -> tensor<2x4x64x64xf32>
  %4 = loom.add %2, %3 : tensor<2x4x64x64xf32>
  %5 = loom.reduce "max" %4 axes = [3] : (tensor<2x4x64x64xf32>) -> tensor<2x4x64xf32>
  %6 = loom.broadcast %5 dims = [0, 1, 2] : (tensor<2x4x64xf32>) -> tensor<2x4x64x64xf32>
  %7 = loom.sub %4, %6 : tensor<2x4x64x64xf32>
  %8 = loom.exp %7 : tensor<2x4x64x64xf32>
  %9 = loom.reduce "sum" %8 axes = [3] : (tensor<2x4x64x64xf32>) -> tensor<2x4x64xf32>
  %10 = loom.broadcast %9 dims = [0, 1, 2] : (tensor<2x4x64xf32>) -> tensor<2x4x64x64xf32>
  %11 = loom.div %8, %10 : tensor<2x4x64x64xf32>
  %12 = loom.dot_general %11, %v batch = [0, 1] x [0, 1] contract = [3] x [2] : (tensor<2x4x64x64xf32>, tensor<2x4x64x16xf32>) -> tensor<2x4x64x16xf32>
  return %12 : tensor<2x4x64x16xf32>
}

// -----

// The weights are a result as well.
// CHECK-LABEL: func.func @weights
// CHECK-NOT: loom.attention
func.func @weights(%q: tensor<64x16xf32>, %v: tensor<64x16xf32>) -> (tensor<64x16xf32>, tensor<64x64xf32>) {
  %1 = loom.dot_general %q, %q batch = [] x [] contract = [1] x [1] : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x64xf32>
  %5 = loom.reduce "max" %1 axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %6 = loom.broadcast %5 dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %7 = loom.sub %1, %6 : tensor<64x64xf32>
  %8 = loom.exp %7 : tensor<64x64xf32>
  %9 = loom.reduce "sum" %8 axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %10 = loom.broadcast %9 dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %11 = loom.div %8, %10 : tensor<64x64xf32>
  %12 = loom.dot_general %11, %v batch = [] x [] contract = [1] x [0] : (tensor<64x64xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  return %12, %11 : tensor<64x16xf32>, tensor<64x64xf32>
}

// -----

// A softmax over queries is none over keys.
// CHECK-LABEL: func.func @columns
// CHECK-NOT: loom.attention
func.func @columns(%q: tensor<64x16xf32>, %v: tensor<64x16xf32>) -> tensor<64x16xf32> {
  %1 = loom.dot_general %q, %q batch = [] x [] contract = [1] x [1] : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x64xf32>
  %5 = loom.reduce "max" %1 axes = [0] : (tensor<64x64xf32>) -> tensor<64xf32>
  %6 = loom.broadcast %5 dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
  %7 = loom.sub %1, %6 : tensor<64x64xf32>
  %8 = loom.exp %7 : tensor<64x64xf32>
  %9 = loom.reduce "sum" %8 axes = [0] : (tensor<64x64xf32>) -> tensor<64xf32>
  %10 = loom.broadcast %9 dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
  %11 = loom.div %8, %10 : tensor<64x64xf32>
  %12 = loom.dot_general %11, %v batch = [] x [] contract = [1] x [0] : (tensor<64x64xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  return %12 : tensor<64x16xf32>
}

// -----

// Heads of k and v that were repeated are read once.
// CHECK-LABEL: func.func @repeated(
// CHECK-SAME: %[[Q:.*]]: tensor<1x4x20x8xf32>, %[[K:.*]]: tensor<1x2x20x8xf32>
// CHECK: loom.attention %[[Q]], %[[K]], %[[K]],
// CHECK-SAME: (tensor<1x4x20x8xf32>, tensor<1x2x20x8xf32>, tensor<1x2x20x8xf32>, tensor<f32>)
func.func @repeated(%q: tensor<1x4x20x8xf32>, %k: tensor<1x2x20x8xf32>, %s: tensor<f32>) -> tensor<1x4x20x8xf32> {
  %0 = loom.broadcast %k dims = [0, 1, 3, 4] : (tensor<1x2x20x8xf32>) -> tensor<1x2x2x20x8xf32>
  %1 = loom.reshape %0 : (tensor<1x2x2x20x8xf32>) -> tensor<1x4x20x8xf32>
  %o, %lse = loom.attention %q, %1, %1, %s causal = true empty = "zero" : (tensor<1x4x20x8xf32>, tensor<1x4x20x8xf32>, tensor<1x4x20x8xf32>, tensor<f32>) -> (tensor<1x4x20x8xf32>, tensor<1x4x20xf32>)
  return %o : tensor<1x4x20x8xf32>
}
