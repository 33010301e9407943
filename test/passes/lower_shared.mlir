// RUN: %loom-opt %s --loom-lowered | FileCheck %s

// What a kernel needs at more than six places is one function for each kind of lanes, and so are the flags it raises.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK-COUNT-7: %{{.*}}:2 = {{(func\.)?}}call @k0_s0_log_f64_[[LANES:[0-9]+]](%{{.*}}) : (vector<[[LANES]]xf64>) -> (vector<[[LANES]]xf64>, i32)
// CHECK-NOT: call @k0_s0_log
// CHECK: func.func private @k0_s0_log_f64_[[LANES]](%{{.*}}: vector<[[LANES]]xf64>) -> (vector<[[LANES]]xf64>, i32)
// CHECK-SAME: noinline
func.func @many(%a: tensor<1024xf64>) -> tensor<1024xf64> {
  %0 = loom.log %a : tensor<1024xf64>
  %1 = loom.log %0 : tensor<1024xf64>
  %2 = loom.log %1 : tensor<1024xf64>
  %3 = loom.log %2 : tensor<1024xf64>
  %4 = loom.log %3 : tensor<1024xf64>
  %5 = loom.log %4 : tensor<1024xf64>
  %6 = loom.log %5 : tensor<1024xf64>
  return %6 : tensor<1024xf64>
}
