// Turned operands on a GPU: a block lays a tile of 32 x 32 into shared memory and reads it the other way.
// RUN: split-file %s %t
// RUN: %loom-opt --loom-plans %t/tiles.mlir | FileCheck %s --check-prefix=TILES
// RUN: %loom-opt --loom-lowered %t/one.mlir > %t/one.lowered.mlir
// RUN: FileCheck %s --check-prefix=CODE < %t/one.lowered.mlir
// RUN: %loom-run --target=sim --order=1 %t/one.lowered.mlir | FileCheck %s --check-prefix=RIGHT
// RUN: %python %S/inputs/without.py %t/one.lowered.mlir loom_gpu_barrier 1 > %t/none.mlir
// RUN: not %loom-run --target=sim --order=1 %t/none.mlir 2>&1 | FileCheck %s --check-prefix=FAULT

//--- tiles.mlir
module attributes {loom.target = "nvptx"} {
  // 4 * (4 x 2) tiles; nothing in scratch.
  // TILES-LABEL: ^bb0({{.*}}tensor<4x64x100xf32>
  // TILES: team = 256 : i64, {{.*}} scratch = 0 : i64, slots = 0 : i64, stages = array<i64: 32>
  func.func @main(%x: tensor<4x100x64xf32>) -> tensor<4x64x100xf32> {
    %0 = loom.transpose %x perm = [0, 2, 1] : (tensor<4x100x64xf32>) -> tensor<4x64x100xf32>
    return %0 : tensor<4x64x100xf32>
  }
  // A short side has no tiles.
  // TILES-LABEL: ^bb0({{.*}}tensor<8x100xf32>
  // TILES: stages = array<i64: 1>
  func.func @short(%x: tensor<100x8xf32>) -> tensor<8x100xf32> {
    %0 = loom.transpose %x perm = [1, 0] : (tensor<100x8xf32>) -> tensor<8x100xf32>
    return %0 : tensor<8x100xf32>
  }
}
//--- one.mlir
module attributes {loom.target = "sim", loom.check} {
  // Rows of the tile are 33 elements apart.
  // CODE-LABEL: func.func private @k0_s0_body(
  // CODE: call @loom_gpu_shared() : () -> !llvm.ptr
  // CODE: scf.for %{{.*}} step %c8_i64
  // CODE: scf.if
  // CODE: llvm.load %{{.*}} : !llvm.ptr -> f32
  // CODE: arith.muli %{{.*}}, %c33_i64
  // CODE: llvm.store %{{.*}} : f32, !llvm.ptr
  // CODE: call @loom_gpu_barrier(
  // CODE: scf.for %{{.*}} step %c8_i64
  // CODE: scf.if
  // CODE: arith.muli %{{.*}}, %c33_i64
  // CODE: llvm.load %{{.*}} : !llvm.ptr -> f32
  // CODE: llvm.store %{{.*}} : f32, !llvm.ptr
  // CODE-NOT: barrier
  // CODE: passthrough = {{\[\[}}"loom-gpu-threads", "256"], ["loom-gpu-shared", "4224"]]
  // RIGHT: main 0: float32[40x50] 0 40 80 120
  // FAULT: {{a race|reads shared memory that nobody has written}}
  func.func @main(%x: tensor<50x40xf32>) -> tensor<40x50xf32> {
    %0 = loom.transpose %x perm = [1, 0] : (tensor<50x40xf32>) -> tensor<40x50xf32>
    return %0 : tensor<40x50xf32>
  }
}
