// RUN: loom-opt --loom-plans %s | FileCheck %s

// For a GPU a launch says which of its buffers are only read, and whose errors its kernel reports.
module attributes {loom.target = "nvptx"} {
  // CHECK-LABEL: loom.plan @f
  // CHECK: loom.launch @{{.*}}(%arg0, %arg1, %arg2) scalars() {{{.*}}loom.reads = 2 : i64, loom.reports = "gather"
  func.func @f(%a: tensor<40x30xf32>, %i: tensor<5xi64>) -> tensor<5x30xf32> {
    %0 = loom.gather "raise" %a, %i axis = 0 : (tensor<40x30xf32>, tensor<5xi64>) -> tensor<5x30xf32>
    return %0 : tensor<5x30xf32>
  }
}
