// RUN: %loom-opt %s --loom-lowered | FileCheck %s

// A function that a kernel needs at a few places is inlined at each.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK-NOT: call @k0_s0_exp
func.func @few(%a: tensor<1024xf64>) -> tensor<1024xf64> {
  %0 = loom.exp %a : tensor<1024xf64>
  %1 = loom.exp %0 : tensor<1024xf64>
  %2 = loom.exp %1 : tensor<1024xf64>
  %3 = loom.exp %2 : tensor<1024xf64>
  %4 = loom.exp %3 : tensor<1024xf64>
  %5 = loom.exp %4 : tensor<1024xf64>
  return %5 : tensor<1024xf64>
}
