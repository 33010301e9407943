// RUN: %loom-opt %s --loom-simplify --loom-fuse --split-input-file | FileCheck %s

// Each reduction is over what the one before has changed. So short a chain is one kernel.
// CHECK-LABEL: func.func @short
// CHECK-COUNT-1: loom.fusion
// CHECK-NOT: loom.fusion
func.func @short(%x0: tensor<64xf64>, %y: tensor<64xf64>) -> tensor<64xf64> {
  %m0 = loom.reduce "max" %x0 axes = [0] : (tensor<64xf64>) -> tensor<f64>
  %b0 = loom.broadcast %m0 dims = [] : (tensor<f64>) -> tensor<64xf64>
  %v0_0 = loom.sub %x0, %b0 : tensor<64xf64>
  %v0_1 = loom.mul %v0_0, %y : tensor<64xf64>
  %v0_2 = loom.sub %v0_1, %y : tensor<64xf64>
  %x1 = loom.mul %v0_2, %y : tensor<64xf64>
  %m1 = loom.reduce "max" %x1 axes = [0] : (tensor<64xf64>) -> tensor<f64>
  %b1 = loom.broadcast %m1 dims = [] : (tensor<f64>) -> tensor<64xf64>
  %v1_0 = loom.sub %x1, %b1 : tensor<64xf64>
  %v1_1 = loom.mul %v1_0, %y : tensor<64xf64>
  %v1_2 = loom.sub %v1_1, %y : tensor<64xf64>
  %x2 = loom.mul %v1_2, %y : tensor<64xf64>
  %m2 = loom.reduce "max" %x2 axes = [0] : (tensor<64xf64>) -> tensor<f64>
  %b2 = loom.broadcast %m2 dims = [] : (tensor<f64>) -> tensor<64xf64>
  %v2_0 = loom.sub %x2, %b2 : tensor<64xf64>
  %v2_1 = loom.mul %v2_0, %y : tensor<64xf64>
  %v2_2 = loom.sub %v2_1, %y : tensor<64xf64>
  %x3 = loom.mul %v2_2, %y : tensor<64xf64>
  %m3 = loom.reduce "max" %x3 axes = [0] : (tensor<64xf64>) -> tensor<f64>
  %b3 = loom.broadcast %m3 dims = [] : (tensor<f64>) -> tensor<64xf64>
  %v3_0 = loom.sub %x3, %b3 : tensor<64xf64>
  %v3_1 = loom.mul %v3_0, %y : tensor<64xf64>
  %v3_2 = loom.sub %v3_1, %y : tensor<64xf64>
  %x4 = loom.mul %v3_2, %y : tensor<64xf64>
  return %x4 : tensor<64xf64>
}

// -----

