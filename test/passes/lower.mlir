// RUN: %loom-opt %s --loom-schedule --loom-lower | FileCheck %s
// RUN: %loom-opt %s --loom-schedule | FileCheck %s --check-prefix=SCHEDULE
// RUN: not %loom-opt %s --loom-lower 2>&1 | FileCheck %s --check-prefix=BAD

// A kernel is lowered as its schedule says; there is no default.
// BAD: error: kernel has no schedule
// BAD-NEXT: loom.kernel @add

module {
  // One dimension: one lane loop over the chunks, a masked tail that repeats lane 0 where it is off.
  // SCHEDULE: loom.kernel @add
  // SCHEDULE: schedule = {block = 1000 : i64, blocks = 1 : i64, join = 0 : i64, reduce_width = 32 : i64, split_size = 0 : i64, splits = 0 : i64, tail = 1 : i64, units = 1 : i64, width = 16 : i64}
  // SCHEDULE-SAME: stages = array<i64: 1>
  // CHECK-LABEL: func.func private @add_s0_body
  // CHECK-SAME: llvm.noalias
  // CHECK: scf.for
  // CHECK: %[[A:.*]] = llvm.load {{.*}} -> vector<16xf32>
  // CHECK: %[[B:.*]] = llvm.load {{.*}} -> vector<16xf32>
  // CHECK: %[[S:.*]] = arith.addf %[[A]], %[[B]]
  // CHECK: %[[P:.*]] = arith.mulf %[[S]], %[[B]]
  // CHECK: llvm.store %[[P]]
  // CHECK: scf.for
  // CHECK: llvm.intr.masked.load
  // CHECK: llvm.intr.masked.store
  // CHECK-LABEL: func.func @add_s0(
  // CHECK-SAME: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64) -> i32
  loom.kernel @add {
  ^bb0(%a: tensor<1000xf32>, %b: tensor<1000xf32>):
    %0 = loom.add %a, %b : tensor<1000xf32>
    %1 = loom.mul %0, %b : tensor<1000xf32>
    loom.yield %1 : tensor<1000xf32>
  } {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

  // A reversed row, a scalar and a column: the scalar is read outside of all loops, the column's element outside
  // of the lane loop. The result overwrites operand 0, so that both are one parameter.
  // CHECK-LABEL: func.func private @mixed_s0_body
  // CHECK: llvm.load {{.*}} -> f32
  // CHECK: scf.for
  // CHECK: llvm.load {{.*}} -> f32
  // CHECK: scf.for
  // CHECK-NOT: vector.broadcast
  // CHECK: vector.shuffle {{.*}} [15, 14, 13
  loom.kernel @mixed {
  ^bb0(%a: tensor<37x1024xf32>, %b: tensor<1024xf32>, %s: tensor<f32>, %c: tensor<37xf32>):
    %3 = loom.broadcast %b dims = [1] : (tensor<1024xf32>) -> tensor<37x1024xf32>
    %4 = loom.broadcast %s dims = [] : (tensor<f32>) -> tensor<37x1024xf32>
    %5 = loom.broadcast %c dims = [0] : (tensor<37xf32>) -> tensor<37x1024xf32>
    %0 = loom.add %a, %3 : tensor<37x1024xf32>
    %1 = loom.mul %0, %4 : tensor<37x1024xf32>
    %2 = loom.max %1, %5 : tensor<37x1024xf32>
    loom.yield %2 : tensor<37x1024xf32>
  } {strides = [array<i64: 1024, 1>, array<i64: -1>, array<i64>, array<i64: 1>, array<i64: 1024, 1>],
     scalars = array<i64: 2>, inplace = array<i64: 0>}

  // Each stage is an entry function of the kernel ABI, which takes the buffers out of the array that it is given, and a
  // body, whose pointers may be `noalias`. Nothing of the kernel is left.
  // CHECK-LABEL: func.func private @parts_s0_body
  // CHECK-LABEL: func.func @parts_s0(
  // CHECK-SAME: %[[BUFFERS:.*]]: !llvm.ptr, %[[PARAMS:.*]]: !llvm.ptr, %[[SCRATCH:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64) -> i32
  // CHECK: %[[SLOT0:.*]] = llvm.getelementptr %[[BUFFERS]]
  // CHECK: %[[A:.*]] = llvm.load %[[SLOT0]]
  // CHECK: %[[SLOT1:.*]] = llvm.getelementptr %[[BUFFERS]]
  // CHECK: %[[R:.*]] = llvm.load %[[SLOT1]]
  // CHECK: %[[SLOT2:.*]] = llvm.getelementptr %[[BUFFERS]]
  // CHECK: %[[SLOTS:.*]] = llvm.load %[[SLOT2]]
  // CHECK: call @parts_s0_body(%[[A]], %[[R]], %[[SLOTS]], %[[PARAMS]], %[[SCRATCH]], %[[BEGIN]], %[[END]])
  // CHECK-LABEL: func.func private @parts_s1_body
  // CHECK-LABEL: func.func @parts_s1(
  // CHECK-NOT: loom.kernel
  loom.kernel @parts {
  ^bb0(%a: tensor<4x1048576xf32>):
    %m = loom.reduce "max" %a axes = [1] : (tensor<4x1048576xf32>) -> tensor<4xf32>
    loom.yield %m : tensor<4xf32>
  } {strides = [array<i64: 1048576, 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

  // A result that overwrites an operand is the operand's parameter: two buffers, then parameters and scratch.
  // CHECK: func.func private @inplace_s0_body(
  // CHECK-SAME: %[[A:arg[0-9]+]]: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64) -> i32
  // CHECK: %[[FROM:.*]] = llvm.getelementptr %[[A]]
  // CHECK: llvm.load %[[FROM]]
  // CHECK: %[[TO:.*]] = llvm.getelementptr %[[A]]
  // CHECK: llvm.store %{{.*}}, %[[TO]] {{.*}}vector<16xf32>
  loom.kernel @inplace {
  ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
    %0 = loom.add %a, %b : tensor<64xf32>
    loom.yield %0 : tensor<64xf32>
  } {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: 0>}

  // Two buffers that the caller may make one (`loom.overlaps`) are parameters that may be equal: neither is noalias.
  // CHECK: func.func private @overlaps_s0_body(
  // CHECK-SAME: %{{[a-z0-9]+}}: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr {llvm.noalias}, %{{[a-z0-9]+}}: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr {llvm.noalias}
  loom.kernel @overlaps {
  ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
    %0 = loom.add %a, %b : tensor<64xf32>
    loom.yield %0 : tensor<64xf32>
  } {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>, loom.overlaps = array<i64: 0>}

  // A scalar is read from the launch's parameters, 8 bytes for each, before the loop. It has no buffer in the array.
  // CHECK: func.func private @scalar_s0_body(
  // CHECK-SAME: %[[A:arg[0-9]+]]: !llvm.ptr {llvm.noalias}, %[[R:arg[0-9]+]]: !llvm.ptr {llvm.noalias}, %[[PARAMS:arg[0-9]+]]: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64) -> i32
  // CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[PARAMS]][{{.*}} i64
  // CHECK: %[[S:.*]] = llvm.load %[[PLACE]] {{.*}} -> f32
  // CHECK: vector.broadcast %[[S]]
  // CHECK: scf.for
  loom.kernel @scalar {
  ^bb0(%a: tensor<64xf32>, %s: tensor<f32>):
    %1 = loom.broadcast %s dims = [] : (tensor<f32>) -> tensor<64xf32>
    %0 = loom.mul %a, %1 : tensor<64xf32>
    loom.yield %0 : tensor<64xf32>
  } {strides = [array<i64: 1>, array<i64>, array<i64: 1>], scalars = array<i64: 1>, inplace = array<i64: -1>}
}
