// Data movement inside a group: iota, pad, concatenate, update_slice, gather. (Pads and concatenations whose lane loop
// is cut are in lower_box.mlir.)
// RUN: %loom-opt %s --loom-lowered --split-input-file | FileCheck %s

// Indices are counted along the lanes.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: %[[ALL:.*]] = vector.broadcast %[[I]] : i64 to vector<16xi64>
// CHECK: %[[EACH:.*]] = arith.addi %[[ALL]],
// CHECK: arith.sitofp %[[EACH]] : vector<16xi64> to vector<16xf32>
// CHECK-LABEL: loom.plan @count
func.func @count() -> tensor<100xf32> {
  %0 = loom.iota {axis = 0 : i64} : tensor<100xf32>
  return %0 : tensor<100xf32>
}

// -----

// "raise": an index may count from the end; one out of bounds is reported (256), and 0 is read instead. All of that is
// done once a row, which is then read in whole vectors.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.for
// CHECK: %[[I:.*]] = llvm.load {{.*}} -> i64
// CHECK: %[[FROM_END:.*]] = arith.addi %[[I]],
// CHECK: arith.select %{{.*}}, %[[FROM_END]], %[[I]]
// CHECK: %[[OUT:.*]] = arith.cmpi uge
// CHECK: %[[BAD:.*]] = arith.constant 256 : i32
// CHECK: arith.select %[[OUT]], %[[BAD]],
// CHECK: llvm.store
// CHECK: arith.select %[[OUT]], %{{.*}} : i64
// CHECK: scf.for
// CHECK-NOT: arith.cmpi
// CHECK: llvm.load {{.*}} -> vector<8xf32>
// CHECK-LABEL: loom.plan @taken
func.func @taken(%a: tensor<50x64xf32>, %i: tensor<20xi64>) -> tensor<20x64xf32> {
  %0 = loom.gather "raise" %a, %i axis = 0 : (tensor<50x64xf32>, tensor<20xi64>) -> tensor<20x64xf32>
  return %0 : tensor<20x64xf32>
}

// -----

// "clip" reports nothing.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.for
// CHECK: %[[I:.*]] = llvm.load {{.*}} -> i64
// CHECK: arith.cmpi slt, %[[I]],
// CHECK: arith.cmpi sgt
// CHECK-NOT: 256 : i32
// CHECK-NOT: arith.ori
// CHECK-LABEL: loom.plan @clipped
func.func @clipped(%a: tensor<50x64xf32>, %i: tensor<20xi64>) -> tensor<20x64xf32> {
  %0 = loom.gather "clip" %a, %i axis = 0 : (tensor<50x64xf32>, tensor<20xi64>) -> tensor<20x64xf32>
  return %0 : tensor<20x64xf32>
}

// -----

// Elements of every second index: the update is read under a guard, and the array selected where it does not hold.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: arith.remui {{.*}} : vector<16xi64>
// CHECK: %[[HERE:.*]] = arith.cmpi ult
// CHECK: %[[NEW:.*]] = llvm.intr.masked.gather %{{.*}}, %[[HERE]],
// CHECK: %[[OLD:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: %[[BOTH:.*]] = arith.select %[[HERE]], %[[NEW]], %[[OLD]]
// CHECK: llvm.store %[[BOTH]]
// CHECK-LABEL: loom.plan @strided
func.func @strided(%a: tensor<64xf32>, %b: tensor<32xf32>) -> tensor<64xf32> {
  %0 = loom.update_slice %a, %b starts = [0] steps = [2] : (tensor<64xf32>, tensor<32xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// One row of an array: a guard on the loop over rows, none on lanes.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.if
// CHECK: scf.if
// CHECK: scf.if
// CHECK-NOT: gather
// CHECK-LABEL: loom.plan @row
func.func @row(%a: tensor<8x64xf32>, %b: tensor<64xf32>) -> tensor<8x64xf32> {
  %u = loom.reshape %b : (tensor<64xf32>) -> tensor<1x64xf32>
  %0 = loom.update_slice %a, %u starts = [3, 0] steps = [1, 1] : (tensor<8x64xf32>, tensor<1x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
