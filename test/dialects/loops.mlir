// Numbers that depend on how often a loop has run are codes into the module's table: what was printed is read again.
// RUN: %loom-opt %s | %loom-opt | FileCheck %s
// RUN: %loom-opt %s --mlir-print-op-generic | %loom-opt | FileCheck %s

// s0, a loop's index; 1 + s0
module attributes {loom.exprs = array<i64: 1, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 1>, loom.symbols = array<i64: 0, 37, 1, 0>} {
  // CHECK-LABEL: func.func @rows
  func.func @rows(%x: tensor<40xf64>, %n: tensor<i64>) -> tensor<40xf64> {
    // CHECK: loom.for %{{.*}} init(%{{.*}}) symbol = 0
    %0 = loom.for %n init(%x) symbol = 0 {
    ^bb0(%i: tensor<i64>, %a: tensor<40xf64>):
      // CHECK: loom.slice %{{.*}} starts = [-9223372036854775808] sizes = [1] steps = [1]
      %1 = loom.slice %a starts = [-9223372036854775808] sizes = [1] steps = [1] : (tensor<40xf64>) -> tensor<1xf64>
      // CHECK: loom.update_slice %{{.*}} starts = [-9223372036854775806] steps = [1]
      %2 = loom.update_slice %a, %1 starts = [-9223372036854775806] steps = [1] : (tensor<40xf64>, tensor<1xf64>) -> tensor<40xf64>
      loom.yield %2 : tensor<40xf64>
    } : (tensor<i64>, tensor<40xf64>) -> tensor<40xf64>
    return %0 : tensor<40xf64>
  }

  // CHECK-LABEL: func.func @until
  func.func @until(%x: tensor<40xf64>, %t: tensor<i1>) -> tensor<40xf64> {
    // CHECK: loom.while init(%{{.*}}) symbol = 0
    %0:2 = loom.while init(%x, %t) symbol = 0 {
    ^bb0(%a: tensor<40xf64>, %go: tensor<i1>):
      loom.yield %go : tensor<i1>
    } do {
    ^bb0(%a: tensor<40xf64>, %go: tensor<i1>):
      %1 = loom.slice %a starts = [-9223372036854775808] sizes = [1] steps = [1] : (tensor<40xf64>) -> tensor<1xf64>
      %2 = loom.reshape %1 : (tensor<1xf64>) -> tensor<f64>
      %3 = loom.compare "gt" %2, %2 : (tensor<f64>, tensor<f64>) -> tensor<i1>
      loom.yield %a, %3 : tensor<40xf64>, tensor<i1>
    } : (tensor<40xf64>, tensor<i1>) -> (tensor<40xf64>, tensor<i1>)
    return %0#0 : tensor<40xf64>
  }
}
