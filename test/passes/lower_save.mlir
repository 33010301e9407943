// Costly values that two passes over a row need are made by the first one and read from scratch by the others.
// RUN: %loom-opt %s --loom-lowered --split-input-file | FileCheck %s

// Three passes: maximum, exponentials with their sum, quotients. The second lays the exponentials down.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK-SAME: %[[IN:[a-z0-9]+]]: !llvm.ptr {llvm.noalias}, %[[OUT:[a-z0-9]+]]: !llvm.ptr {llvm.noalias}, %{{.*}}, %[[SCRATCH:[a-z0-9]+]]: !llvm.ptr, %
// CHECK: arith.maximumf
// CHECK: scf.for
// CHECK: arith.subf
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[SCRATCH]]
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[PLACE]]
// CHECK: llvm.store %[[EXP:.*]], %[[AT]]
// CHECK: arith.addf %[[EXP]],
// CHECK: scf.for
// CHECK-NOT: arith.subf
// CHECK: %[[AGAIN:.*]] = llvm.getelementptr %[[SCRATCH]]
// CHECK: %[[FROM:.*]] = llvm.getelementptr %[[AGAIN]]
// CHECK: %[[READ:.*]] = llvm.load %[[FROM]]
// CHECK: arith.divf %[[READ]],
// CHECK-LABEL: loom.plan @softmax
// CHECK: scratch = 4096 : i64
func.func @softmax(%x: tensor<64x1024xf32>) -> tensor<64x1024xf32> {
  %m = loom.reduce "max" %x axes = [1] : (tensor<64x1024xf32>) -> tensor<64xf32>
  %mb = loom.broadcast %m dims = [0] : (tensor<64xf32>) -> tensor<64x1024xf32>
  %d = loom.sub %x, %mb : tensor<64x1024xf32>
  %e = loom.exp %d : tensor<64x1024xf32>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<64x1024xf32>) -> tensor<64xf32>
  %sb = loom.broadcast %s dims = [0] : (tensor<64xf32>) -> tensor<64x1024xf32>
  %r = loom.div %e, %sb : tensor<64x1024xf32>
  return %r : tensor<64x1024xf32>
}

// -----

// What is cheap is computed again: a difference costs less than a load.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK-COUNT-2: arith.subf {{.*}} : vector
// CHECK-LABEL: loom.plan @cheap
// CHECK: scratch = 0 : i64
func.func @cheap(%x: tensor<64x1024xf32>) -> tensor<64x1024xf32> {
  %m = loom.reduce "max" %x axes = [1] : (tensor<64x1024xf32>) -> tensor<64xf32>
  %mb = loom.broadcast %m dims = [0] : (tensor<64xf32>) -> tensor<64x1024xf32>
  %e = loom.sub %x, %mb : tensor<64x1024xf32>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<64x1024xf32>) -> tensor<64xf32>
  %sb = loom.broadcast %s dims = [0] : (tensor<64xf32>) -> tensor<64x1024xf32>
  %r = loom.div %e, %sb : tensor<64x1024xf32>
  return %r : tensor<64x1024xf32>
}

// -----

// A row that would not stay in the cache is not laid down.
// CHECK-LABEL: loom.plan @large
// CHECK: scratch = 0 : i64
func.func @large(%x: tensor<64x65536xf32>) -> tensor<64x65536xf32> {
  %e = loom.exp %x : tensor<64x65536xf32>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<64x65536xf32>) -> tensor<64xf32>
  %sb = loom.broadcast %s dims = [0] : (tensor<64xf32>) -> tensor<64x65536xf32>
  %r = loom.div %e, %sb : tensor<64x65536xf32>
  return %r : tensor<64x65536xf32>
}

// -----

// Nor is what only one pass needs.
// CHECK-LABEL: loom.plan @once
// CHECK: scratch = 0 : i64
func.func @once(%x: tensor<64x1024xf32>) -> tensor<64xf32> {
  %e = loom.exp %x : tensor<64x1024xf32>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<64x1024xf32>) -> tensor<64xf32>
  return %s : tensor<64xf32>
}
