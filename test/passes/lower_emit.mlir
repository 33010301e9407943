// Values on demand: each is made once for an index, in the outermost scope that knows all it needs.
// RUN: %loom-opt %s --loom-schedule --loom-lower --split-input-file | FileCheck %s

// What depends on no index is made outside of all loops, what depends on the row outside of the lane loop.
// CHECK-LABEL: func.func private @scopes_s0_body
// CHECK: %[[Q:.*]] = llvm.intr.sqrt(%{{.*}}) : (f32) -> f32
// CHECK: %[[QS:.*]] = vector.broadcast %[[Q]]
// CHECK: scf.for
// CHECK: %[[E:.*]] = llvm.intr.sqrt(%{{.*}}) : (f32) -> f32
// CHECK: %[[ES:.*]] = vector.broadcast %[[E]]
// CHECK: scf.for
// CHECK-NOT: sqrt
// CHECK: %[[X:.*]] = arith.mulf %{{.*}}, %[[ES]]
// CHECK: %[[Y:.*]] = arith.mulf %[[X]], %[[QS]]
// CHECK: arith.addf %[[Y]], %[[X]]
// CHECK-NOT: sqrt
// CHECK-LABEL: func.func @scopes_s0(
loom.kernel @scopes {
^bb0(%a: tensor<64x256xf32>, %c: tensor<64xf32>, %s: tensor<f32>):
  %e = loom.sqrt %c : tensor<64xf32>
  %q = loom.sqrt %s : tensor<f32>
  %eb = loom.broadcast %e dims = [0] : (tensor<64xf32>) -> tensor<64x256xf32>
  %qb = loom.broadcast %q dims = [] : (tensor<f32>) -> tensor<64x256xf32>
  %0 = loom.mul %a, %eb : tensor<64x256xf32>
  %1 = loom.mul %0, %qb : tensor<64x256xf32>
  %2 = loom.add %1, %0 : tensor<64x256xf32>
  loom.yield %2 : tensor<64x256xf32>
} {strides = [array<i64: 256, 1>, array<i64: 1>, array<i64>, array<i64: 256, 1>], scalars = array<i64: 2>, inplace = array<i64: -1>}

// -----

// A value read at two indices is made at each; at the same index a second reader gets what was made.
// CHECK-LABEL: func.func private @twice_s0_body
// CHECK: %[[A:.*]] = llvm.intr.sqrt
// CHECK: vector.shuffle {{.*}} [15, 14, 13,
// CHECK: %[[B:.*]] = llvm.intr.sqrt
// CHECK: %[[S:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NOT: sqrt
// CHECK: arith.addf %[[S]], %[[A]]
// CHECK-LABEL: func.func @twice_s0(
loom.kernel @twice {
^bb0(%a: tensor<64xf32>):
  %e = loom.sqrt %a : tensor<64xf32>
  %f = loom.slice %e starts = [63] sizes = [64] steps = [-1] : (tensor<64xf32>) -> tensor<64xf32>
  %0 = loom.add %e, %f : tensor<64xf32>
  %1 = loom.add %0, %e : tensor<64xf32>
  loom.yield %1 : tensor<64xf32>
} {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// An operation of constants that raises an exception is hidden from LLVM, which would fold it; one that raises none is
// not.
// CHECK-LABEL: func.func private @constants_s0_body
// CHECK: %[[HIDDEN:.*]] = llvm.freeze
// CHECK: arith.divf %[[HIDDEN]],
// CHECK-NOT: llvm.freeze
// CHECK: arith.negf
// CHECK-LABEL: func.func @constants_s0(
loom.kernel @constants {
^bb0(%a: tensor<64xf32>):
  %x = loom.constant(1.0 : f32) : tensor<64xf32>
  %y = loom.constant(0.0 : f32) : tensor<64xf32>
  %q = loom.div %x, %y : tensor<64xf32>
  %n = loom.neg %x : tensor<64xf32>
  %0 = loom.add %a, %q : tensor<64xf32>
  %1 = loom.mul %0, %n : tensor<64xf32>
  loom.yield %1 : tensor<64xf32>
} {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// A comparison with NaN is known, but not the flags of what is compared: a scalar NaN is hidden from folding.
// CHECK-LABEL: func.func private @compared_s0_body
// CHECK: %[[VALUE:.*]] = arith.divf
// CHECK: %[[NAN:.*]] = llvm.freeze {{.*}} : f32
// CHECK: arith.cmpf ogt, %[[VALUE]], %[[NAN]]
// CHECK-LABEL: func.func @compared_s0(
loom.kernel @compared {
^bb0(%a: tensor<1xf32>):
  %nan = loom.constant(0x7FC00000 : f32) : tensor<1xf32>
  %0 = loom.div %a, %a : tensor<1xf32>
  %1 = loom.compare "gt" %0, %nan : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  loom.yield %1 : tensor<1xi1>
} {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}