// Of a long one each loop would compute all before it again: it is cut.
// CHECK-LABEL: func.func @long
// CHECK-COUNT-2: loom.fusion
// CHECK: return
func.func @long(%x0: tensor<64xf64>, %y: tensor<64xf64>) -> tensor<64xf64> {
  %m0 = loom.reduce "max" %x0 axes = [0] : (tensor<64xf64>) -> tensor<f64>
  %b0 = loom.broadcast %m0 dims = [] : (tensor<f64>) -> tensor<64xf64>
  %v0_0 = loom.sub %x0, %b0 : tensor<64xf64>
  %v0_1 = loom.mul %v0_0, %y : tensor<64xf64>
  %v0_2 = loom.sub %v0_1, %y : tensor<64xf64>
  %x1 = loom.mul %v0_2, %y : tensor<64xf64>
  %m1 = loom.reduce "max" %x1 axes = [0] : (tensor<64xf64>) -> tensor<f64>
  %b1 = loom.broadcast %m1 dims = [] : (tensor<f64>) -> tensor<64xf64>
  %v1_0 = loom.sub %x1, %b1 : tensor<64xf64>
  %v1_1 = loom.mul %v1_0, %y : tensor<64xf64>
  %v1_2 = loom.sub %v1_1, %y : tensor<64xf64>
  %x2 = loom.mul %v1_2, %y : tensor<64xf64>
  %m2 = loom.reduce "max" %x2 axes = [0] : (tensor<64xf64>) -> tensor<f64>
  %b2 = loom.broadcast %m2 dims = [] : (tensor<f64>) -> tensor<64xf64>
  %v2_0 = loom.sub %x2, %b2 : tensor<64xf64>
  %v2_1 = loom.mul %v2_0, %y : tensor<64xf64>
  %v2_2 = loom.sub %v2_1, %y : tensor<64xf64>
  %x3 = loom.mul %v2_2, %y : tensor<64xf64>
  %m3 = loom.reduce "max" %x3 axes = [0] : (tensor<64xf64>) -> tensor<f64>
  %b3 = loom.broadcast %m3 dims = [] : (tensor<f64>) -> tensor<64xf64>
  %v3_0 = loom.sub %x3, %b3 : tensor<64xf64>
  %v3_1 = loom.mul %v3_0, %y : tensor<64xf64>
  %v3_2 = loom.sub %v3_1, %y : tensor<64xf64>
  %x4 = loom.mul %v3_2, %y : tensor<64xf64>
  %m4 = loom.reduce "max" %x4 axes = [0] : (tensor<64xf64>) -> tensor<f64>
  %b4 = loom.broadcast %m4 dims = [] : (tensor<f64>) -> tensor<64xf64>
  %v4_0 = loom.sub %x4, %b4 : tensor<64xf64>
  %v4_1 = loom.mul %v4_0, %y : tensor<64xf64>
  %v4_2 = loom.sub %v4_1, %y : tensor<64xf64>
  %x5 = loom.mul %v4_2, %y : tensor<64xf64>
  %m5 = loom.reduce "max" %x5 axes = [0] : (tensor<64xf64>) -> tensor<f64>
  %b5 = loom.broadcast %m5 dims = [] : (tensor<f64>) -> tensor<64xf64>
  %v5_0 = loom.sub %x5, %b5 : tensor<64xf64>
  %v5_1 = loom.mul %v5_0, %y : tensor<64xf64>
  %v5_2 = loom.sub %v5_1, %y : tensor<64xf64>
  %x6 = loom.mul %v5_2, %y : tensor<64xf64>
  %m6 = loom.reduce "max" %x6 axes = [0] : (tensor<64xf64>) -> tensor<f64>
  %b6 = loom.broadcast %m6 dims = [] : (tensor<f64>) -> tensor<64xf64>
  %v6_0 = loom.sub %x6, %b6 : tensor<64xf64>
  %v6_1 = loom.mul %v6_0, %y : tensor<64xf64>
  %v6_2 = loom.sub %v6_1, %y : tensor<64xf64>
  %x7 = loom.mul %v6_2, %y : tensor<64xf64>
  %m7 = loom.reduce "max" %x7 axes = [0] : (tensor<64xf64>) -> tensor<f64>
  %b7 = loom.broadcast %m7 dims = [] : (tensor<f64>) -> tensor<64xf64>
  %v7_0 = loom.sub %x7, %b7 : tensor<64xf64>
  %v7_1 = loom.mul %v7_0, %y : tensor<64xf64>
  %v7_2 = loom.sub %v7_1, %y : tensor<64xf64>
  %x8 = loom.mul %v7_2, %y : tensor<64xf64>
  %m8 = loom.reduce "max" %x8 axes = [0] : (tensor<64xf64>) -> tensor<f64>
  %b8 = loom.broadcast %m8 dims = [] : (tensor<f64>) -> tensor<64xf64>
  %v8_0 = loom.sub %x8, %b8 : tensor<64xf64>
  %v8_1 = loom.mul %v8_0, %y : tensor<64xf64>
  %v8_2 = loom.sub %v8_1, %y : tensor<64xf64>
  %x9 = loom.mul %v8_2, %y : tensor<64xf64>
  %m9 = loom.reduce "max" %x9 axes = [0] : (tensor<64xf64>) -> tensor<f64>
  %b9 = loom.broadcast %m9 dims = [] : (tensor<f64>) -> tensor<64xf64>
  %v9_0 = loom.sub %x9, %b9 : tensor<64xf64>
  %v9_1 = loom.mul %v9_0, %y : tensor<64xf64>
  %v9_2 = loom.sub %v9_1, %y : tensor<64xf64>
  %x10 = loom.mul %v9_2, %y : tensor<64xf64>
  %m10 = loom.reduce "max" %x10 axes = [0] : (tensor<64xf64>) -> tensor<f64>
  %b10 = loom.broadcast %m10 dims = [] : (tensor<f64>) -> tensor<64xf64>
  %v10_0 = loom.sub %x10, %b10 : tensor<64xf64>
  %v10_1 = loom.mul %v10_0, %y : tensor<64xf64>
  %v10_2 = loom.sub %v10_1, %y : tensor<64xf64>
  %x11 = loom.mul %v10_2, %y : tensor<64xf64>
  %m11 = loom.reduce "max" %x11 axes = [0] : (tensor<64xf64>) -> tensor<f64>
  %b11 = loom.broadcast %m11 dims = [] : (tensor<f64>) -> tensor<64xf64>
  %v11_0 = loom.sub %x11, %b11 : tensor<64xf64>
  %v11_1 = loom.mul %v11_0, %y : tensor<64xf64>
  %v11_2 = loom.sub %v11_1, %y : tensor<64xf64>
  %x12 = loom.mul %v11_2, %y : tensor<64xf64>
  return %x12 : tensor<64xf64>
}
