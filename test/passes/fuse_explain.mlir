// Options, remarks at the user's lines, through diagnostics and MLIR's remark engine, and counters.
// RUN: %loom-opt %s --loom-fuse=explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: %loom-opt %s --loom-fuse="max-ops=1 explain" -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not %loom-opt %s --loom-fuse=max-ops=0 -o /dev/null 2>&1 | FileCheck %s --check-prefix=BOUND
// RUN: %loom-opt %s --loom-plans --remarks-filter='loom-.*' --mlir-pass-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: %loom-opt %s --loom-plans -o /dev/null 2>&1 | count 0

// WHY: :[[# @LINE + 17]]:8: remark: 'loom.exp' and 1 other ops are one kernel
// WHY: :[[# @LINE + 18]]:8: remark: 'loom.sort' is not fused with 'loom.add', whose result it reads: one has a kernel of its own
// ONE: remark: 'loom.add' is not fused with 'loom.exp', whose result it reads: both have more ops than a kernel may have
// BOUND: error: loom-fuse: max-ops is 0, not in 1 to 192
// ALL: :[[# @LINE + 13]]:8: remark: [Passed] fuse | Category:loom-fuse
// ALL: remark: [Missed] parallelize | Category:loom-schedule | Remark="the kernel is one chunk: 4 elements at a cost of 21 each are too few"
// ALL: remark: [Analysis] cost | Category:loom-schedule | Remark="about 4 elements at a cost of 21, in 1 chunks of 4 lanes"
// ALL: remark: [Analysis] arena | Category:loom-plan | Remark="3 buffers
// ALL: loom-fuse
// ALL-NEXT: 2 fused
// ALL-NEXT: 4 kernels
// ALL-NEXT: 0 dissolved
// ALL: loom-schedule
// ALL-NEXT: 4 kernels
// ALL: loom-plan
// ALL-NEXT: 3 buffers
func.func @main(%a: tensor<4xf32>, %b: tensor<4x3xf32>) -> (tensor<4xf32>, tensor<4x3xf32>) {
  %0 = loom.exp %a : tensor<4xf32>
  %1 = loom.add %0, %a : tensor<4xf32>
  %s = loom.sort %1 axis = 0 {indices = false} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = loom.neg %s : tensor<4xf32>
  %3 = loom.tanh %b : tensor<4x3xf32>
  return %2, %3 : tensor<4xf32>, tensor<4x3xf32>
}
