// Products on a GPU: which tile a block has, its code, and that each of its barriers is needed.
// RUN: split-file %s %t
// RUN: %loom-opt --loom-plans %t/tiles.mlir | FileCheck %s --check-prefix=TILE
// RUN: %loom-opt --loom-lowered %t/one.mlir | FileCheck %s --check-prefix=CODE
// RUN: %loom-opt --loom-plans %t/deep.mlir | FileCheck %s --check-prefix=DEEP
// RUN: %loom-opt --loom-lowered %t/deep.mlir | FileCheck %s --check-prefix=CODE-DEEP
// RUN: %loom-opt --loom-lowered %t/sized.mlir | FileCheck %s --check-prefix=SIZED
// RUN: %loom-opt --loom-lowered %t/parts.mlir > %t/parts.lowered.mlir
// RUN: %loom-run --target=sim --order=1 %t/parts.lowered.mlir | FileCheck %s --check-prefix=RIGHT
// RUN: %python %S/inputs/without.py %t/parts.lowered.mlir loom_gpu_barrier 1 > %t/slab.mlir
// RUN: not %loom-run --target=sim --order=1 %t/slab.mlir 2>&1 | FileCheck %s --check-prefix=SLAB
// RUN: %python %S/inputs/without.py %t/parts.lowered.mlir loom_gpu_barrier 2 > %t/sums.mlir
// RUN: not %loom-run --target=sim --order=1 %t/sums.mlir 2>&1 | FileCheck %s --check-prefix=RACE
// RUN: %python %S/inputs/without.py %t/parts.lowered.mlir loom_gpu_barrier 3 > %t/read.mlir
// RUN: not %loom-run --target=sim --order=1 %t/read.mlir 2>&1 | FileCheck %s --check-prefix=READ
// RUN: %python %S/inputs/without.py %t/parts.lowered.mlir loom_gpu_barrier 4 > %t/again.mlir
// RUN: not %loom-run --target=sim --order=1 %t/again.mlir 2>&1 | FileCheck %s --check-prefix=RACE
// SLAB: reads shared memory that nobody has written
// RACE: a race
// READ: {{a race|reads shared memory that nobody has written}}

