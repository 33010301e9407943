// Numbers in the order of their keys: a tile in shared memory, and merges behind it.
// RUN: split-file %s %t
// RUN: %loom-opt --loom-plans %t/long.mlir | FileCheck %s --check-prefix=PLAN
// RUN: %loom-opt --loom-lowered %t/long.mlir | FileCheck %s --check-prefix=CODE
// RUN: %loom-opt --loom-lowered %t/tile.mlir > %t/tile.lowered.mlir
// RUN: %loom-run --target=sim --order=1 %t/tile.lowered.mlir | FileCheck %s --check-prefix=RIGHT
// RUN: %python %S/inputs/without.py %t/tile.lowered.mlir loom_gpu_barrier 1 > %t/first.mlir
// RUN: not %loom-run --target=sim --order=1 %t/first.mlir 2>&1 | FileCheck %s --check-prefix=FAULT
// RUN: %python %S/inputs/without.py %t/tile.lowered.mlir loom_gpu_barrier 2 > %t/second.mlir
// RUN: not %loom-run --target=sim --order=1 %t/second.mlir 2>&1 | FileCheck %s --check-prefix=FAULT
// RUN: not %loom-opt --loom-plans %t/endless.mlir 2>&1 | FileCheck %s --check-prefix=ENDLESS

//--- long.mlir
module attributes {loom.target = "nvptx"} {
  // 5000 floats: three tiles of 2048, then runs of 2048 and of 4096 are merged. Two copies of keys and numbers.
  // PLAN-LABEL: ^bb0({{.*}}tensor<5000xf32>
  // PLAN: slots = 80000 : i64{{.*}} stages = array<i64: 3, 20, 20>
  // A binary search in 2048 places takes 12 steps.
  // CODE-LABEL: func.func private @k0_s0_body(
  // CODE: call @loom_gpu_shared() : () -> !llvm.ptr
  // CODE: call @loom_gpu_barrier(
  // CODE: call @loom_gpu_barrier(
  // CODE-NOT: barrier
  // CODE: passthrough = {{\[\[}}"loom-gpu-threads", "256"], ["loom-gpu-shared", "16384"]]
  // CODE-LABEL: func.func private @k0_s1_body(
  // CODE: %[[STEPS:.*]] = arith.constant 12 : i64
  // CODE: scf.for %{{.*}} to %[[STEPS]] {{.*}} iter_args(
  // CODE-NOT: barrier
  // CODE: func.func @k0_s2(
  func.func @main(%x: tensor<5000xf32>) -> tensor<5000xf32> {
    %0 = loom.sort %x axis = 0 {indices = false} : (tensor<5000xf32>) -> tensor<5000xf32>
    return %0 : tensor<5000xf32>
  }
  // Seven lines of 13 are 16 places each, in a tile of 128.
  // PLAN-LABEL: ^bb0({{.*}}tensor<7x13xf64>
  // PLAN: slots = 0 : i64{{.*}} stages = array<i64: 1>
  func.func @short(%x: tensor<7x13xf64>) -> tensor<7x13xf64> {
    %0 = loom.sort %x axis = 1 {indices = false} : (tensor<7x13xf64>) -> tensor<7x13xf64>
    return %0 : tensor<7x13xf64>
  }
}
//--- tile.mlir
module attributes {loom.target = "sim", loom.check} {
  // RIGHT: main 0: int64[10] 1 2 3 4 5 6 7 8 9 0
  // FAULT: {{a race|reads shared memory that nobody has written}}
  func.func @main(%x: tensor<600xf32>) -> tensor<10xi64> {
    %n = loom.constant(10.0 : f32) : tensor<600xf32>
    %k = loom.constant(9.0 : f32) : tensor<600xf32>
    %a = loom.add %x, %k : tensor<600xf32>
    %m = loom.rem %a, %n : tensor<600xf32>
    %0 = loom.sort %m axis = 0 {indices = true} : (tensor<600xf32>) -> tensor<600xi64>
    %1 = loom.slice %0 starts = [0] sizes = [10] steps = [60] : (tensor<600xi64>) -> tensor<10xi64>
    %t = loom.constant(10 : i64) : tensor<10xi64>
    %2 = loom.rem %1, %t : tensor<10xi64>
    return %2 : tensor<10xi64>
  }
}
//--- endless.mlir
module attributes {loom.target = "nvptx"} {
  // ENDLESS: error: cannot lower 'loom.sort': lines that are too long for a GPU
  func.func @main(%x: tensor<40000000xf32>) -> tensor<40000000xf32> {
    %0 = loom.sort %x axis = 0 {indices = false} : (tensor<40000000xf32>) -> tensor<40000000xf32>
    return %0 : tensor<40000000xf32>
  }
}
