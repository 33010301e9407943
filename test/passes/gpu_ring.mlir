// Products with a warp that copies and two warpgroups that multiply: each wait, arrival and fence is needed.
// RUN: split-file %s %t
// RUN: %loom-opt --loom-lowered %t/ring.mlir > %t/ring.lowered.mlir
// RUN: FileCheck %s --check-prefix=RING < %t/ring.lowered.mlir
// RUN: sed 's/loom.target = "nvptx"/loom.target = "sim", loom.check/' %t/ring.mlir > %t/sim.mlir
// RUN: %loom-opt --loom-lowered %t/sim.mlir > %t/sim.lowered.mlir
// RUN: %loom-run --target=sim %t/sim.lowered.mlir | FileCheck %s --check-prefix=RIGHT
// The copier does not wait for an empty place.
// RUN: %python %S/inputs/without.py %t/sim.lowered.mlir loom_gpu_mbarrier_wait 2 > %t/empty.mlir
// RUN: not %loom-run --target=sim %t/empty.mlir 2>&1 | FileCheck %s --check-prefix=OFTEN
// OFTEN: thread 256 arrives at a barrier more often than it counts
// Warps that multiply do not wait for a full one.
// RUN: %python %S/inputs/without.py %t/sim.lowered.mlir loom_gpu_mbarrier_wait 1 > %t/full.mlir
// RUN: not %loom-run --target=sim %t/full.mlir 2>&1 | FileCheck %s --check-prefix=FULL
// FULL: reads shared memory that nobody has written
// They say that a place is empty before its products are done.
// RUN: %python %S/inputs/without.py %t/sim.lowered.mlir loom_gpu_wgmma_wait_older 1 > %t/older.mlir
// RUN: not %loom-run --target=sim %t/older.mlir 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: a race: a copy for barrier {{[0-9]+}} writes what a product of warpgroup {{[01]}} read, and nothing orders them
// They never say it.
// RUN: %python %S/inputs/without.py %t/sim.lowered.mlir loom_gpu_mbarrier_arrive 1 > %t/arrive.mlir
// RUN: not %loom-run --target=sim %t/arrive.mlir 2>&1 | FileCheck %s --check-prefix=STUCK
// STUCK: waits for a barrier in memory
// The bytes are not announced.
// RUN: %python %S/inputs/without.py %t/sim.lowered.mlir loom_gpu_mbarrier_expect 1 > %t/expect.mlir
// RUN: not %loom-run --target=sim %t/expect.mlir 2>&1 | FileCheck %s --check-prefix=STUCK
// The barriers are made without a fence between proxies, or without a barrier of all threads.
// RUN: %python %S/inputs/without.py %t/sim.lowered.mlir loom_gpu_wgmma_fence 1 > %t/fence.mlir
// RUN: not %loom-run --target=sim %t/fence.mlir 2>&1 | FileCheck %s --check-prefix=FENCE
// FENCE: a race: no fence between proxies behind the making of a barrier
// RUN: %python %S/inputs/without.py %t/sim.lowered.mlir loom_gpu_barrier 1 > %t/made.mlir
// RUN: not %loom-run --target=sim %t/made.mlir 2>&1 | FileCheck %s --check-prefix=MADE
// MADE: a race: thread {{[0-9]+}} uses a barrier that thread 0 has made
// The sums are read before they are all there.
// RUN: %python %S/inputs/without.py %t/sim.lowered.mlir loom_gpu_barrier_part 2 > %t/part.mlir
// RUN: not %loom-run --target=sim %t/part.mlir 2>&1 | FileCheck %s --check-prefix=PART
// PART: {{reads shared memory that nobody has written|a race: }}
// The products of the last slab are not waited for.
// RUN: %python %S/inputs/without.py %t/sim.lowered.mlir loom_gpu_wgmma_wait_n128 1 > %t/done.mlir
// RUN: not %loom-run --target=sim %t/done.mlir 2>&1 | FileCheck %s --check-prefix=DONE
// DONE: warpgroup 0 ends, and has not waited for a product
// The warp that copies keeps its registers.
// RUN: %python %S/inputs/without.py %t/sim.lowered.mlir loom_gpu_registers_give 1 > %t/give.mlir
// RUN: not %loom-run --target=sim %t/give.mlir 2>&1 | FileCheck %s --check-prefix=GIVE
// GIVE: the block's threads ask for 80896 registers, and there are 65536

//--- ring.mlir
module attributes {loom.matrix = "wgmma", loom.processors = 1 : i64, loom.target = "nvptx"} {
  // RING-LABEL: func.func private @k0_s0_body(
  // RING: llvm.alloca %{{.*}} x f32
  // RING: call @loom_gpu_mbarrier_init(
  // RING: call @loom_gpu_wgmma_fence()
  // RING: call @loom_gpu_barrier(
  // RING: call @loom_gpu_registers_take(
  // RING: scf.for
  // RING: scf.for
  // RING: call @loom_gpu_mbarrier_wait(
  // RING-NEXT: arith.muli
  // RING: call @loom_gpu_wgmma_n128_bf16(
  // RING: call @loom_gpu_wgmma_wait_older(
  // RING: call @loom_gpu_mbarrier_arrive(
  // RING: call @loom_gpu_wgmma_wait_n128(
  // RING: call @loom_gpu_mbarrier_arrive(
  // RING: call @loom_gpu_barrier_part(
  // RING: call @loom_gpu_registers_give(
  // RING: call @loom_gpu_mbarrier_wait(
  // RING: call @loom_gpu_mbarrier_expect(
  // RING: call @loom_gpu_map_copy(
  // RING: call @loom_gpu_map_copy(
  // A buffer, bytes of an element, a box, an offset, three extents and two strides for each operand.
  // RING: func.func @k0_s0({{.*}}"loom-gpu-threads", "384"], ["loom-gpu-shared", "214112"], ["loom-gpu-blocks", "1"], ["loom-gpu-maps", "0 2 64 128 0 576 128 1 1152 1152 1 2 64 128 0 576 128 1 1152 1152"]
  // RIGHT: main 0: float32[128x128]
  func.func @main(%x: tensor<128x576xbf16>, %w: tensor<128x576xbf16>) -> tensor<128x128xf32> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [1] : (tensor<128x576xbf16>, tensor<128x576xbf16>) -> tensor<128x128xbf16>
    %1 = loom.convert %0 : (tensor<128x128xbf16>) -> tensor<128x128xf32>
    return %1 : tensor<128x128xf32>
  }
}
