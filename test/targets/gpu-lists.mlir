// Kernels get their lists by value: as many words as they read, at least one. More than a launch takes are refused, and so is a place
// in a list that only the kernel knows.
// RUN: %loom-compile --target=nvptx --emit=asm %s | FileCheck %s --check-prefix=PTX
// RUN: %loom-compile --target=nvptx --emit=llvm %s | FileCheck %s --check-prefix=NVPTX
// RUN: %loom-compile --target=amdgpu --emit=llvm %s | FileCheck %s --check-prefix=AMDGPU
// RUN: sed 's/constant 5 /constant 509 /' %s | not %loom-compile --target=nvptx --emit=asm - 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: sed 's/constant 5 /constant 506 /' %s | not %loom-compile --target=amdgpu - 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: sed 's/constant 5 /constant 505 /' %s | %loom-compile --target=amdgpu - -o /dev/null
// RUN: sed 's/buffers.%word./buffers[%%begin]/' %s | not %loom-compile --target=nvptx --emit=asm - 2>&1 | FileCheck %s --check-prefix=PLACE
// RUN: sed 's/constant 5 /constant -1 /' %s | not %loom-compile --target=nvptx --emit=asm - 2>&1 | FileCheck %s --check-prefix=PLACE
// MANY: a kernel has more arguments than a launch takes
// PLACE: a kernel's arguments are not known

// PTX: .entry {{.*}}turn_s0(
// PTX-NEXT: .param .align 8 .b8 {{.*}}turn_s0_param_0[48]
// PTX-NEXT: .param .align 8 .b8 {{.*}}turn_s0_param_1[24]
// PTX-NEXT: .param .u64 {{.*}}turn_s0_param_2
// PTX-NEXT: .param .u64 {{.*}}turn_s0_param_3
// PTX-NEXT: .param .u64 .ptr
// PTX-NEXT: )
// PTX-NOT: ld.global.b64
// PTX-DAG: ld.global.b32
// PTX-DAG: st.global.b32
// PTX-NOT: .local
// NVPTX: define ptx_kernel void @{{.*}}turn_s0(ptr {{.*}}byval([6 x i64]) align 8 {{.*}}, ptr {{.*}}byval([3 x i64]) align 8 {{.*}}, i64 {{.*}}, i64 {{.*}}, ptr
// AMDGPU: define amdgpu_kernel void @{{.*}}turn_s0(ptr addrspace(4) {{.*}}byref([6 x i64]) align 8 {{.*}}, ptr addrspace(4) {{.*}}byref([3 x i64]) align 8
module {
  func.func @turn_s0(%buffers: !llvm.ptr, %params: !llvm.ptr, %scratch: !llvm.ptr, %begin: i64, %end: i64) -> i32 attributes {passthrough = [["loom-gpu-threads", "64"]]} {
    %zero = arith.constant 0 : i32
    %word = arith.constant 5 : i64
    %place = llvm.getelementptr %buffers[%word] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %from = llvm.load %place : !llvm.ptr -> !llvm.ptr
    %to = llvm.load %buffers : !llvm.ptr -> !llvm.ptr
    func.call @turn_s0_body(%from, %to, %params, %begin) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
    return %zero : i32
  }
  func.func private @turn_s0_body(%from: !llvm.ptr, %to: !llvm.ptr, %params: !llvm.ptr, %begin: i64) attributes {passthrough = ["alwaysinline"], llvm.linkage = #llvm.linkage<internal>} {
    %word = arith.constant 2 : i64
    %place = llvm.getelementptr %params[%word] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %by = llvm.load %place : !llvm.ptr -> f32
    %there = llvm.getelementptr %from[%begin] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %value = llvm.load %there {alignment = 4 : i64} : !llvm.ptr -> f32
    %sum = arith.addf %value, %by : f32
    %here = llvm.getelementptr %to[%begin] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %sum, %here {alignment = 4 : i64} : f32, !llvm.ptr
    return
  }
  loom.plan @main {
  ^bb0(%arg0: memref<64xf32>, %arg1: memref<64xf32>):
    loom.launch @turn stage = 0 chunks = 1(%arg0, %arg1) scalars() {fp = 15 : i64, scratch = 0 : i64} : (memref<64xf32>, memref<64xf32>) -> ()
  } {arena = 0 : i64, consts = array<i64>, inputs = 1 : i64}
}
