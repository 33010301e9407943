// A block of 64 threads turns 64 floats round through shared memory. sim.test spoils it line by line.
module {
  func.func @turn_s0(%buffers: !llvm.ptr, %params: !llvm.ptr, %scratch: !llvm.ptr, %begin: i64, %end: i64) -> i32 attributes {passthrough = [["loom-gpu-threads", "64"], ["loom-gpu-shared", "256"]]} {
    %from = llvm.load %buffers : !llvm.ptr -> !llvm.ptr
    %c1 = arith.constant 1 : i64
    %second = llvm.getelementptr %buffers[%c1] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %to = llvm.load %second : !llvm.ptr -> !llvm.ptr
    %thread = func.call @loom_gpu_thread() : () -> i32
    %me = arith.extui %thread : i32 to i64
    %last = arith.constant 63 : i64
    %other = arith.xori %me, %last : i64
    %shared = func.call @loom_gpu_shared() : () -> !llvm.ptr
    %in = llvm.getelementptr %from[%me] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %in {alignment = 4 : i64} : !llvm.ptr -> f32
    %mine = llvm.getelementptr %shared[%me] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %x, %mine {alignment = 4 : i64} : f32, !llvm.ptr
    %site = arith.constant 7 : i32
    func.call @loom_gpu_barrier(%site) : (i32) -> ()
    %theirs = llvm.getelementptr %shared[%other] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %y = llvm.load %theirs {alignment = 4 : i64} : !llvm.ptr -> f32
    %out = llvm.getelementptr %to[%me] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %y, %out {alignment = 4 : i64} : f32, !llvm.ptr
    // again: llvm.store %y, %mine {alignment = 4 : i64} : f32, !llvm.ptr
    %zero = arith.constant 0 : i32
    return %zero : i32
  }
  func.func private @loom_gpu_thread() -> i32
  func.func private @loom_gpu_shared() -> !llvm.ptr
  func.func private @loom_gpu_barrier(i32)
  func.func private @loom_gpu_shuffle_xor(i32, i32, i32) -> i32
  loom.plan @main {
  ^bb0(%arg0: memref<64xf32>, %arg1: memref<64xf32>):
    loom.launch @turn stage = 0 chunks = 1(%arg0, %arg1) scalars() {fp = 15 : i64, scratch = 0 : i64} : (memref<64xf32>, memref<64xf32>) -> ()
  } {arena = 0 : i64, consts = array<i64>, inputs = 1 : i64, loom.extents = array<i64: 0, 256, 0, 256>}
}
