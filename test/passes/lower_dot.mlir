// RUN: %loom-opt %s --loom-schedule --loom-lower --split-input-file --verify-diagnostics | FileCheck %s
// RUN: %loom-opt %s --loom-schedule --split-input-file | FileCheck %s --check-prefix=SCHEDULE

// Both operands lie well, rhs is small: one stage, nothing packed. 6 rows of 2 vectors: 12 multiply-adds a step.
// SCHEDULE: loom.kernel @direct
// SCHEDULE: kind = "dot", mr = 6 : i64, nv = 2 : i64, pack_lhs = false, pack_rhs = false, vl = 8 : i64
// SCHEDULE-SAME: slots = 0 : i64, stages = array<i64: 1>
// CHECK-LABEL: func.func private @direct_s0_body
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-12: llvm.intr.fma
// CHECK-NOT: llvm.intr.fma
// CHECK: arith.maximumf
// CHECK-LABEL: func.func @direct_s0(
module {
  loom.kernel @direct {
  ^bb0(%a: tensor<30x40xf32>, %b: tensor<40x64xf32>, %bias: tensor<30x64xf32>):
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<30x40xf32>, tensor<40x64xf32>) -> tensor<30x64xf32>
    %1 = loom.max %0, %bias : tensor<30x64xf32>
    loom.yield %1 : tensor<30x64xf32>
  } {strides = [array<i64: 40, 1>, array<i64: 64, 1>, array<i64: 0, 1>, array<i64: 64, 1>], scalars = array<i64>, inplace = array<i64: -1>}
}

// -----

// rhs is large: a first stage packs its panels into the slots buffer, one half after the other.
// SCHEDULE: loom.kernel @packed
// SCHEDULE: pack_lhs = false, pack_rhs = true
// SCHEDULE-SAME: slots = 524352 : i64, stages = array<i64: 32, 64>
// CHECK-LABEL: func.func private @packed_s0_body
// CHECK-NOT: llvm.intr.fma
// CHECK-LABEL: func.func @packed_s0(
// CHECK-LABEL: func.func private @packed_s1_body
// A chain of 512 would round too often: three runs, each from zero, are added up.
// CHECK: %[[STEP:[a-z0-9_]+]] = arith.constant 192
// CHECK: scf.for {{.*}} step %[[STEP]]
// CHECK: llvm.intr.fma
// CHECK: scf.yield
// CHECK: arith.addf
// CHECK-LABEL: func.func @packed_s1(
module {
  loom.kernel @packed {
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>):
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    loom.yield %0 : tensor<512x512xf32>
  } {strides = [array<i64: 512, 1>, array<i64: 512, 1>, array<i64: 512, 1>], scalars = array<i64>, inplace = array<i64: -1>}
}

// -----

// Integers multiply and add; a single column needs no lanes.
// SCHEDULE: loom.kernel @integers
// SCHEDULE: vl = 1 : i64
// CHECK-LABEL: func.func private @integers_s0_body
// CHECK: arith.muli %{{.*}}, %{{.*}} : i32
module {
  loom.kernel @integers {
  ^bb0(%a: tensor<30x40xi32>, %b: tensor<40x1xi32>):
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<30x40xi32>, tensor<40x1xi32>) -> tensor<30x1xi32>
    loom.yield %0 : tensor<30x1xi32>
  } {strides = [array<i64: 40, 1>, array<i64: 1, 1>, array<i64: 1, 1>], scalars = array<i64>, inplace = array<i64: -1>}
}

// -----

// The depth of rhs lies side by side, as in a @ b.T: its panels are packed by squares, a load for each column, transposed
// in registers (3 rounds of 8 shuffles for each of the panel's 2 or 3 vectors). 300 steps of depth are 37 squares; those
// that are left are gathered.
// SCHEDULE: loom.kernel @turned
// SCHEDULE: pack_lhs = false, pack_rhs = true
// CHECK-LABEL: func.func private @turned_s0_body
// CHECK: arith.constant 296
// CHECK-COUNT-24: vector.shuffle
// CHECK: llvm.store {{.*}} : vector<8xf32>
// CHECK: scf.for
// CHECK-LABEL: func.func @turned_s0(
module {
  loom.kernel @turned {
  ^bb0(%a: tensor<500x300xf32>, %b: tensor<512x300xf32>):
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [1] : (tensor<500x300xf32>, tensor<512x300xf32>) -> tensor<500x512xf32>
    loom.yield %0 : tensor<500x512xf32>
  } {strides = [array<i64: 300, 1>, array<i64: 300, 1>, array<i64: 512, 1>], scalars = array<i64>, inplace = array<i64: -1>}
}

// -----

// Few rows, and the depth lies side by side in both: the lanes go along it, nothing is packed. 3 rows by 4 columns, twice
// for the 8 columns of a panel; the sums of the lanes of 4 registers become a register of 4 sums. The last step of depth
// is masked. A block of the depth is a chain of at most 192 sums.
// SCHEDULE: loom.kernel @few_rows
// SCHEDULE: depth_block = 1008 : i64, inner = 4 : i64, kind = "dot", mr = 3 : i64, nv = 1 : i64, pack_lhs = false, pack_rhs = false, vl = 8 : i64
// SCHEDULE-SAME: slots = 0 : i64
// CHECK-LABEL: func.func private @few_rows_s0_body
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-12: llvm.intr.fma
// CHECK: scf.yield
// CHECK-COUNT-7: llvm.intr.masked.load
// CHECK-COUNT-3: vector.shuffle {{.*}} [1, 3, 5, 7]
// CHECK-LABEL: func.func @few_rows_s0(
module {
  loom.kernel @few_rows {
  ^bb0(%a: tensor<12x2003xf32>, %b: tensor<512x2003xf32>):
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [1] : (tensor<12x2003xf32>, tensor<512x2003xf32>) -> tensor<12x512xf32>
    loom.yield %0 : tensor<12x512xf32>
  } {strides = [array<i64: 2003, 1>, array<i64: 2003, 1>, array<i64: 512, 1>], scalars = array<i64>, inplace = array<i64: -1>}
}
