// RUN: %loom-opt %s --loom-plans | FileCheck %s

// The second kernel reads the first one's result as the caller asked for it: in Fortran's order.
// CHECK-LABEL: loom.kernel @k0
// CHECK: strides = [array<i64: 0, 1>, array<i64: 1, 6>]
// CHECK-LABEL: loom.kernel @k1
// CHECK: strides = [array<i64: 1, 6>, array<i64: 1, 12>]
func.func @main(%b: tensor<3x5xf32> {loom.strides = array<i64: 0, 1>})
    -> (tensor<6x5xf32> {loom.strides = array<i64: 1, 6>}, tensor<12x5xf32> {loom.strides = array<i64: 1, 12>}) {
  %0 = loom.concatenate %b, %b axis = 0 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<6x5xf32>
  %1 = loom.concatenate %0, %0 axis = 0 : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<12x5xf32>
  return %0, %1 : tensor<6x5xf32>, tensor<12x5xf32>
}
