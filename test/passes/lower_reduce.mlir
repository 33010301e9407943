// Reductions: made where the result is first wanted; over rows the lanes are reduced at the end, over columns never.
// RUN: %loom-opt %s --loom-lowered --split-input-file | FileCheck %s

// A row: one vector of running values, then a tree over its lanes.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.for
// CHECK: %[[ACC:.*]] = scf.for {{.*}} iter_args(%[[SO_FAR:.*]] = %{{.*}}) -> (vector<32xf32>)
// CHECK: %[[X:.*]] = llvm.load {{.*}} -> vector<32xf32>
// CHECK: arith.maximumf %[[X]], %[[SO_FAR]]
// CHECK: vector.shuffle %[[ACC]], %[[ACC]] [0, 1, 2,
// CHECK: vector.shuffle %[[ACC]], %[[ACC]] [16, 17,
// CHECK: arith.maximumf {{.*}} : vector<16xf32>
// CHECK: arith.maximumf {{.*}} : vector<8xf32>
// CHECK: arith.maximumf {{.*}} : vector<4xf32>
// CHECK: arith.maximumf {{.*}} : vector<2xf32>
// CHECK: %[[LAST:.*]] = arith.maximumf {{.*}} : f32
// CHECK: llvm.store %[[LAST]]
// CHECK-LABEL: loom.plan @row
func.func @row(%a: tensor<64x1024xf32>) -> tensor<64xf32> {
  %0 = loom.reduce "max" %a axes = [1] : (tensor<64x1024xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// Columns: each lane reduces for itself.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.for
// CHECK: %[[ACC:.*]] = scf.for {{.*}} iter_args(%[[SO_FAR:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK: arith.maximumf %{{.*}}, %[[SO_FAR]]
// CHECK-NOT: vector.shuffle
// CHECK: llvm.store %[[ACC]]
// CHECK-LABEL: loom.plan @column
func.func @column(%a: tensor<64x1024xf32>) -> tensor<1024xf32> {
  %0 = loom.reduce "max" %a axes = [0] : (tensor<64x1024xf32>) -> tensor<1024xf32>
  return %0 : tensor<1024xf32>
}

// -----

// A sum of floats is taken in blocks of 32 vectors, each from zero; a maximum, or a sum of integers, is exact without.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: %[[BLOCK:.*]] = arith.constant 1024 : i64
// CHECK: scf.for {{.*}} step %{{.*}} iter_args(%[[ALL:.*]] = %{{.*}}) -> (vector<32xf32>)
// CHECK: %[[SOME:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<32xf32>)
// CHECK: arith.addf %{{.*}}, %[[ACC]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[ALL]], %[[SOME]]
// CHECK: scf.yield %[[NEXT]]
// CHECK-LABEL: loom.plan @sum
func.func @sum(%a: tensor<64x8192xf32>) -> tensor<64xf32> {
  %0 = loom.reduce "sum" %a axes = [1] : (tensor<64x8192xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// CHECK-LABEL: func.func private @k0_s0_body
// CHECK-COUNT-2: scf.for
// CHECK-NOT: scf.for
// CHECK-LABEL: loom.plan @count
func.func @count(%a: tensor<64x8192xi32>) -> tensor<64xi32> {
  %0 = loom.reduce "sum" %a axes = [1] : (tensor<64x8192xi32>) -> tensor<64xi32>
  return %0 : tensor<64xi32>
}

// -----

// The place of an extreme goes with it, in 32 bits: the first one wins a draw, and a NaN every other number.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.for {{.*}} iter_args(%[[BEST:.*]] = %{{.*}}, %[[AT:.*]] = %{{.*}}) -> (vector<32xf32>, vector<32xi32>)
// CHECK: %[[X:.*]] = llvm.load
// CHECK: arith.cmpf ugt, %[[X]], %[[BEST]]
// CHECK: arith.cmpf ord, %[[BEST]], %[[BEST]]
// CHECK: %[[NEW:.*]] = arith.andi
// CHECK: arith.select %[[NEW]], %[[X]], %[[BEST]]
// CHECK: arith.select %[[NEW]], %{{.*}}, %[[AT]]
// CHECK: arith.extsi {{.*}} : i32 to i64
// CHECK-LABEL: loom.plan @argmax
func.func @argmax(%a: tensor<64x1024xf32>) -> tensor<64xi64> {
  %0 = loom.reduce "argmax" %a axes = [1] : (tensor<64x1024xf32>) -> tensor<64xi64>
  return %0 : tensor<64xi64>
}

// -----

// At most 128 floats of one row are added up as NumPy does it: eight running sums, then these in pairs. More rows are
// summed as long ones are.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.for {{.*}} -> (vector<8xf32>)
// CHECK: arith.addf {{.*}} : f32
// CHECK-LABEL: loom.plan @few
func.func @few(%a: tensor<20x104xf32>) -> tensor<20xf32> {
  %0 = loom.reduce "sum" %a axes = [1] : (tensor<20x104xf32>) -> tensor<20xf32>
  return %0 : tensor<20xf32>
}

// -----

// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.for {{.*}} -> (vector<32xf32>)
// CHECK-LABEL: loom.plan @many
func.func @many(%a: tensor<64x100xf32>) -> tensor<64xf32> {
  %0 = loom.reduce "sum" %a axes = [1] : (tensor<64x100xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
