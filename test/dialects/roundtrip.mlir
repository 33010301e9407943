// RUN: %loom-opt %s | %loom-opt | FileCheck %s

// CHECK-LABEL: func.func @ops
func.func @ops(%a: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4xf32> {
  // CHECK: loom.broadcast %{{.*}} dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %0 = loom.broadcast %b dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: loom.mul %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %1 = loom.mul %a, %0 : tensor<4x8xf32>
  // CHECK: loom.constant(1.000000e+00 : f32) : tensor<4x8xf32>
  %c = loom.constant(1.0 : f32) : tensor<4x8xf32>
  %2 = loom.add %1, %c : tensor<4x8xf32>
  // CHECK: loom.reduce "sum" %{{.*}} axes = [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %3 = loom.reduce "sum" %2 axes = [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
