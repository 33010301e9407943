// Attention on a GPU: how it is divided, its code, and that each of its barriers is needed.
// RUN: split-file %s %t
// RUN: %loom-opt --loom-plans %t/tiles.mlir | FileCheck %s --check-prefix=TILE
// RUN: %loom-opt --loom-lowered %t/causal.mlir | FileCheck %s --check-prefix=CODE
// RUN: %loom-opt --loom-lowered %t/full.mlir | FileCheck %s --check-prefix=FULL
// RUN: %loom-opt --loom-lowered %t/small.mlir > %t/small.lowered.mlir
// RUN: %loom-run --target=sim --seed=4 %t/small.lowered.mlir
// RUN: %python %S/inputs/without.py %t/small.lowered.mlir loom_gpu_barrier 1 > %t/1.mlir
// RUN: not %loom-run --target=sim --seed=4 %t/1.mlir 2>&1 | FileCheck %s --check-prefix=SLAB
// RUN: %python %S/inputs/without.py %t/small.lowered.mlir loom_gpu_barrier 2 > %t/2.mlir
// RUN: not %loom-run --target=sim --seed=4 %t/2.mlir 2>&1 | FileCheck %s --check-prefix=RACE
// RUN: %python %S/inputs/without.py %t/small.lowered.mlir loom_gpu_barrier 3 > %t/3.mlir
// RUN: not %loom-run --target=sim --seed=4 %t/3.mlir 2>&1 | FileCheck %s --check-prefix=SLAB
// RUN: %loom-opt --loom-lowered %t/heads.mlir > %t/heads.lowered.mlir
// RUN: %loom-run --target=sim --seed=4 %t/heads.lowered.mlir
// RUN: %python %S/inputs/without.py %t/heads.lowered.mlir loom_gpu_barrier 1 > %t/4.mlir
// RUN: not %loom-run --target=sim --seed=4 %t/4.mlir 2>&1 | FileCheck %s --check-prefix=RACE
// RUN: not %loom-opt --loom-plans %t/many.mlir 2>&1 | FileCheck %s --check-prefix=MANY
// RACE: a race
// SLAB: {{a race|reads shared memory that nobody has written}}

