// Products on a GPU by instructions on matrices: which tile a block has, its code, and that each of its waits is needed.
// RUN: split-file %s %t
// RUN: %loom-opt --loom-plans %t/tiles.mlir | FileCheck %s --check-prefix=TILE
// RUN: %loom-opt --loom-lowered %t/one.mlir | FileCheck %s --check-prefix=CODE
// RUN: %loom-opt --loom-lowered %t/amd.mlir | FileCheck %s --check-prefix=AMD
// RUN: %loom-opt --loom-lowered %t/parts.mlir > %t/parts.lowered.mlir
// RUN: %loom-run --target=sim --order=1 %t/parts.lowered.mlir | FileCheck %s --check-prefix=RIGHT
// RUN: %python %S/inputs/without.py %t/parts.lowered.mlir loom_gpu_barrier 1 > %t/slab.mlir
// RUN: not %loom-run --target=sim --order=1 %t/slab.mlir 2>&1 | FileCheck %s --check-prefix=READ
// RUN: %python %S/inputs/without.py %t/parts.lowered.mlir loom_gpu_barrier 2 > %t/sums.mlir
// RUN: not %loom-run --target=sim --order=1 %t/sums.mlir 2>&1 | FileCheck %s --check-prefix=RACE
// RUN: %python %S/inputs/without.py %t/parts.lowered.mlir loom_gpu_barrier 3 > %t/read.mlir
// RUN: not %loom-run --target=sim --order=1 %t/read.mlir 2>&1 | FileCheck %s --check-prefix=RACE
// RUN: %python %S/inputs/without.py %t/parts.lowered.mlir loom_gpu_barrier 4 > %t/again.mlir
// RUN: not %loom-run --target=sim --order=1 %t/again.mlir 2>&1 | FileCheck %s --check-prefix=RACE
// A wait for copies, and each place where copies become a group.
// RUN: %python %S/inputs/without.py %t/parts.lowered.mlir loom_gpu_copy_wait_older 1 > %t/wait.mlir
// RUN: not %loom-run --target=sim --order=1 %t/wait.mlir 2>&1 | FileCheck %s --check-prefix=READ
// RUN: %python %S/inputs/without.py %t/parts.lowered.mlir loom_gpu_copy_commit 1 > %t/first.mlir
// RUN: not %loom-run --target=sim --order=1 %t/first.mlir 2>&1 | FileCheck %s --check-prefix=READ
// RUN: %python %S/inputs/without.py %t/parts.lowered.mlir loom_gpu_copy_commit 2 > %t/second.mlir
// RUN: not %loom-run --target=sim --order=1 %t/second.mlir 2>&1 | FileCheck %s --check-prefix=READ
// RUN: %python %S/inputs/without.py %t/parts.lowered.mlir loom_gpu_copy_commit 3 > %t/third.mlir
// RUN: not %loom-run --target=sim --order=1 %t/third.mlir 2>&1 | FileCheck %s --check-prefix=READ
// RACE: a race
// READ: reads shared memory that nobody has written

