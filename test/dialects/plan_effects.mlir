// Memory effects of a plan's instructions: generic passes drop a buffer that nothing uses and merge equal ones, and leave what
// writes to memory as it is and where it is.
// RUN: %loom-opt %s --cse --canonicalize --remove-dead-values | FileCheck %s

// CHECK: loom.plan @main
// CHECK: %[[A:.*]] = loom.buffer offset = 0 : memref<4xf32>
// CHECK-NOT: loom.buffer
// CHECK: loom.launch @k stage = 0 chunks = 1(%{{.*}}, %[[A]])
// CHECK-NEXT: loom.launch @k stage = 0 chunks = 1(%{{.*}}, %[[A]])
// CHECK-NEXT: loom.copy_buffer %[[A]] to
// CHECK-NEXT: loom.trim_arena
// CHECK-NEXT: loom.copy_buffer %[[A]] to
// CHECK-NEXT: loom.call_host
loom.kernel @k {
^bb0(%a: tensor<4xf32>):
  %0 = loom.neg %a : tensor<4xf32>
  loom.yield %0 : tensor<4xf32>
} {fp = 0 : i64, inplace = array<i64: -1>, scalars = array<i64>, strides = [array<i64: 1>, array<i64: 1>], stages = array<i64: 1>, scratch = 0 : i64, slots = 0 : i64}
loom.plan @main {
^bb0(%a: memref<4xf32>, %r: memref<4xf32>):
  %unused = loom.buffer offset = 64 : memref<4xf32>
  %0 = loom.buffer offset = 0 : memref<4xf32>
  loom.launch @k stage = 0 chunks = 1(%a, %0) scalars() {fp = 0 : i64, scratch = 0 : i64} : (memref<4xf32>, memref<4xf32>) -> ()
  %1 = loom.buffer offset = 0 : memref<4xf32>
  loom.launch @k stage = 0 chunks = 1(%a, %1) scalars() {fp = 0 : i64, scratch = 0 : i64} : (memref<4xf32>, memref<4xf32>) -> ()
  loom.copy_buffer %0 to %r : memref<4xf32>, memref<4xf32>
  loom.trim_arena offset = 64 bytes = 4096
  loom.copy_buffer %0 to %r : memref<4xf32>, memref<4xf32>
  loom.call_host "f" slot = 0 reads = 1(%0, %r) : (memref<4xf32>, memref<4xf32>) -> ()
} {arena = 8192 : i64, consts = array<i64>, inputs = 1 : i64}
