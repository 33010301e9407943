// A loom.kernel as the lowering reads it: which values are buffers, which of them may be the same memory.
// RUN: not %loom-opt %s --loom-schedule --loom-lower --split-input-file 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=BAD --input-file=%t.err

// A result in the place of an operand is the same parameter; a scalar comes as 8 bytes of the launch, not as a buffer:
// of three values one pointer is left, besides those of the scalars and of scratch.
// CHECK-LABEL: func.func private @shared_s0_body
// CHECK-SAME: (%[[A:[a-z0-9]+]]: !llvm.ptr {llvm.noalias}, %[[SCALARS:[a-z0-9]+]]: !llvm.ptr {llvm.noalias}, %{{[a-z0-9]+}}: !llvm.ptr, %{{[a-z0-9]+}}: i64,
// CHECK: llvm.load %{{.*}} -> f32
// CHECK: %[[FROM:.*]] = llvm.getelementptr %[[A]]
// CHECK: llvm.load %[[FROM]]
// CHECK: %[[TO:.*]] = llvm.getelementptr %[[A]]
// CHECK: llvm.store %{{.*}}, %[[TO]]
loom.kernel @shared {
^bb0(%a: tensor<64xf32>, %s: tensor<f32>):
  %b = loom.broadcast %s dims = [] : (tensor<f32>) -> tensor<64xf32>
  %0 = loom.mul %a, %b : tensor<64xf32>
  loom.yield %0 : tensor<64xf32>
} {strides = [array<i64: 1>, array<i64>, array<i64: 1>], scalars = array<i64: 1>, inplace = array<i64: 0>}

// -----

// Where the caller may pass one buffer for both, neither is `noalias`; the other operand still is.
// CHECK-LABEL: func.func private @overlaps_s0_body
// CHECK-SAME: (%{{[a-z0-9]+}}: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr {llvm.noalias}, %{{[a-z0-9]+}}: !llvm.ptr,
loom.kernel @overlaps {
^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
  %0 = loom.mul %a, %b : tensor<64xf32>
  loom.yield %0 : tensor<64xf32>
} {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>, loom.overlaps = array<i64: 0>}

// -----

// An operand is the same as itself or as an earlier one.
// BAD: error: kernel operand 0 is no earlier one
// BAD-NEXT: loom.kernel @later
loom.kernel @later {
^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
  %0 = loom.mul %a, %b : tensor<64xf32>
  loom.yield %0 : tensor<64xf32>
} {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>, loom.same = array<i64: 1, 1>}

// -----

// What comes as bits cannot be overwritten.
// BAD: error: kernel result 0 overwrites no buffer
// BAD-NEXT: loom.kernel @scalar
loom.kernel @scalar {
^bb0(%a: tensor<f32>, %s: tensor<f32>):
  %0 = loom.mul %a, %s : tensor<f32>
  loom.yield %0 : tensor<f32>
} {strides = [array<i64>, array<i64>, array<i64>], scalars = array<i64: 1>, inplace = array<i64: 1>}

// -----

// Its bytes cannot be counted.
// BAD: error: 'loom.kernel' op operand or result 0 is no tensor of a loom element type
// BAD-NEXT: loom.kernel @large
loom.kernel @large {
^bb0(%a: tensor<4611686018427387904x4xf32>):
  %0 = loom.neg %a : tensor<4611686018427387904x4xf32>
  loom.yield %0 : tensor<4611686018427387904x4xf32>
} {strides = [array<i64: 4, 1>, array<i64: 4, 1>], scalars = array<i64>, inplace = array<i64: -1>}
