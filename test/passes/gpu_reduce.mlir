// The end of a reduction: shuffles within a warp, then shared memory.
// RUN: split-file %s %t
// RUN: %loom-opt --loom-lowered %t/warp.mlir | FileCheck %s --check-prefix=WARP
// RUN: %loom-opt --loom-lowered %t/within.mlir | FileCheck %s --check-prefix=WITHIN
// RUN: %loom-opt --loom-lowered %t/block.mlir | FileCheck %s --check-prefix=BLOCK
// RUN: %loom-opt --loom-lowered %t/twice.mlir > %t/twice.lowered.mlir
// RUN: %loom-run --target=sim %t/twice.lowered.mlir | FileCheck %s --check-prefix=RIGHT
// RUN: %python %S/inputs/without.py %t/twice.lowered.mlir loom_gpu_barrier 1 > %t/first.mlir
// RUN: not %loom-run --target=sim --order=1 %t/first.mlir 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: %python %S/inputs/without.py %t/twice.lowered.mlir loom_gpu_barrier 2 > %t/second.mlir
// RUN: not %loom-run --target=sim --order=1 %t/second.mlir 2>&1 | FileCheck %s --check-prefix=SECOND
// RUN: %loom-opt --loom-lowered %t/columns.mlir > %t/columns.lowered.mlir
// RUN: FileCheck %s --check-prefix=COLUMNS < %t/columns.lowered.mlir
// RUN: %loom-run --target=sim %t/columns.lowered.mlir | FileCheck %s --check-prefix=TALL
// RUN: %python %S/inputs/without.py %t/columns.lowered.mlir loom_gpu_barrier 1 > %t/columns.first.mlir
// RUN: not %loom-run --target=sim --order=1 %t/columns.first.mlir 2>&1 | FileCheck %s --check-prefix=FIRST

//--- warp.mlir
module attributes {loom.target = "nvptx"} {
  // 64 bits go as two halves. No barrier: the team is a warp.
  // WARP-LABEL: func.func private @k0_s0_body(
  // WARP: %[[MASK:.*]] = arith.constant 16 : i32
  // WARP: call @loom_gpu_shuffle_xor(%{{.*}}, %{{.*}}, %{{.*}}) : (i32, i32, i32) -> i32
  // WARP: call @loom_gpu_shuffle_xor(
  // WARP: arith.addf
  // WARP-NOT: barrier
  // WARP: passthrough = {{\[\[}}"loom-gpu-threads", "256"]]
  func.func @main(%x: tensor<16x255xf64>) -> tensor<16xf64> {
    %0 = loom.reduce "sum" %x axes = [1] : (tensor<16x255xf64>) -> tensor<16xf64>
    return %0 : tensor<16xf64>
  }
}
//--- within.mlir
module attributes {loom.target = "nvptx"} {
  // One result, which depends on no loop: its vectors are read where the buffer begins at a multiple of their size.
  // WITHIN-LABEL: func.func private @k0_s0_body(
  // WITHIN-NOT: alignment = 16
  // WITHIN: %[[ALIGNED:.*]] = arith.cmpi eq
  // WITHIN-NOT: alignment = 16
  // WITHIN: scf.if %[[ALIGNED]]
  // WITHIN: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xi16>
  // WITHIN: scf.if
  // WITHIN-NOT: alignment = 16
  // WITHIN: passthrough = {{\[\[}}"loom-gpu-threads", "256"]]
  func.func @main(%x: tensor<30xi16>) -> tensor<i16> {
    %0 = loom.reduce "max" %x axes = [0] : (tensor<30xi16>) -> tensor<i16>
    return %0 : tensor<i16>
  }
}
//--- block.mlir
module attributes {loom.target = "nvptx"} {
  // The first of each warp writes a value and an index; barrier; all read those of eight warps; barrier.
  // BLOCK-LABEL: func.func private @k0_s0_body(
  // BLOCK: call @loom_gpu_shuffle_xor(
  // BLOCK: call @loom_gpu_shared() : () -> !llvm.ptr
  // BLOCK: scf.if
  // BLOCK: llvm.store %{{.*}} : f32, !llvm.ptr
  // BLOCK: llvm.store %{{.*}} : i32, !llvm.ptr
  // BLOCK: call @loom_gpu_barrier(
  // BLOCK-COUNT-16: llvm.load
  // BLOCK: call @loom_gpu_barrier(
  // BLOCK: passthrough = {{\[\[}}"loom-gpu-threads", "256"], ["loom-gpu-shared", "128"]]
  func.func @main(%x: tensor<3x2001xf32>) -> tensor<3xi64> {
    %0 = loom.reduce "argmax" %x axes = [1] : (tensor<3x2001xf32>) -> tensor<3xi64>
    return %0 : tensor<3xi64>
  }
}
//--- twice.mlir
module attributes {loom.target = "sim", loom.check} {
  // Each barrier is needed: without the first of a reduction its values are read too early, without the second those of the next
  // one come too early.
  // RIGHT: main 0: float32[2] 2001 2001
  // FIRST: in kernel k0_s0, {{.*}}: {{.*}}{{reads shared memory that nobody has written|a race: }}
  // SECOND: in kernel k0_s0, {{.*}}: a race: thread
  func.func @main(%x: tensor<2x2001xf32>) -> tensor<2xf32> {
    %m = loom.reduce "max" %x axes = [1] : (tensor<2x2001xf32>) -> tensor<2xf32>
    %b = loom.broadcast %m dims = [0] : (tensor<2xf32>) -> tensor<2x2001xf32>
    %d = loom.sub %x, %b : tensor<2x2001xf32>
    %z = loom.sub %d, %d : tensor<2x2001xf32>
    %e = loom.exp %z : tensor<2x2001xf32>
    %s = loom.reduce "sum" %e axes = [1] : (tensor<2x2001xf32>) -> tensor<2xf32>
    return %s : tensor<2xf32>
  }
}
//--- columns.mlir
module attributes {loom.target = "sim", loom.check} {
  // Eight columns are two vectors of 4: a team has two threads, and 128 teams take every 128th row each. Four shuffles by 16, 8, 4
  // and 2 for each element, then the first team of each warp writes its columns to shared memory.
  // COLUMNS-LABEL: func.func private @k0_s0_body(
  // COLUMNS: scf.for %{{.*}} step %c128_i64
  // COLUMNS: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
  // COLUMNS-COUNT-16: call @loom_gpu_shuffle_xor(
  // COLUMNS-NOT: shuffle
  // COLUMNS: call @loom_gpu_shared() : () -> !llvm.ptr
  // COLUMNS: scf.if
  // COLUMNS-COUNT-4: llvm.store %{{.*}} : f32, !llvm.ptr
  // COLUMNS: call @loom_gpu_barrier(
  // COLUMNS-COUNT-32: llvm.load
  // COLUMNS: call @loom_gpu_barrier(
  // COLUMNS: passthrough = {{\[\[}}"loom-gpu-threads", "256"], ["loom-gpu-shared", "256"]]
  // TALL: main 0: float32[8]
  func.func @main(%x: tensor<500x8xf32>) -> tensor<8xf32> {
    %s = loom.reduce "sum" %x axes = [0] : (tensor<500x8xf32>) -> tensor<8xf32>
    return %s : tensor<8xf32>
  }
}
