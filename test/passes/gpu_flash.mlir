// Attention on a GPU by instructions on matrices: how it is divided, its code, and that each barrier and each wait for copies is needed.
// RUN: split-file %s %t
// RUN: %loom-opt --loom-plans %t/tiles.mlir | FileCheck %s --check-prefix=PLAN
// RUN: %loom-opt --loom-lowered %t/code.mlir | FileCheck %s --check-prefix=CODE
// RUN: %loom-opt --loom-lowered %t/matrices.mlir | FileCheck %s --check-prefix=WAVE
// RUN: %loom-opt --loom-lowered %t/forward.mlir > %t/forward.lowered.mlir
// RUN: %python %S/inputs/needed.py %loom-run %t/forward.lowered.mlir loom_gpu_barrier loom_gpu_copy_wait_older loom_gpu_copy_wait_all | FileCheck %s --check-prefix=FORWARD
// RUN: %loom-opt --loom-lowered %t/gradient.mlir > %t/gradient.lowered.mlir
// RUN: %python %S/inputs/needed.py %loom-run %t/gradient.lowered.mlir loom_gpu_barrier loom_gpu_copy_wait_all | FileCheck %s --check-prefix=GRADIENT
// RUN: %loom-opt --loom-lowered %t/group.mlir > %t/group.lowered.mlir
// RUN: %python %S/inputs/needed.py %loom-run %t/group.lowered.mlir loom_gpu_barrier loom_gpu_copy_wait_older loom_gpu_wgmma_fence loom_gpu_wgmma_end_n64 | FileCheck %s --check-prefix=GROUP
// RUN: %loom-opt --loom-lowered %t/group-gradient.mlir > %t/group-gradient.lowered.mlir
// RUN: %python %S/inputs/needed.py %loom-run %t/group-gradient.lowered.mlir loom_gpu_barrier loom_gpu_copy_wait_all loom_gpu_wgmma_fence loom_gpu_wgmma_end_n64 | FileCheck %s --check-prefix=GROUPS
// FORWARD: loom_gpu_barrier: 6 calls, not needed: none
// FORWARD-NEXT: loom_gpu_copy_wait_older: 2 calls, not needed: none
// FORWARD-NEXT: loom_gpu_copy_wait_all: 2 calls, not needed: none
// Warpgroups: what was copied is also fenced, twice for each tile, and products are waited for.
// GROUP: loom_gpu_barrier: 6 calls, not needed: none
// GROUP-NEXT: loom_gpu_copy_wait_older: 2 calls, not needed: none
// GROUP-NEXT: loom_gpu_wgmma_fence: 2 calls, not needed: none
// GROUP-NEXT: loom_gpu_wgmma_end_n64: 2 calls, not needed: none
// GROUPS: loom_gpu_barrier: 9 calls, not needed: none
// GROUPS-NEXT: loom_gpu_copy_wait_all: 4 calls, not needed: none
// GROUPS-NEXT: loom_gpu_wgmma_fence: 1 calls, not needed: none
// GROUPS-NEXT: loom_gpu_wgmma_end_n64: 4 calls, not needed: none
// GRADIENT: loom_gpu_barrier: 9 calls, not needed: none
// GRADIENT-NEXT: loom_gpu_copy_wait_all: 4 calls, not needed: none

