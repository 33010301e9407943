// What the pipeline cannot take gets a diagnostic or is left alone; nothing crashes.
// RUN: %loom-opt %s --loom-fuse --split-input-file > /dev/null
// RUN: not %loom-opt %s --loom-cpu --split-input-file 2>&1 | FileCheck %s

// CHECK: 'arith.addi' has no place in a plan
func.func @main(%a: i32, %t: tensor<4xf32>) -> (i32, tensor<4xf32>) {
  %0 = arith.addi %a, %a : i32
  %1 = loom.neg %t : tensor<4xf32>
  return %0, %1 : i32, tensor<4xf32>
}

// -----

// CHECK: which is no 0-d operand
func.func @main(%t: tensor<4x3xf32> {loom.scalar}) -> tensor<4x3xf32> {
  %a = loom.neg %t : tensor<4x3xf32>
  return %a : tensor<4x3xf32>
}