//--- tiles.mlir
module attributes {loom.target = "nvptx"} {
  // Rows, columns and steps of the depth; rows and columns of a thread; parts of the depth. 1024 tiles of 128 x 128 keep 128 multiprocessors busy.
  // TILE-LABEL: ^bb0({{.*}}tensor<4096x64xf32>
  // TILE: schedule = {kind = "dot", tile = array<i64: 128, 128, 16, 8, 8, 1>}
  // TILE-SAME: stages = array<i64: 1024>
  func.func @main(%a: tensor<4096x64xf32>, %b: tensor<64x4096xf32>) -> tensor<4096x4096xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<4096x64xf32>, tensor<64x4096xf32>) -> tensor<4096x4096xf32>
    return %0 : tensor<4096x4096xf32>
  }
  // Sums of f64 take twice the registers.
  // TILE-LABEL: ^bb0({{.*}}tensor<4096x64xf64>
  // TILE: schedule = {kind = "dot", tile = array<i64: 64, 64, 16, 4, 4, 1>}
  func.func @doubles(%a: tensor<4096x64xf64>, %b: tensor<64x4096xf64>) -> tensor<4096x4096xf64> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<4096x64xf64>, tensor<64x4096xf64>) -> tensor<4096x4096xf64>
    return %0 : tensor<4096x4096xf64>
  }
  // Few tiles: smaller ones.
  // TILE-LABEL: ^bb0({{.*}}tensor<1000x64xf32>
  // TILE: schedule = {kind = "dot", tile = array<i64: 64, 64, 16, 4, 4, 1>}
  // TILE-SAME: stages = array<i64: 256>
  func.func @middle(%a: tensor<1000x64xf32>, %b: tensor<64x1000xf32>) -> tensor<1000x1000xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<1000x64xf32>, tensor<64x1000xf32>) -> tensor<1000x1000xf32>
    return %0 : tensor<1000x1000xf32>
  }
  // Few rows.
  // TILE-LABEL: ^bb0({{.*}}tensor<5x64xf32>
  // TILE: schedule = {kind = "dot", tile = array<i64: 16, 128, 16, 2, 4, 1>}
  // TILE-SAME: stages = array<i64: 128>
  func.func @few(%a: tensor<5x64xf32>, %b: tensor<64x16384xf32>) -> tensor<5x16384xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<5x64xf32>, tensor<64x16384xf32>) -> tensor<5x16384xf32>
    return %0 : tensor<5x16384xf32>
  }
}
//--- deep.mlir
module attributes {loom.target = "nvptx"} {
  // Two tiles, and a depth for 64 parts of 4 slabs: 128 blocks, then a thread for each of 512 elements.
  // DEEP: schedule = {kind = "dot", tile = array<i64: 16, 16, 16, 1, 1, 64>}
  // DEEP-SAME: slots = 131072 : i64, stages = array<i64: 128, 2>
  // The parts go to slots; the second stage adds them up, from zero on, and stores their sum.
  // CODE-DEEP-LABEL: func.func private @k0_s0_body(
  // CODE-DEEP-COUNT-3: call @loom_gpu_barrier(
  // CODE-DEEP-LABEL: func.func private @k0_s1_body(
  // CODE-DEEP-NOT: barrier
  // CODE-DEEP: scf.for {{.*}} iter_args(
  // CODE-DEEP: llvm.load
  // CODE-DEEP: arith.addf
  // CODE-DEEP: arith.negf
  // CODE-DEEP: llvm.store
  func.func @main(%a: tensor<16x4096xf32>, %b: tensor<4096x32xf32>) -> tensor<16x32xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<16x4096xf32>, tensor<4096x32xf32>) -> tensor<16x32xf32>
    %1 = loom.neg %0 : tensor<16x32xf32>
    return %1 : tensor<16x32xf32>
  }
}
//--- one.mlir
module attributes {loom.target = "nvptx"} {
  // A slab of 16 steps and 16 rows is an element for each thread and operand, which the loop carries beside the sum.
  // CODE-LABEL: func.func private @k0_s0_body(
  // CODE: call @loom_gpu_thread() : () -> i32
  // CODE: call @loom_gpu_shared() : () -> !llvm.ptr
  // CODE-COUNT-2: llvm.load
  // CODE: scf.for {{.*}} iter_args({{.*}}) -> (f32, f32, f32)
  // CODE-COUNT-2: llvm.store
  // CODE: call @loom_gpu_barrier(
  // The next slab, if there is one.
  // CODE: scf.if %{{.*}} -> (f32, f32) {
  // CODE-COUNT-2: llvm.load
  // CODE: } else {
  // A step: an element of each operand from shared memory.
  // CODE: llvm.load %{{.*}} {alignment = 4 : i64}
  // CODE: llvm.load %{{.*}} {alignment = 4 : i64}
  // CODE: llvm.intr.fma
  // The sums, the epilogue.
  // CODE: call @loom_gpu_barrier(
  // CODE: llvm.store
  // CODE: call @loom_gpu_barrier(
  // CODE: scf.for
  // CODE: arith.maximumf
  // CODE: llvm.store
  // Two slabs of 16 x (16 + 4) and 16 x 16 floats.
  // CODE: passthrough = {{\[\[}}"loom-gpu-threads", "256"], ["loom-gpu-shared", "4608"]]
  func.func @main(%a: tensor<32x64xf32>, %b: tensor<64x32xf32>) -> tensor<32x32xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x64xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>
    %z = loom.constant(0.0 : f32) : tensor<32x32xf32>
    %1 = loom.max %0, %z : tensor<32x32xf32>
    return %1 : tensor<32x32xf32>
  }
}
//--- sized.mlir
#nk = affine_map<()[s0] -> (s0, 8)>
#kn = affine_map<()[s0] -> (8, s0)>
#nn = affine_map<()[s0] -> (s0, s0)>
module attributes {loom.target = "nvptx"} {
  // Symbolic sizes: the tile of likely ones. Rows and columns are compared with the sizes, and the number of blocks is computed for each call.
  // SIZED-LABEL: func.func private @k0_s0_body(
  // SIZED: %[[SIZE:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i64
  // SIZED: arith.minsi
  // SIZED: call @loom_gpu_barrier(
  // SIZED: llvm.intr.fma
  // SIZED: arith.cmpi slt, %{{.*}}, %[[SIZE]]
  // SIZED: loom.launch @k0 stage = 0 chunks = -{{[0-9]+}}(
  func.func @main(%a: tensor<?x8xf32, #nk>, %b: tensor<8x?xf32, #kn>) -> tensor<?x?xf32, #nn> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<?x8xf32, #nk>, tensor<8x?xf32, #kn>) -> tensor<?x?xf32, #nn>
    return %0 : tensor<?x?xf32, #nn>
  }
}
//--- parts.mlir
module attributes {loom.check, loom.processors = 1 : i64, loom.target = "sim"} {
  // A barrier in the loop, two for each half of a thread's rows.
  // RIGHT: main 0: float32[128x128]
  func.func @main(%a: tensor<128x48xf32>, %b: tensor<48x128xf32>) -> tensor<128x128xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<128x48xf32>, tensor<48x128xf32>) -> tensor<128x128xf32>
    return %0 : tensor<128x128xf32>
  }
}