//--- tiles.mlir
module attributes {loom.target = "nvptx"} {
  // A block for each 64 queries of a head. The gradients: one for each 64 keys of a head of k, which all queries of its heads pass, and one for each 64 queries.
  // TILE: loom.attention
  // TILE: schedule = {kind = "attention"}, scratch = 0 : i64, slots = 0 : i64, stages = array<i64: 80>
  // TILE: loom.attention_gradient
  // TILE: schedule = {kind = "attention_gradient"}, scratch = 0 : i64, slots = 0 : i64, stages = array<i64: 44, 80>
  func.func @both(%q: tensor<2x4x640x64xf32>, %k: tensor<2x2x700x64xf32>, %v: tensor<2x2x700x64xf32>, %g: tensor<2x4x640x64xf32>, %d: tensor<2x4x640xf32>, %s: tensor<f32>) -> (tensor<2x4x640x64xf32>, tensor<2x4x640x64xf32>, tensor<2x2x700x64xf32>, tensor<2x2x700x64xf32>) {
    %o, %l = loom.attention %q, %k, %v, %s causal = false empty = "nan" : (tensor<2x4x640x64xf32>, tensor<2x2x700x64xf32>, tensor<2x2x700x64xf32>, tensor<f32>) -> (tensor<2x4x640x64xf32>, tensor<2x4x640xf32>)
    %0, %1, %2 = loom.attention_gradient %g, %q, %k, %v, %l, %d, %s causal = false : (tensor<2x4x640x64xf32>, tensor<2x4x640x64xf32>, tensor<2x2x700x64xf32>, tensor<2x2x700x64xf32>, tensor<2x4x640xf32>, tensor<2x4x640xf32>, tensor<f32>) -> (tensor<2x4x640x64xf32>, tensor<2x2x700x64xf32>, tensor<2x2x700x64xf32>)
    return %o, %0, %1, %2 : tensor<2x4x640x64xf32>, tensor<2x4x640x64xf32>, tensor<2x2x700x64xf32>, tensor<2x2x700x64xf32>
  }
  // Heads of 512 columns leave registers for two queries of a thread, so that a block has 32. Only the gradient of q is read: one stage.
  // TILE: loom.attention
  // TILE: stages = array<i64: 80>
  // TILE: loom.attention_gradient
  // TILE: stages = array<i64: 80>
  func.func @wide(%q: tensor<2x4x320x512xf32>, %g: tensor<2x4x320x512xf32>, %d: tensor<2x4x320xf32>, %s: tensor<f32>) -> (tensor<2x4x320x512xf32>, tensor<2x4x320x512xf32>) {
    %o, %l = loom.attention %q, %q, %q, %s causal = false empty = "nan" : (tensor<2x4x320x512xf32>, tensor<2x4x320x512xf32>, tensor<2x4x320x512xf32>, tensor<f32>) -> (tensor<2x4x320x512xf32>, tensor<2x4x320xf32>)
    %0, %1, %2 = loom.attention_gradient %g, %q, %q, %q, %l, %d, %s causal = false : (tensor<2x4x320x512xf32>, tensor<2x4x320x512xf32>, tensor<2x4x320x512xf32>, tensor<2x4x320x512xf32>, tensor<2x4x320xf32>, tensor<2x4x320xf32>, tensor<f32>) -> (tensor<2x4x320x512xf32>, tensor<2x4x320x512xf32>, tensor<2x4x320x512xf32>)
    return %o, %0 : tensor<2x4x320x512xf32>, tensor<2x4x320x512xf32>
  }
}
//--- causal.mlir
module attributes {loom.target = "nvptx"} {
  // The last tiles of queries, which see the most keys, come first. Tiles of keys up to the block's last query.
  // CODE-LABEL: func.func private @k0_s0_body(
  // CODE: call @loom_gpu_thread()
  // CODE: call @loom_gpu_shared()
  // CODE: %[[LAST:.*]] = arith.subi
  // CODE-NEXT: %[[AT:.*]] = arith.subi %[[LAST]],
  // CODE: %[[FIRST:.*]] = arith.muli %[[AT]],
  // CODE: %[[END:.*]] = arith.addi %[[FIRST]],
  // CODE: %[[HIGH:.*]] = arith.minsi %{{.*}}, %[[END]]
  // CODE: scf.for %{{.*}} = %{{.*}} to %[[HIGH]] {{.*}} iter_args(
  // The scores, in slabs: a slab is stored, the next one loaded, steps are multiplied. Their number is even, so that no barrier is before or behind them.
  // CODE-NOT: barrier
  // CODE: scf.for {{.*}} iter_args(
  // CODE: llvm.store {{.*}}alignment = 16
  // CODE: call @loom_gpu_barrier(
  // CODE: scf.if
  // CODE: llvm.intr.fma
  // CODE: scf.yield
  // CODE-NOT: barrier
  // The first slab of v is on its way while scores become weights: hidden ones are -inf, the largest one of a row by shuffles.
  // CODE: llvm.load
  // CODE: arith.cmpi sgt
  // CODE: arith.select
  // CODE: arith.cmpf ogt
  // CODE-COUNT-4: call @loom_gpu_shuffle_xor(
  // The weights go to shared memory; no barrier but those of the product.
  // CODE: llvm.store {{.*}}alignment = 16
  // CODE-NOT: barrier
  // CODE: scf.for {{.*}} iter_args(
  // CODE: call @loom_gpu_barrier(
  // CODE: llvm.intr.fma
  // The sum of the weights by shuffles.
  // CODE: call @loom_gpu_shuffle_xor(
  // CODE: arith.divf
  // CODE: passthrough = {{\[\[}}"loom-gpu-threads", "256"], ["loom-gpu-shared", "34816"]]
  func.func @main(%q: tensor<1x2x128x64xf32>, %k: tensor<1x2x128x64xf32>, %v: tensor<1x2x128x64xf32>, %s: tensor<f32>) -> tensor<1x2x128x64xf32> {
    %o, %lse = loom.attention %q, %k, %v, %s causal = true empty = "nan" : (tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>, tensor<f32>) -> (tensor<1x2x128x64xf32>, tensor<1x2x128xf32>)
    return %o : tensor<1x2x128x64xf32>
  }
}
//--- full.mlir
module attributes {loom.target = "nvptx"} {
  // All keys, and whole tiles: nothing is compared with a bound but the next slab's number, and nothing is hidden.
  // FULL-LABEL: func.func private @k0_s0_body(
  // FULL: scf.for
  // FULL-NOT: arith.cmpi sgt
  // FULL-NOT: arith.cmpi sge
  // FULL: call @loom_gpu_shuffle_xor(
  // FULL-LABEL: func.func @k0_s0
  func.func @main(%q: tensor<1x2x128x64xf32>, %k: tensor<1x2x128x64xf32>, %v: tensor<1x2x128x64xf32>, %s: tensor<f32>) -> tensor<1x2x128x64xf32> {
    %o, %lse = loom.attention %q, %k, %v, %s causal = false empty = "nan" : (tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>, tensor<f32>) -> (tensor<1x2x128x64xf32>, tensor<1x2x128xf32>)
    return %o : tensor<1x2x128x64xf32>
  }
}
//--- small.mlir
module attributes {loom.target = "sim", loom.check} {
  // One slab for the scores: the first one of the sums takes its place.
  func.func @main(%q: tensor<1x1x16x16xf32>, %k: tensor<1x1x70x16xf32>, %v: tensor<1x1x70x16xf32>) -> tensor<1x1x16x16xf32> {
    %s = loom.constant(0.25 : f32) : tensor<f32>
    %o, %lse = loom.attention %q, %k, %v, %s causal = false empty = "nan" : (tensor<1x1x16x16xf32>, tensor<1x1x70x16xf32>, tensor<1x1x70x16xf32>, tensor<f32>) -> (tensor<1x1x16x16xf32>, tensor<1x1x16xf32>)
    return %o : tensor<1x1x16x16xf32>
  }
}
//--- heads.mlir
module attributes {loom.target = "sim", loom.check} {
  // Two heads of q for the keys of a block, and one slab of queries for each: the second one's takes the place of the first one's.
  func.func @main(%q: tensor<1x2x16x16xf32>, %k: tensor<1x1x16x16xf32>, %v: tensor<1x1x16x16xf32>, %g: tensor<1x2x16x16xf32>, %l: tensor<1x2x16xf32>, %d: tensor<1x2x16xf32>) -> tensor<1x1x16x16xf32> {
    %s = loom.constant(0.25 : f32) : tensor<f32>
    %0, %1, %2 = loom.attention_gradient %g, %q, %k, %v, %l, %d, %s causal = false : (tensor<1x2x16x16xf32>, tensor<1x2x16x16xf32>, tensor<1x1x16x16xf32>, tensor<1x1x16x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32>, tensor<f32>) -> (tensor<1x2x16x16xf32>, tensor<1x1x16x16xf32>, tensor<1x1x16x16xf32>)
    return %2 : tensor<1x1x16x16xf32>
  }
}
//--- many.mlir
module attributes {loom.target = "nvptx"} {
  // MANY: cannot lower 'loom.attention': no or too many columns
  func.func @main(%q: tensor<1x1x16x513xf32>, %k: tensor<1x1x70x513xf32>, %v: tensor<1x1x70x16xf32>, %s: tensor<f32>) -> tensor<1x1x16x16xf32> {
    %o, %lse = loom.attention %q, %k, %v, %s causal = false empty = "nan" : (tensor<1x1x16x513xf32>, tensor<1x1x70x513xf32>, tensor<1x1x70x16xf32>, tensor<f32>) -> (tensor<1x1x16x16xf32>, tensor<1x1x16xf32>)
    return %o : tensor<1x1x16x16xf32>
  }
}
