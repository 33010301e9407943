// RUN: %loom-opt %s --loom-lowered | FileCheck %s

// The reduction of huge arguments is a function of the module, one for each kind of lanes: what calls it is short.
// CHECK-COUNT-3: call @loom_reduce_far_f64_{{[0-9]+}}(%{{.*}}) : (vector
// CHECK-NOT: call @loom_reduce_far
// CHECK: llvm.mlir.global internal constant @loom_two_over_pi
// CHECK: func.func private @loom_reduce_far_f64_{{[0-9]+}}(%{{.*}}: vector
// CHECK-SAME: noinline
// CHECK-NOT: func.func private @loom_reduce_far
func.func @sines(%a: tensor<1024xf64>) -> tensor<1024xf64> {
  %0 = loom.sin %a : tensor<1024xf64>
  %1 = loom.cos %0 : tensor<1024xf64>
  %2 = loom.tan %1 : tensor<1024xf64>
  return %2 : tensor<1024xf64>
}