//--- tiles.mlir
module attributes {loom.matrix = "mma", loom.target = "nvptx"} {
  // Rows, columns and steps of the depth; rows and columns of a warp; parts of the depth.
  // TILE-LABEL: ^bb0({{.*}}tensor<4096x64xbf16>
  // TILE: schedule = {kind = "dot", matrix = "mma_bf16", tile = array<i64: 128, 128, 32, 64, 32, 1>}
  // TILE-SAME: stages = array<i64: 1024>
  func.func @main(%a: tensor<4096x64xbf16>, %b: tensor<64x4096xbf16>) -> tensor<4096x4096xbf16> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<4096x64xbf16>, tensor<64x4096xbf16>) -> tensor<4096x4096xbf16>
    return %0 : tensor<4096x4096xbf16>
  }
  // Sums of f64 take twice the registers, and operands four times the memory.
  // TILE-LABEL: ^bb0({{.*}}tensor<4096x64xf64>
  // TILE: schedule = {kind = "dot", matrix = "mma_f64", tile = array<i64: 128, 64, 16, 32, 32, 1>}
  func.func @doubles(%a: tensor<4096x64xf64>, %b: tensor<64x4096xf64>) -> tensor<4096x4096xf64> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<4096x64xf64>, tensor<64x4096xf64>) -> tensor<4096x4096xf64>
    return %0 : tensor<4096x4096xf64>
  }
  // f32 is multiplied as f32: there is no instruction for it.
  // TILE-LABEL: ^bb0({{.*}}tensor<4096x64xf32>
  // TILE: schedule = {kind = "dot", tile = array<i64: 128, 128, 16, 8, 8, 1>}
  func.func @single(%a: tensor<4096x64xf32>, %b: tensor<64x4096xf32>) -> tensor<4096x4096xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<4096x64xf32>, tensor<64x4096xf32>) -> tensor<4096x4096xf32>
    return %0 : tensor<4096x4096xf32>
  }
  // Few rows; few of everything and a great depth.
  // TILE-LABEL: ^bb0({{.*}}tensor<5x64xf16>
  // TILE: schedule = {kind = "dot", matrix = "mma_f16", tile = array<i64: 16, 128, 32, 16, 16, 1>}
  func.func @few(%a: tensor<5x64xf16>, %b: tensor<64x16384xf16>) -> tensor<5x16384xf16> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<5x64xf16>, tensor<64x16384xf16>) -> tensor<5x16384xf16>
    return %0 : tensor<5x16384xf16>
  }
  // TILE-LABEL: ^bb0({{.*}}tensor<32x8192xf16>
  // TILE: schedule = {kind = "dot", matrix = "mma_f16", tile = array<i64: 32, 64, 32, 16, 16, 64>}
  // TILE-SAME: stages = array<i64: 64, 8>
  func.func @deep(%a: tensor<32x8192xf16>, %b: tensor<8192x64xf16>) -> tensor<32x64xf16> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x8192xf16>, tensor<8192x64xf16>) -> tensor<32x64xf16>
    return %0 : tensor<32x64xf16>
  }
}
//--- one.mlir
module attributes {loom.matrix = "mma", loom.target = "nvptx"} {
  // A warp of 16 x 16: two products for each 16 steps of the depth. Two slabs are on their way before the loop.
  // CODE-LABEL: func.func private @k0_s0_body(
  // CODE: call @loom_gpu_thread() : () -> i32
  // CODE: call @loom_gpu_shared() : () -> !llvm.ptr
  // CODE: call @loom_gpu_copy16(
  // CODE: call @loom_gpu_copy_commit()
  // CODE: call @loom_gpu_copy16(
  // CODE: call @loom_gpu_copy_commit()
  // CODE: scf.for {{.*}} iter_args({{.*}}) -> (f32, f32, f32, f32, f32, f32, f32, f32, i64, i64, i64)
  // CODE: call @loom_gpu_copy_wait_older()
  // CODE: call @loom_gpu_barrier(
  // CODE: call @loom_gpu_copy16(
  // Where an operand does not begin at a multiple of 16 bytes:
  // CODE-COUNT-8: llvm.load
  // CODE: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xi16>
  // CODE: call @loom_gpu_copy_commit()
  // The left operand lies along the depth, the right one across it.
  // CODE: call @loom_gpu_ldmatrix(
  // CODE: call @loom_gpu_ldmatrix_turned(
  // CODE-COUNT-2: call @loom_gpu_mma_bf16(
  // CODE: call @loom_gpu_ldmatrix(
  // CODE: call @loom_gpu_ldmatrix_turned(
  // CODE-COUNT-2: call @loom_gpu_mma_bf16(
  // CODE: scf.yield
  // The sums, the epilogue: four elements at once.
  // CODE: call @loom_gpu_barrier(
  // CODE-COUNT-4: llvm.store {{.*}} {alignment = 8 : i64} : vector<2xf32>
  // CODE: call @loom_gpu_barrier(
  // CODE: scf.for
  // CODE: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
  // CODE: arith.maximumf
  // CODE: llvm.store {{.*}} {alignment = 8 : i64} : vector<4xi16>
  // Three slabs of 32 x 32 and 32 x 64 halves.
  // CODE: passthrough = {{\[\[}}"loom-gpu-threads", "256"], ["loom-gpu-shared", "18432"], ["loom-gpu-blocks", "2"]]
  func.func @main(%a: tensor<32x256xbf16>, %b: tensor<256x64xbf16>) -> tensor<32x64xbf16> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x256xbf16>, tensor<256x64xbf16>) -> tensor<32x64xbf16>
    %z = loom.constant(0.0 : bf16) : tensor<32x64xbf16>
    %1 = loom.max %0, %z : tensor<32x64xbf16>
    return %1 : tensor<32x64xbf16>
  }
}
//--- amd.mlir
module attributes {loom.matrix = "mfma", loom.target = "amdgpu"} {
  // No copies without registers: the next slab is loaded before the products, and stored behind them.
  // AMD-LABEL: func.func private @k0_s0_body(
  // AMD-NOT: copy
  // AMD: scf.for
  // AMD: call @loom_gpu_barrier(
  // AMD: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<8xi16>
  // 8 steps for each thread, of which two instructions take 4 each.
  // AMD: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xi32>
  // AMD: call @loom_gpu_mfma_bf16(
  // AMD: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xi16>
  // AMD: scf.yield
  // AMD-LABEL: func.func private @k1_s0_body(
  // AMD: call @loom_gpu_mfma_f64(
  func.func @main(%a: tensor<64x64xbf16>, %b: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [1] : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    return %0 : tensor<64x64xbf16>
  }
  func.func @doubles(%a: tensor<64x64xf64>, %b: tensor<64x64xf64>) -> tensor<64x64xf64> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
    return %0 : tensor<64x64xf64>
  }
}
//--- parts.mlir
module attributes {loom.check, loom.matrix = "mma", loom.processors = 1 : i64, loom.target = "sim"} {
  // A barrier in the loop, two for each half of the rows.
  // RIGHT: main 0: bfloat16[128x128]
  func.func @main(%a: tensor<128x128xbf16>, %b: tensor<128x128xbf16>) -> tensor<128x128xbf16> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [1] : (tensor<128x128xbf16>, tensor<128x128xbf16>) -> tensor<128x128xbf16>
    return %0 : tensor<128x128xbf16>
  }
}
