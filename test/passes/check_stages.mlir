// Each pass of a pipeline against the module as it was given. test-opt is loom-opt with passes that are wrong.
// RUN: %loom-opt %s --loom-check-stages=explain --mlir-pass-statistics 2>&1 | FileCheck %s
// RUN: %loom-opt %s --loom-check-stages="exact=1 trials=2 size=5 seed=7 explain passes=loom-kernels" -o /dev/null 2>&1 | FileCheck %s --check-prefix=SOME
// RUN: not %build/bin/test-opt %s --loom-check-stages="passes=loom-regions,func.func(cse,break-graph),loom-keep" -o /dev/null 2>&1 | FileCheck %s --check-prefix=GRAPH
// RUN: not %build/bin/test-opt %s --loom-check-stages="passes=builtin.module(loom-plans,break-arena,loom-lower)" -o /dev/null 2>&1 | FileCheck %s --check-prefix=ARENA
// RUN: not %build/bin/test-opt %s --loom-check-stages="passes=loom-lowered,break-lowered" -o /dev/null 2>&1 | FileCheck %s --check-prefix=LOWERED
// RUN: not %build/bin/test-opt %s --loom-check-stages="passes=loom-lowered,break-endless seconds=1" -o /dev/null 2>&1 | FileCheck %s --check-prefix=ENDLESS
// RUN: not %build/bin/test-opt %s --loom-check-stages="passes=loom-lowered,break-endless limit=5" -o /dev/null 2>&1 | FileCheck %s --check-prefix=LIMIT
// RUN: not %loom-opt %S/../targets/inputs/large.mlir --loom-check-stages=limit=1 -o /dev/null 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: not %build/bin/test-opt %s --loom-check-stages="passes=break-results" -o /dev/null 2>&1 | FileCheck %s --check-prefix=RESULTS
// RUN: not %build/bin/test-opt %s --loom-check-stages="passes=cse,break-off" -o /dev/null 2>&1 | FileCheck %s --check-prefix=OFF
// RUN: not %loom-opt %s --loom-check-stages="passes=func.func(cse" -o /dev/null 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not %loom-opt %s --loom-check-stages="trials=0" -o /dev/null 2>&1 | FileCheck %s --check-prefix=BOUND
// RUN: not %loom-opt %S/inputs/check-stages-bad.mlir --split-input-file --loom-check-stages="passes=cse" -o /dev/null 2>&1 | FileCheck %s --check-prefix=BAD

// The module is left as it is.
// CHECK: remark: 23 passes leave the results of 32 calls as they are (0 calls were refused)
// CHECK: func.func @sums
// CHECK: loom.for
// CHECK: loom-check-stages
// CHECK-NEXT: 23 passes
// CHECK-NEXT: 736 calls
// CHECK-NEXT: 0 refused

// SOME: remark: {{[0-9]+}} passes leave the results of 8 calls as they are

// ENDLESS: error: after break-endless (pass [[N:[0-9]+]] of [[N]]) @sums cannot be run: its code runs longer than 1 seconds: it may never end

// All calls together have a limit, too.
// LIMIT: error: the limit of 5 seconds is over behind {{.*}} (pass [[N:[0-9]+]] of {{[0-9]+}}): {{[0-9]+}} passes leave the results of 32 calls as they are
// FIRST: error: the limit of 1 seconds is over before the first of 23 passes: 0 calls were made

// The operation is found among those before and behind it, and in the function that has it.
// GRAPH: :[[# @LINE + 23]]:1: error: break-graph (pass 3 of 4) changes @sums: result 0, element [0] is {{.*}} and was {{.*}} (plain elements, trial 0 of seed 0)
// GRAPH: :[[# @LINE + 24]]:8: error: the first operation whose value is changed by break-graph: %{{.*}} = loom.sub {{.*}}: result 0, element [{{[01]}}, {{[012]}}] is
// GRAPH-NOT: error

// ARENA: error: break-arena (pass 20 of 21) changes @sums: result 1
// ARENA: error: the first operation whose value is changed by break-arena: %{{.*}} = loom.sort

// RESULTS: error: break-results (pass 1 of 1) changes @pair: result 0, element [0] is {{.*}}
// RESULTS: error: no value of this function is changed by break-results where it is the only result

// LOWERED: error: break-lowered (pass 21 of 21) changes @sums:
// LOWERED: :[[# @LINE + 13]]:8: error: the first operation whose value is changed by break-lowered: %{{.*}} = loom.exp

// OFF: error: it does not work
// OFF: error: break-off (pass 2 of 2) fails
// TEXT: error: the passes to be checked: {{.*}} encountered unbalanced parentheses
// BOUND: error: loom-check-stages: trials is 0, not in 1 to 1000

// An index out of bounds, whatever the trial; a host call; a loop without end; no function.
// BAD: error: no stage can be checked: {{.*}} out of bounds
// BAD: error: no stage can be checked: {{.*}} needs its library
// BAD: error: no stage can be checked: {{.*}}a loop runs too often
// BAD: error: no stage can be checked: the module has neither a function of tensors nor a loom.plan
func.func @sums(%a: tensor<2x3xf32>, %b: tensor<2x3xf32> {loom.strides = array<i64: 1, 2>}) -> (tensor<3xf32>, tensor<2x3xf32>) {
  %0 = loom.exp %a : tensor<2x3xf32>
  %1 = loom.sub %0, %b : tensor<2x3xf32>
  %2 = loom.reduce "sum" %1 axes = [0] : (tensor<2x3xf32>) -> tensor<3xf32>
  %3 = loom.sort %1 axis = 1 {indices = false} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = loom.sort %0 axis = 0 {indices = false} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = loom.neg %3 : tensor<2x3xf32>
  %6 = loom.add %4, %5 : tensor<2x3xf32>
  %7 = loom.sort %6 axis = 1 {indices = false} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %2, %7 : tensor<3xf32>, tensor<2x3xf32>
}

// Symbolic sizes; integers count a loop.
func.func @loop(%a: tensor<?xf64, affine_map<()[s0] -> (s0)>>, %n: tensor<i64>) -> tensor<?xf64, affine_map<()[s0] -> (s0)>> {
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<?xf64, affine_map<()[s0] -> (s0)>>):
    %y = loom.abs %x : tensor<?xf64, affine_map<()[s0] -> (s0)>>
    loom.yield %y : tensor<?xf64, affine_map<()[s0] -> (s0)>>
  } : (tensor<i64>, tensor<?xf64, affine_map<()[s0] -> (s0)>>) -> tensor<?xf64, affine_map<()[s0] -> (s0)>>
  return %0 : tensor<?xf64, affine_map<()[s0] -> (s0)>>
}

// Values of its own.
func.func @given(%a: tensor<2xi32> {loom.values = dense<[5, 7]> : tensor<2xi32>}) -> tensor<2xi32> {
  %0 = loom.mul %a, %a : tensor<2xi32>
  return %0 : tensor<2xi32>
}

func.func @pair(%a: tensor<2xi32>, %b: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
  %0 = loom.add %a, %b : tensor<2xi32>
  return %0, %b : tensor<2xi32>, tensor<2xi32>
}
