// Scatters: updates are applied in order, where the operand lay.
// RUN: %loom-opt %s --loom-lowered --split-input-file | FileCheck %s

// Slices: an index is looked at once, may count from the end, and is reported (256) when it is out of bounds, where it
// updates nothing. The slice is combined in whole vectors.
// CHECK-LABEL: func.func private @k1_s0_body
// CHECK: scf.for
// CHECK: %[[I:.*]] = llvm.load {{.*}} -> i64
// CHECK: %[[FROM_END:.*]] = arith.addi %[[I]],
// CHECK: %[[AT:.*]] = arith.select %{{.*}}, %[[FROM_END]], %[[I]]
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[AT]],
// CHECK: %[[OUT:.*]] = arith.cmpi uge, %[[AT]],
// CHECK: %[[BAD:.*]] = arith.constant 256 : i32
// CHECK: arith.select %[[OUT]], %[[BAD]],
// CHECK: arith.select %[[IN]], %[[AT]],
// CHECK: %[[TIMES:.*]] = arith.select %[[IN]], %{{.*}} : i64
// CHECK: scf.for %{{[a-z0-9]+}} = %{{[a-z0-9_]+}} to %[[TIMES]]
// CHECK: scf.for
// CHECK: %[[NEW:.*]] = llvm.load {{.*}} -> vector<8xf32>
// CHECK: %[[OLD:.*]] = llvm.load {{.*}} -> vector<8xf32>
// CHECK: arith.addf %[[OLD]], %[[NEW]]
// CHECK-LABEL: loom.plan @rows
func.func @rows(%x: tensor<100x64xf32>, %i: tensor<10xi64>, %u: tensor<10x64xf32>) -> tensor<100x64xf32> {
  %0 = loom.scatter "add" %x, %i, %u axis = 0 : (tensor<100x64xf32>, tensor<10xi64>, tensor<10x64xf32>) -> tensor<100x64xf32>
  return %0 : tensor<100x64xf32>
}

// -----

// "set" does not read what was there.
// CHECK-LABEL: func.func private @k1_s0_body
// CHECK: llvm.load {{.*}} -> i64
// CHECK: %[[BAD:.*]] = arith.constant 256 : i32
// CHECK: arith.ori
// CHECK: %[[NEW:.*]] = llvm.load {{.*}} -> i32
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: llvm.load
// CHECK: llvm.store %[[NEW]]
// CHECK-LABEL: loom.plan @set
func.func @set(%x: tensor<1000xi32>, %i: tensor<10xi64>, %u: tensor<10xi32>) -> tensor<1000xi32> {
  %0 = loom.scatter "set" %x, %i, %u axis = 0 : (tensor<1000xi32>, tensor<10xi64>, tensor<10xi32>) -> tensor<1000xi32>
  return %0 : tensor<1000xi32>
}

// -----

// Elements, as np.put_along_axis has them: each has an index of its own. Nothing branches: what an index out of bounds names is
// element 0, which gets what it has.
// CHECK-LABEL: func.func private @k1_s0_body
// CHECK: %[[I:.*]] = llvm.load {{.*}} -> i64
// CHECK: arith.cmpi slt, %[[I]],
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[AT:.*]],
// CHECK: arith.select %[[IN]], %[[AT]],
// CHECK: %[[NEW:.*]] = llvm.load {{.*}} -> f32
// CHECK: %[[OLD:.*]] = llvm.load {{.*}} -> f32
// CHECK: %[[MAX:.*]] = arith.maximumf %[[OLD]], %[[NEW]]
// CHECK: %[[STORED:.*]] = arith.select %[[IN]], %[[MAX]], %[[OLD]]
// CHECK-NOT: scf.for
// CHECK: llvm.store %[[STORED]]
// CHECK-LABEL: loom.plan @elements
func.func @elements(%x: tensor<8x64xf32>, %i: tensor<8x3xi64>, %u: tensor<8x3xf32>) -> tensor<8x64xf32> {
  %0 = loom.scatter "max" %x, %i, %u axis = 1 : (tensor<8x64xf32>, tensor<8x3xi64>, tensor<8x3xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

// Many wide slices: chunks cut what is inside of a slice, each going through all indices in order. (Small ones: one
// chunk, above.)
// CHECK-LABEL: loom.plan @wide
// CHECK: loom.launch @k1 stage = 0 chunks = 12(
func.func @wide(%x: tensor<100x768xf32>, %i: tensor<1000xi64>, %u: tensor<1000x768xf32>) -> tensor<100x768xf32> {
  %0 = loom.scatter "add" %x, %i, %u axis = 0 : (tensor<100x768xf32>, tensor<1000xi64>, tensor<1000x768xf32>) -> tensor<100x768xf32>
  return %0 : tensor<100x768xf32>
}

// -----

// More updates than lines, which are two vectors each (scatter_run.c): the line before stays in registers. Where the index is the same
// again, another line is read, so that no load waits for the store before.
// CHECK-LABEL: func.func private @k1_s0_body
// CHECK: scf.for {{.*}} iter_args(%[[BEFORE:.*]] = %{{.*}}, %[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}}) -> (i64, vector<8xf32>, vector<8xf32>)
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[AT:.*]], %[[BEFORE]]
// CHECK: %[[OTHER:.*]] = arith.select %{{.*}} : i64
// CHECK: arith.select %[[SAME]], %[[OTHER]], %[[AT]] : i64
// CHECK: llvm.load {{.*}} -> vector<8xf32>
// CHECK: %[[OLD:.*]] = llvm.load {{.*}} -> vector<8xf32>
// CHECK: arith.select %{{.*}}, %[[X]], %[[OLD]]
// CHECK: arith.addf
// CHECK: llvm.store {{.*}} : vector<8xf32>
// CHECK-LABEL: loom.plan @segments
func.func @segments(%x: tensor<10x16xf32>, %i: tensor<100xi64>, %u: tensor<100x16xf32>) -> tensor<10x16xf32> {
  %0 = loom.scatter "add" %x, %i, %u axis = 0 : (tensor<10x16xf32>, tensor<100xi64>, tensor<100x16xf32>) -> tensor<10x16xf32>
  return %0 : tensor<10x16xf32>
}
