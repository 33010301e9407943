// Updates in place: the region is written, and nothing else moves.
// RUN: %loom-opt %s --loom-lowered --split-input-file | FileCheck %s

// Rows of a region with steps, from its start: lanes along its last dimension. The array is not read.
// CHECK-LABEL: func.func private @k1_s0_body
// CHECK-SAME: (%[[ARRAY:[a-z0-9]+]]: !llvm.ptr {llvm.noalias}, %[[UPDATE:[a-z0-9]+]]: !llvm.ptr {llvm.noalias},
// CHECK: %[[START:.*]] = arith.constant 1544 : i64
// CHECK: scf.for
// CHECK: scf.for %[[ROW:[a-z0-9]+]] =
// CHECK: arith.muli %[[ROW]],
// CHECK: %[[FROM:.*]] = llvm.getelementptr %[[UPDATE]]
// CHECK: %[[TO:.*]] = llvm.getelementptr %[[ARRAY]]
// CHECK: scf.for
// CHECK: llvm.getelementptr %[[FROM]]
// CHECK: %[[X:.*]] = llvm.load {{.*}} -> vector<8xf32>
// CHECK: llvm.getelementptr %[[TO]]
// CHECK: llvm.store %[[X]]
// CHECK: scf.for
// CHECK: llvm.intr.masked.load
// CHECK: llvm.intr.masked.store
// CHECK-LABEL: loom.plan @part
// CHECK: loom.launch @k1 stage = 0 chunks = 1(%arg2, %arg1, %arg2)
func.func @part(%x: tensor<512x512xf32>, %u: tensor<16x100xf32>) -> tensor<512x512xf32> {
  %e = loom.neg %x : tensor<512x512xf32>
  %0 = loom.update_slice %e, %u starts = [3, 8] steps = [2, 1] : (tensor<512x512xf32>, tensor<16x100xf32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// -----

// What is written is computed where it goes.
// CHECK-LABEL: func.func private @k1_s0_body
// CHECK: %[[X:.*]] = llvm.load
// CHECK: %[[Y:.*]] = llvm.intr.sqrt(%[[X]])
// CHECK: llvm.store %[[Y]]
// CHECK-LABEL: loom.plan @computed
func.func @computed(%x: tensor<512x512xf32>, %u: tensor<1x512xf32>) -> tensor<512x512xf32> {
  %e = loom.neg %x : tensor<512x512xf32>
  %n = loom.sqrt %u : tensor<1x512xf32>
  %0 = loom.update_slice %e, %n starts = [3, 0] steps = [1, 1] : (tensor<512x512xf32>, tensor<1x512xf32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// -----

// Several that update one array write one region after the other, in one kernel.
// CHECK-LABEL: func.func private @k1_s0_body
// CHECK-SAME: (%[[ARRAY:[a-z0-9]+]]: !llvm.ptr {llvm.noalias}, %[[ONE:[a-z0-9]+]]: !llvm.ptr {llvm.noalias}, %[[OTHER:[a-z0-9]+]]: !llvm.ptr {llvm.noalias},
// CHECK-DAG: arith.constant 1536 : i64
// CHECK-DAG: arith.constant 2560 : i64
// CHECK: llvm.getelementptr %[[ONE]]
// CHECK: llvm.store {{.*}} vector<8xf32>
// CHECK: llvm.getelementptr %[[OTHER]]
// CHECK: llvm.store {{.*}} vector<8xf32>
// CHECK-NOT: @k2_s0_body
// CHECK-LABEL: loom.plan @chain
func.func @chain(%x: tensor<512x512xf32>, %u: tensor<1x512xf32>, %v: tensor<1x512xf32>) -> tensor<512x512xf32> {
  %e = loom.neg %x : tensor<512x512xf32>
  %0 = loom.update_slice %e, %u starts = [3, 0] steps = [1, 1] : (tensor<512x512xf32>, tensor<1x512xf32>) -> tensor<512x512xf32>
  %1 = loom.update_slice %0, %v starts = [5, 0] steps = [1, 1] : (tensor<512x512xf32>, tensor<1x512xf32>) -> tensor<512x512xf32>
  return %1 : tensor<512x512xf32>
}

// -----

// Most of an array is replaced in one pass over it instead: it would be read anyway.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: arith.negf
// CHECK-NOT: @k1_s0_body
// CHECK-LABEL: loom.plan @most
func.func @most(%x: tensor<512x512xf32>, %u: tensor<400x512xf32>) -> tensor<512x512xf32> {
  %e = loom.neg %x : tensor<512x512xf32>
  %0 = loom.update_slice %e, %u starts = [3, 0] steps = [1, 1] : (tensor<512x512xf32>, tensor<400x512xf32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}
