// What passes tell of their work (fuse_explain.mlir has the mechanism), and their counters.
// RUN: %loom-opt %s --loom-lowered --remarks-filter='loom-.*' --mlir-pass-statistics -o /dev/null 2>&1 | FileCheck %s
// RUN: %loom-opt %s --loom-regions=explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: %loom-opt %s --loom-lowered -o /dev/null 2>&1 | count 0
// RUN: %loom-opt %S/attend.mlir --split-input-file --pass-pipeline='builtin.module(loom-attend{explain})' -o /dev/null 2>&1 | FileCheck %s --check-prefix=ATTEND
// RUN: %loom-opt %S/sums.mlir --split-input-file --pass-pipeline='builtin.module(loom-sums{explain})' -o /dev/null 2>&1 | FileCheck %s --check-prefix=SUMS
// RUN: %loom-opt %S/scale.mlir --split-input-file --pass-pipeline='builtin.module(loom-scale{explain})' -o /dev/null 2>&1 | FileCheck %s --check-prefix=SCALE
// RUN: %loom-opt %S/forward.mlir --split-input-file --pass-pipeline='builtin.module(loom-forward{explain})' -o /dev/null 2>&1 | FileCheck %s --check-prefix=FORWARD
// RUN: %loom-opt %S/order.mlir --split-input-file --pass-pipeline='builtin.module(loom-order{explain})' -o /dev/null 2>&1 | FileCheck %s --check-prefix=ORDER

// TEXT: remark: the loop calls a function; values that it carries: 1, that do not change: 1
// ATTEND: remark: a softmax between two products is an attention
// SUMS: remark: {{[0-9]+}} products that are added up are one product
// SCALE: remark: {{[0-9]+}} operations on channels go into the constant weights and one addition
// FORWARD: remark: it reads what was put into the array before, not the array
// ORDER: remark: in another order {{[0-9]+}} bytes are live at once, not {{[0-9]+}}

// CHECK-DAG: remark: [Passed] loop | Category:loom-regions
// CHECK-DAG: remark: [Passed] branch | Category:loom-regions | Remark="each side of the branch is a function"
// CHECK-DAG: remark: [Passed] thin | Category:loom-thin | Remark="the product has a single row or column: it is a reduction"
// CHECK-DAG: remark: [Passed] thin | Category:loom-thin | Remark="the product sums over nothing: it is a multiplication"
// CHECK-DAG: remark: [Passed] share | Category:loom-outline | Remark="the group is the same as another one: @k
// CHECK-DAG: remark: [Passed] once | Category:loom-keep | Remark="the kernel reads constants alone: it runs once for all calls"
// CHECK-DAG: remark: [Analysis] lower | Category:loom-lower | Remark="stages: 1, code: tiles of a product"
// CHECK-DAG: remark: [Analysis] lower | Category:loom-lower | Remark="stages: 1, code: one operation of its own"
// CHECK-DAG: remark: [Analysis] lower | Category:loom-lower | Remark="stages: 1, code: loops over its elements"
// CHECK: 3 regions
// CHECK-NEXT: 1 unchanged
// CHECK: 2 products - products that are none any more
// CHECK: replaced - operations that were replaced
// CHECK: 3 shared
// CHECK: 1 once
// CHECK: loom-lower
// CHECK-NEXT: 8 kernels
module attributes {loom.keep, loom.open_sums} {
func.func @loop(%n: tensor<i64>, %a: tensor<4xf32>, %c: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = loom.for %n init(%a, %c) {
  ^bb0(%i: tensor<i64>, %x: tensor<4xf32>, %k: tensor<4xf32>):
    %y = loom.mul %x, %k : tensor<4xf32>
    loom.yield %y, %k : tensor<4xf32>, tensor<4xf32>
  } : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}
func.func @branch(%c: tensor<i1>, %a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = loom.if %c (%a) {
  ^bb0(%x: tensor<4xf32>):
    loom.yield %x : tensor<4xf32>
  } else {
  ^bb0(%x: tensor<4xf32>):
    %y = loom.neg %x : tensor<4xf32>
    loom.yield %y : tensor<4xf32>
  } : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @thin(%a: tensor<64x100xf32>, %v: tensor<100xf32>, %w: tensor<64xf32>) -> (tensor<64xf32>, tensor<64x100xf32>) {
  %0 = loom.dot_general %a, %v batch = [] x [] contract = [1] x [0] : (tensor<64x100xf32>, tensor<100xf32>) -> tensor<64xf32>
  %1 = loom.dot_general %w, %v batch = [] x [] contract = [] x [] : (tensor<64xf32>, tensor<100xf32>) -> tensor<64x100xf32>
  return %0, %1 : tensor<64xf32>, tensor<64x100xf32>
}
func.func @sums(%a: tensor<64x4xf32>, %b: tensor<4x64xf32>, %c: tensor<64x4xf32>, %d: tensor<4x64xf32>) -> tensor<64x64xf32> {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<64x4xf32>, tensor<4x64xf32>) -> tensor<64x64xf32>
  %1 = loom.dot_general %c, %d batch = [] x [] contract = [1] x [0] : (tensor<64x4xf32>, tensor<4x64xf32>) -> tensor<64x64xf32>
  %2 = loom.add %0, %1 : tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}
func.func @twice(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = loom.sort %a axis = 0 {indices = false} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = loom.sort %b axis = 0 {indices = false} : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
func.func @once(%a: tensor<8xf32> {loom.const}, %b: tensor<8xf32>) -> tensor<8xf32> {
  %0 = loom.sort %a axis = 0 {indices = false} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = loom.add %0, %b : tensor<8xf32>
  return %1 : tensor<8xf32>
}
}
