// RUN: %loom-opt %s --loom-thin --split-input-file | FileCheck %s

// A matrix by a vector: a sum along the rows.
// CHECK-LABEL: func.func @vector
// CHECK: %[[V:.*]] = loom.broadcast %{{.*}} dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
// CHECK: %[[P:.*]] = loom.mul %{{.*}}, %[[V]] : tensor<8x4xf32>
// CHECK: loom.reduce "sum" %[[P]] axes = [1] : (tensor<8x4xf32>) -> tensor<8xf32>
func.func @vector(%a: tensor<8x4xf32>, %v: tensor<4xf32>) -> tensor<8xf32> {
  %0 = loom.dot_general %a, %v batch = [] x [] contract = [1] x [0] : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A row by a matrix, with a batch and bools: any of the conjunctions.
// CHECK-LABEL: func.func @row
// CHECK: loom.transpose %{{.*}} perm = [0, 2, 1] : (tensor<3x4x5xi1>) -> tensor<3x5x4xi1>
// CHECK: loom.reduce "or" %{{.*}} axes = [3] : (tensor<3x1x5x4xi1>) -> tensor<3x1x5xi1>
func.func @row(%a: tensor<3x1x4xi1>, %b: tensor<3x4x5xi1>) -> tensor<3x1x5xi1> {
  %0 = loom.dot_general %a, %b batch = [0] x [0] contract = [2] x [1] : (tensor<3x1x4xi1>, tensor<3x4x5xi1>) -> tensor<3x1x5xi1>
  return %0 : tensor<3x1x5xi1>
}

// -----

// Neither side is thin; a depth of 0 is left to the product.
// CHECK-LABEL: func.func @wide
// CHECK: loom.dot_general
// CHECK: loom.dot_general
// CHECK-NOT: loom.reduce
func.func @wide(%a: tensor<2x4xf32>, %b: tensor<4x2xf32>, %c: tensor<1x0xf32>, %d: tensor<0x3xf32>) -> (tensor<2x2xf32>, tensor<1x3xf32>) {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  %1 = loom.dot_general %c, %d batch = [] x [] contract = [1] x [0] : (tensor<1x0xf32>, tensor<0x3xf32>) -> tensor<1x3xf32>
  return %0, %1 : tensor<2x2xf32>, tensor<1x3xf32>
}

// -----

// CHECK-LABEL: func.func @outer
// CHECK-NOT: loom.dot_general
// CHECK: %[[M:.*]] = loom.mul %{{.*}}, %{{.*}} : tensor<2x3xf32>
// CHECK: return %[[M]]
func.func @outer(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [] x [] : (tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// Half floats are multiplied and summed in f32, as the tiled product does.
// CHECK-LABEL: func.func @half
// CHECK: loom.mul %{{.*}} : tensor<2x4xf32>
// CHECK: %[[S:.*]] = loom.reduce "sum" %{{.*}} : (tensor<2x4xf32>) -> tensor<2xf32>
// CHECK: %[[C:.*]] = loom.convert %[[S]] : (tensor<2xf32>) -> tensor<2xf16>
// CHECK: return %[[C]]
func.func @half(%a: tensor<2x4xf16>, %b: tensor<4xf16>) -> tensor<2xf16> {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<2x4xf16>, tensor<4xf16>) -> tensor<2xf16>
  return %0 : tensor<2xf16>
}
