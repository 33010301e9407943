// A sum with a stride that is larger than 62 bits is no number, rather than a code of the table of sizes.
// RUN: not %loom-opt %s --loom-kernels -o /dev/null 2>&1 | FileCheck %s

// CHECK: error: a size cannot be computed
func.func @main(%b: tensor<3x5xf32> {loom.strides = array<i64: 9223372036854775807, 1>})
    -> (tensor<6x5xf32> {loom.strides = array<i64: 1, 6>}, tensor<12x5xf32> {loom.strides = array<i64: 1, 12>}) {
  %0 = loom.concatenate %b, %b axis = 0 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<6x5xf32>
  %1 = loom.concatenate %0, %0 axis = 0 : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<12x5xf32>
  return %0, %1 : tensor<6x5xf32>, tensor<12x5xf32>
}
