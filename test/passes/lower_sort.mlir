// Sorts: a stable radix sort of keys whose unsigned order is NumPy's; short lines by insertion.
// RUN: %loom-opt %s --loom-lowered --split-input-file | FileCheck %s

// Four digits of a float's bits: all counted in one pass over the line, then a pass over the line for each digit that
// not all elements share.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: call @k0_sort
// CHECK-LABEL: func.func private @k0_key(%arg0: i32) -> i64
// CHECK: %[[SIZE:.*]] = arith.andi %arg0,
// CHECK: arith.cmpi ugt, %[[SIZE]], %{{.*}} : i32
// CHECK: arith.cmpi eq, %[[SIZE]], %{{.*}} : i32
// CHECK-LABEL: func.func private @k0_sort
// CHECK-NOT: scf.while
// CHECK: %[[KEY:.*]] = func.call @k0_key
// CHECK: scf.for
// CHECK: arith.shrui %[[KEY]],
// CHECK: scf.for {{.*}} to %c4_i64
// CHECK: arith.cmpi eq, %{{.*}}, %c1000_i32
// CHECK: scf.if
// CHECK: } else {
// CHECK: scf.for
// CHECK: scf.for
// CHECK: func.call @k0_key
// CHECK-LABEL: loom.plan @long
func.func @long(%x: tensor<4x1000xf32>) -> tensor<4x1000xf32> {
  %0 = loom.sort %x axis = 1 {indices = false} : (tensor<4x1000xf32>) -> tensor<4x1000xf32>
  return %0 : tensor<4x1000xf32>
}

// -----

// An element is inserted before those with larger keys, and never before an equal one.
// CHECK-LABEL: func.func private @k0_sort
// CHECK: scf.while
// CHECK: arith.cmpi ugt
// CHECK-NOT: arith.shrui
// CHECK-LABEL: loom.plan @short
func.func @short(%x: tensor<4x20xf32>) -> tensor<4x20xf32> {
  %0 = loom.sort %x axis = 1 {indices = false} : (tensor<4x20xf32>) -> tensor<4x20xf32>
  return %0 : tensor<4x20xf32>
}

// -----

// The permutation: numbers of 32 bits are moved with the elements. Integers of 16 bits have two digits, and keys of
// which nothing but the sign is turned.
// CHECK-LABEL: func.func private @k0_key(%arg0: i16) -> i64
// CHECK: arith.xori %arg0,
// CHECK-NOT: arith.select
// CHECK-LABEL: func.func private @k0_sort
// CHECK: arith.trunci %{{.*}} : i64 to i32
// CHECK: scf.for {{.*}} to %c2_i64
// CHECK-LABEL: loom.plan @places
func.func @places(%x: tensor<4x1000xi16>) -> tensor<4x1000xi64> {
  %0 = loom.sort %x axis = 1 {indices = true} : (tensor<4x1000xi16>) -> tensor<4x1000xi64>
  return %0 : tensor<4x1000xi64>
}

// -----

// A line along the first axis is read and written with the distance between its elements.
// CHECK-LABEL: func.func private @k0_sort
// CHECK: arith.constant 4 : i64
// CHECK: arith.muli
// CHECK-LABEL: loom.plan @down
func.func @down(%x: tensor<1000x4xf32>) -> tensor<1000x4xf32> {
  %0 = loom.sort %x axis = 0 {indices = false} : (tensor<1000x4xf32>) -> tensor<1000x4xf32>
  return %0 : tensor<1000x4xf32>
}