//--- tiles.mlir
module attributes {loom.target = "nvptx", loom.matrix = "mma"} {
  // A block for each 128 queries of a head. The gradients: one for each 128 keys of a head of k, and one for each 128 queries.
  // PLAN: loom.attention
  // PLAN: slots = 0 : i64, stages = array<i64: 160>
  // PLAN: loom.attention_gradient
  // PLAN: stages = array<i64: 24, 160>
  func.func @narrow(%q: tensor<1x32x640x64xbf16>, %k: tensor<1x4x700x64xbf16>, %v: tensor<1x4x700x64xbf16>, %g: tensor<1x32x640x64xbf16>, %d: tensor<1x32x640xf32>) -> (tensor<1x32x640x64xbf16>, tensor<1x32x640x64xbf16>, tensor<1x4x700x64xbf16>, tensor<1x4x700x64xbf16>) {
    %s = loom.constant(0.125 : f32) : tensor<f32>
    %o, %lse = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x32x640x64xbf16>, tensor<1x4x700x64xbf16>, tensor<1x4x700x64xbf16>, tensor<f32>) -> (tensor<1x32x640x64xbf16>, tensor<1x32x640xf32>)
    %0, %1, %2 = loom.attention_gradient %g, %q, %k, %v, %lse, %d, %s causal = false : (tensor<1x32x640x64xbf16>, tensor<1x32x640x64xbf16>, tensor<1x4x700x64xbf16>, tensor<1x4x700x64xbf16>, tensor<1x32x640xf32>, tensor<1x32x640xf32>, tensor<f32>) -> (tensor<1x32x640x64xbf16>, tensor<1x4x700x64xbf16>, tensor<1x4x700x64xbf16>)
    return %o, %0, %1, %2 : tensor<1x32x640x64xbf16>, tensor<1x32x640x64xbf16>, tensor<1x4x700x64xbf16>, tensor<1x4x700x64xbf16>
  }
  // The sums of both gradients of keys do not fit the registers of a thread: each has a stage.
  // PLAN: loom.attention
  // PLAN: slots = 0 : i64, stages = array<i64: 160>
  // PLAN: loom.attention_gradient
  // PLAN: stages = array<i64: 24, 24, 160>
  func.func @wide(%q: tensor<1x32x640x128xf16>, %k: tensor<1x4x700x128xf16>, %v: tensor<1x4x700x128xf16>, %g: tensor<1x32x640x128xf16>, %d: tensor<1x32x640xf32>) -> (tensor<1x32x640x128xf16>, tensor<1x32x640x128xf16>, tensor<1x4x700x128xf16>, tensor<1x4x700x128xf16>) {
    %s = loom.constant(0.125 : f32) : tensor<f32>
    %o, %lse = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x32x640x128xf16>, tensor<1x4x700x128xf16>, tensor<1x4x700x128xf16>, tensor<f32>) -> (tensor<1x32x640x128xf16>, tensor<1x32x640xf32>)
    %0, %1, %2 = loom.attention_gradient %g, %q, %k, %v, %lse, %d, %s causal = false : (tensor<1x32x640x128xf16>, tensor<1x32x640x128xf16>, tensor<1x4x700x128xf16>, tensor<1x4x700x128xf16>, tensor<1x32x640xf32>, tensor<1x32x640xf32>, tensor<f32>) -> (tensor<1x32x640x128xf16>, tensor<1x4x700x128xf16>, tensor<1x4x700x128xf16>)
    return %o, %0, %1, %2 : tensor<1x32x640x128xf16>, tensor<1x32x640x128xf16>, tensor<1x4x700x128xf16>, tensor<1x4x700x128xf16>
  }
  // One query a head: the keys have 16 parts, and four warps share each of their tiles. The second stage puts 64 parts together.
  // PLAN: loom.attention
  // PLAN: slots = 266240 : i64, stages = array<i64: 128, 4>
  func.func @text(%q: tensor<1x8x1x128xbf16>, %k: tensor<1x2x4096x128xbf16>, %v: tensor<1x2x4096x128xbf16>) -> (tensor<1x8x1x128xbf16>) {
    %s = loom.constant(0.125 : f32) : tensor<f32>
    %o, %lse = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x8x1x128xbf16>, tensor<1x2x4096x128xbf16>, tensor<1x2x4096x128xbf16>, tensor<f32>) -> (tensor<1x8x1x128xbf16>, tensor<1x8x1xf32>)
    return %o : tensor<1x8x1x128xbf16>
  }
  // Few blocks: the keys have 16 parts.
  // PLAN: loom.attention
  // PLAN: slots = 2162688 : i64, stages = array<i64: 64, 128>
  func.func @few(%q: tensor<1x2x256x64xbf16>, %k: tensor<1x2x4096x64xbf16>, %v: tensor<1x2x4096x64xbf16>) -> (tensor<1x2x256x64xbf16>) {
    %s = loom.constant(0.125 : f32) : tensor<f32>
    %o, %lse = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x2x256x64xbf16>, tensor<1x2x4096x64xbf16>, tensor<1x2x4096x64xbf16>, tensor<f32>) -> (tensor<1x2x256x64xbf16>, tensor<1x2x256xf32>)
    return %o : tensor<1x2x256x64xbf16>
  }
  // More columns than registers have place for: multiply-adds.
  // PLAN: loom.attention
  // PLAN: slots = 0 : i64, stages = array<i64: 16>
  func.func @beyond(%q: tensor<1x2x256x272xbf16>, %k: tensor<1x2x256x272xbf16>, %v: tensor<1x2x256x272xbf16>) -> (tensor<1x2x256x272xbf16>) {
    %s = loom.constant(0.125 : f32) : tensor<f32>
    %o, %lse = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x2x256x272xbf16>, tensor<1x2x256x272xbf16>, tensor<1x2x256x272xbf16>, tensor<f32>) -> (tensor<1x2x256x272xbf16>, tensor<1x2x256xf32>)
    return %o : tensor<1x2x256x272xbf16>
  }
}
//--- code.mlir
module attributes {loom.target = "nvptx", loom.matrix = "mma"} {
  // CODE-LABEL: func.func private @k0_s0_body(
  // The queries become fragments. Then keys and values are on their way.
  // CODE: call @loom_gpu_copy16(
  // CODE: call @loom_gpu_copy_wait_all()
  // CODE: call @loom_gpu_barrier(
  // CODE-COUNT-4: call @loom_gpu_ldmatrix(
  // CODE: call @loom_gpu_barrier(
  // CODE: call @loom_gpu_copy_commit()
  // CODE: call @loom_gpu_copy_commit()
  // CODE: scf.for {{.*}} iter_args(
  // Scores of 16 x 64 elements a warp: 4 cells by 4 steps, each of two products. No warp waits between.
  // CODE: call @loom_gpu_copy_wait_older()
  // CODE: call @loom_gpu_barrier(
  // CODE: call @loom_gpu_copy16(
  // CODE: call @loom_gpu_copy_commit()
  // CODE-COUNT-16: call @loom_gpu_ldmatrix(
  // CODE-NOT: call @loom_gpu_ldmatrix(
  // Only a tile on the diagonal looks at what is hidden.
  // CODE: scf.if
  // CODE-COUNT-32: arith.cmpi sgt
  // CODE: } else {
  // The largest score of two rows, each by two shuffles; then weights, of which no one goes to shared memory.
  // CODE-COUNT-4: call @loom_gpu_shuffle_xor(
  // CODE-COUNT-32: call @loom_gpu_exp2(
  // CODE-NOT: llvm.store
  // CODE: call @loom_gpu_copy_wait_older()
  // CODE: call @loom_gpu_barrier(
  // CODE: call @loom_gpu_copy16(
  // CODE: call @loom_gpu_copy_commit()
  // CODE-COUNT-4: call @loom_gpu_pack_bf16(
  // CODE-COUNT-4: call @loom_gpu_ldmatrix_turned(
  // CODE: scf.yield
  // CODE: passthrough = {{\[\[}}"loom-gpu-threads", "256"], ["loom-gpu-shared", "24576"], ["loom-gpu-blocks", "2"]]
  func.func @main(%q: tensor<1x2x256x64xbf16>, %k: tensor<1x2x256x64xbf16>, %v: tensor<1x2x256x64xbf16>) -> tensor<1x2x256x64xbf16> {
    %s = loom.constant(0.125 : f32) : tensor<f32>
    %o, %lse = loom.attention %q, %k, %v, %s causal = true empty = "zero" : (tensor<1x2x256x64xbf16>, tensor<1x2x256x64xbf16>, tensor<1x2x256x64xbf16>, tensor<f32>) -> (tensor<1x2x256x64xbf16>, tensor<1x2x256xf32>)
    return %o : tensor<1x2x256x64xbf16>
  }
}
//--- matrices.mlir
module attributes {loom.target = "amdgpu", loom.matrix = "mfma"} {
  // The own side is the right operand; a query's scores are four threads', which are 16 apart in a wave of 64.
  // WAVE-LABEL: func.func private @k0_s0_body(
  // WAVE-NOT: loom_gpu_copy
  // WAVE: call @loom_gpu_mfma_bf16(
  // WAVE: call @loom_gpu_shuffle_xor(
  // WAVE: call @loom_gpu_shuffle_wave_xor(
  // WAVE: call @loom_gpu_pack_bf16(
  // WAVE: call @loom_gpu_mfma_bf16(
  func.func @main(%q: tensor<1x2x256x64xbf16>, %k: tensor<1x2x256x64xbf16>, %v: tensor<1x2x256x64xbf16>) -> tensor<1x2x256x64xbf16> {
    %s = loom.constant(0.125 : f32) : tensor<f32>
    %o, %lse = loom.attention %q, %k, %v, %s causal = true empty = "zero" : (tensor<1x2x256x64xbf16>, tensor<1x2x256x64xbf16>, tensor<1x2x256x64xbf16>, tensor<f32>) -> (tensor<1x2x256x64xbf16>, tensor<1x2x256xf32>)
    return %o : tensor<1x2x256x64xbf16>
  }
}
//--- forward.mlir
module attributes {loom.target = "sim", loom.matrix = "mma", loom.check} {
  func.func @main(%q: tensor<1x1x128x16xbf16>, %k: tensor<1x1x256x16xbf16>, %v: tensor<1x1x256x16xbf16>) -> tensor<1x1x128x16xbf16> {
    %s = loom.constant(0.25 : f32) : tensor<f32>
    %o, %lse = loom.attention %q, %k, %v, %s causal = false empty = "nan" : (tensor<1x1x128x16xbf16>, tensor<1x1x256x16xbf16>, tensor<1x1x256x16xbf16>, tensor<f32>) -> (tensor<1x1x128x16xbf16>, tensor<1x1x128xf32>)
    return %o : tensor<1x1x128x16xbf16>
  }
}
//--- group.mlir
module attributes {loom.target = "sim", loom.matrix = "wgmma", loom.check} {
  func.func @main(%q: tensor<1x1x128x16xbf16>, %k: tensor<1x1x256x16xbf16>, %v: tensor<1x1x256x64xbf16>) -> tensor<1x1x128x64xbf16> {
    %s = loom.constant(0.25 : f32) : tensor<f32>
    %o, %lse = loom.attention %q, %k, %v, %s causal = false empty = "nan" : (tensor<1x1x128x16xbf16>, tensor<1x1x256x16xbf16>, tensor<1x1x256x64xbf16>, tensor<f32>) -> (tensor<1x1x128x64xbf16>, tensor<1x1x128xf32>)
    return %o : tensor<1x1x128x64xbf16>
  }
}
//--- gradient.mlir
module attributes {loom.target = "sim", loom.matrix = "mma", loom.check} {
  func.func @main(%q: tensor<1x2x192x16xbf16>, %k: tensor<1x1x128x16xbf16>, %v: tensor<1x1x128x16xbf16>, %g: tensor<1x2x192x16xbf16>, %l: tensor<1x2x192xf32>, %d: tensor<1x2x192xf32>) -> (tensor<1x1x128x16xbf16>, tensor<1x1x128x16xbf16>) {
    %s = loom.constant(0.25 : f32) : tensor<f32>
    %0, %1, %2 = loom.attention_gradient %g, %q, %k, %v, %l, %d, %s causal = false : (tensor<1x2x192x16xbf16>, tensor<1x2x192x16xbf16>, tensor<1x1x128x16xbf16>, tensor<1x1x128x16xbf16>, tensor<1x2x192xf32>, tensor<1x2x192xf32>, tensor<f32>) -> (tensor<1x2x192x16xbf16>, tensor<1x1x128x16xbf16>, tensor<1x1x128x16xbf16>)
    return %1, %2 : tensor<1x1x128x16xbf16>, tensor<1x1x128x16xbf16>
  }
}
//--- group-gradient.mlir
module attributes {loom.target = "sim", loom.matrix = "wgmma", loom.check} {
  func.func @main(%q: tensor<1x2x192x64xbf16>, %k: tensor<1x1x128x64xbf16>, %v: tensor<1x1x128x64xbf16>, %g: tensor<1x2x192x64xbf16>, %l: tensor<1x2x192xf32>, %d: tensor<1x2x192xf32>) -> (tensor<1x1x128x64xbf16>, tensor<1x1x128x64xbf16>) {
    %s = loom.constant(0.25 : f32) : tensor<f32>
    %0, %1, %2 = loom.attention_gradient %g, %q, %k, %v, %l, %d, %s causal = false : (tensor<1x2x192x64xbf16>, tensor<1x2x192x64xbf16>, tensor<1x1x128x64xbf16>, tensor<1x1x128x64xbf16>, tensor<1x2x192xf32>, tensor<1x2x192xf32>, tensor<f32>) -> (tensor<1x2x192x64xbf16>, tensor<1x1x128x64xbf16>, tensor<1x1x128x64xbf16>)
    return %1, %2 : tensor<1x1x128x64xbf16>, tensor<1x1x128x64xbf16>
  }
}
