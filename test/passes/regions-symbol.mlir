// The index of a loop as a symbol: kept by the passes, and set by the plan.
// RUN: %loom-opt --loom-regions %s | FileCheck %s
// RUN: %loom-opt --loom-plans %s | FileCheck %s --check-prefix=PLAN
// RUN: %loom-opt %s | FileCheck %s --check-prefix=SAME

// SAME: loom.for %arg0 init(%arg1) symbol = 0 {
// CHECK: loom.control "for" [@main_r0] carry = [0](%arg0, %arg1, %arg2) {loom.symbol = 0 : i64}
// PLAN: loom.run "for" [@main_r0]{{.*}}{loom.symbol = 0 : i64}
// PLAN: loom.launch @k{{.*}}symbols = 1
module attributes {loom.symbols = array<i64: 0, 7, 1, 0>, loom.exprs = array<i64: 1, 0, 0, 0>} {
  func.func @main(%n: tensor<i64>, %a: tensor<8xf64>, %v: tensor<8xf64>) -> tensor<8xf64> {
    %0 = loom.for %n init(%a) symbol = 0 {
    ^bb0(%i: tensor<i64>, %x: tensor<8xf64>):
      %y = loom.add %x, %v : tensor<8xf64>
      loom.yield %y : tensor<8xf64>
    } : (tensor<i64>, tensor<8xf64>) -> tensor<8xf64>
    return %0 : tensor<8xf64>
  }
}
