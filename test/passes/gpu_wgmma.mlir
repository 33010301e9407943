// Products by instructions of warpgroups: a fence and a barrier before each, sums that go to shared memory by turns.
// RUN: split-file %s %t
// RUN: %loom-opt --loom-lowered %t/group.mlir > %t/group.lowered.mlir
// RUN: FileCheck %s --check-prefix=GROUP < %t/group.lowered.mlir
// RUN: sed 's/loom.target = "nvptx"/loom.target = "sim", loom.check/' %t/group.mlir > %t/sim.mlir
// RUN: %loom-opt --loom-lowered %t/sim.mlir > %t/sim.lowered.mlir
// RUN: %loom-run --target=sim %t/sim.lowered.mlir | FileCheck %s --check-prefix=RIGHT
// RUN: %python %S/inputs/without.py %t/sim.lowered.mlir loom_gpu_barrier 1 > %t/first.mlir
// RUN: not %loom-run --target=sim --order=1 %t/first.mlir 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: %python %S/inputs/without.py %t/sim.lowered.mlir loom_gpu_copy_wait_older 1 > %t/wait.mlir
// RUN: not %loom-run --target=sim --order=1 %t/wait.mlir 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: %python %S/inputs/without.py %t/sim.lowered.mlir loom_gpu_barrier 3 > %t/third.mlir
// RUN: not %loom-run --target=sim --order=1 %t/third.mlir 2>&1 | FileCheck %s --check-prefix=FIRST

//--- group.mlir
module attributes {loom.matrix = "wgmma", loom.processors = 1 : i64, loom.target = "nvptx"} {
  // The slab's place, then the warpgroup's first row: 64 rows of 64 bytes. The columns lie behind 128 rows.
  // GROUP-LABEL: func.func private @k0_s0_body(
  // GROUP: llvm.alloca %{{.*}} x f32
  // GROUP: scf.for
  // GROUP: call @loom_gpu_copy_wait_older()
  // GROUP: call @loom_gpu_wgmma_fence()
  // GROUP: call @loom_gpu_barrier(
  // GROUP: call @loom_gpu_copy8(
  // GROUP: call @loom_gpu_copy_commit()
  // GROUP: call @loom_gpu_wgmma_bf16(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i32) -> ()
  // GROUP: call @loom_gpu_barrier(
  // GROUP: scf.if
  // GROUP: llvm.store %{{.*}} {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr
  // GROUP: call @loom_gpu_barrier(
  // GROUP: call @loom_gpu_barrier(
  // GROUP: scf.if
  // RIGHT: main 0: float32[128x128]
  // FIRST: kernel k0_s0, {{.*}}{{reads shared memory that nobody has written|a race: }}
  func.func @main(%x: tensor<128x164xbf16>, %w: tensor<128x164xbf16>) -> tensor<128x128xf32> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [1] : (tensor<128x164xbf16>, tensor<128x164xbf16>) -> tensor<128x128xbf16>
    %1 = loom.convert %0 : (tensor<128x128xbf16>) -> tensor<128x128xf32>
    return %1 : tensor<128x128xf32>
  }
}
