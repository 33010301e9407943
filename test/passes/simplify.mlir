// RUN: %loom-opt %s --loom-simplify | FileCheck %s

// Views compose; a view of a constant is a constant.
// CHECK-LABEL: func.func @views
// CHECK-NEXT: loom.transpose %{{.*}} perm = [1, 2, 0]
// CHECK-NEXT: loom.slice %{{.*}} starts = [3] sizes = [2] steps = [4]
// CHECK-NEXT: loom.constant(2 : i32) : tensor<2x3xi32>
// CHECK-NEXT: return
func.func @views(%a: tensor<2x3x4xi32>, %b: tensor<10xi32>) -> (tensor<3x4x2xi32>, tensor<2xi32>, tensor<2x3xi32>) {
  %0 = loom.transpose %a perm = [1, 0, 2] : (tensor<2x3x4xi32>) -> tensor<3x2x4xi32>
  %1 = loom.transpose %0 perm = [0, 2, 1] : (tensor<3x2x4xi32>) -> tensor<3x4x2xi32>
  %2 = loom.slice %b starts = [1] sizes = [4] steps = [2] : (tensor<10xi32>) -> tensor<4xi32>
  %3 = loom.slice %2 starts = [1] sizes = [2] steps = [2] : (tensor<4xi32>) -> tensor<2xi32>
  %4 = loom.constant(2 : i32) : tensor<i32>
  %5 = loom.broadcast %4 dims = [] : (tensor<i32>) -> tensor<2x3xi32>
  return %1, %3, %5 : tensor<3x4x2xi32>, tensor<2xi32>, tensor<2x3xi32>
}

// What follows a reduction with kept dimensions works at the reduced size, and comes back by one broadcast.
// CHECK-LABEL: func.func @kept
// CHECK: %[[S:.*]] = loom.reduce "sum"
// CHECK: %[[E:.*]] = loom.exp %[[S]] : tensor<8xf32>
// CHECK: loom.broadcast %[[E]] dims = [0] : (tensor<8xf32>) -> tensor<8x4xf32>
func.func @kept(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %s = loom.reduce "sum" %a axes = [1] : (tensor<8x4xf32>) -> tensor<8xf32>
  %r = loom.reshape %s : (tensor<8xf32>) -> tensor<8x1xf32>
  %e = loom.exp %r : tensor<8x1xf32>
  %b = loom.broadcast %e dims = [0, 1] : (tensor<8x1xf32>) -> tensor<8x4xf32>
  %0 = loom.sub %a, %b : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// A reshape rises to operands that lie in C order, and not to one that does not.
// CHECK-LABEL: func.func @rises
// CHECK: %[[R:.*]] = loom.reshape %arg0
// CHECK: %[[N:.*]] = loom.neg %[[R]] : tensor<6x4xf32>
// CHECK: loom.abs %[[N]]
func.func @rises(%a: tensor<24xf32>) -> tensor<6x4xf32> {
  %0 = loom.neg %a : tensor<24xf32>
  %1 = loom.reshape %0 : (tensor<24xf32>) -> tensor<6x4xf32>
  %2 = loom.abs %1 : tensor<6x4xf32>
  return %2 : tensor<6x4xf32>
}
// CHECK-LABEL: func.func @stays
// CHECK: %[[N:.*]] = loom.neg %arg0 : tensor<4x6xf32>
// CHECK: loom.reshape %[[N]]
func.func @stays(%a: tensor<4x6xf32> {loom.strides = array<i64: 1, 4>}) -> tensor<24xf32> {
  %0 = loom.neg %a : tensor<4x6xf32>
  %1 = loom.reshape %0 : (tensor<4x6xf32>) -> tensor<24xf32>
  %2 = loom.abs %1 : tensor<24xf32>
  return %2 : tensor<24xf32>
}

// CHECK-LABEL: func.func @arithmetic
// CHECK: %[[X:.*]] = loom.mul %arg0, %arg0 : tensor<4xf32>
// CHECK: %[[Q:.*]] = loom.constant(2.500000e-01 : f32)
// CHECK: %[[Y:.*]] = loom.mul %arg0, %[[Q]]
// CHECK: %[[Z:.*]] = loom.convert %arg1 : (tensor<4xi16>) -> tensor<4xf64>
// CHECK: return %[[X]], %[[Y]], %[[Z]], %arg0
func.func @arithmetic(%a: tensor<4xf32>, %i: tensor<4xi16>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf64>, tensor<4xf32>) {
  %two = loom.constant(2.0 : f32) : tensor<4xf32>
  %four = loom.constant(4.0 : f32) : tensor<4xf32>
  %0 = loom.pow %a, %two : tensor<4xf32>
  %1 = loom.div %a, %four : tensor<4xf32>
  %2 = loom.convert %i : (tensor<4xi16>) -> tensor<4xi32>
  %3 = loom.convert %2 : (tensor<4xi32>) -> tensor<4xf64>
  %4 = loom.copy %a : tensor<4xf32>
  return %0, %1, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf64>, tensor<4xf32>
}

// Neither of these may change: a conversion that rounds, a divisor that has no exact reciprocal, another exponent.
// CHECK-LABEL: func.func @unchanged
// CHECK: loom.convert %{{.*}} : (tensor<4xi32>) -> tensor<4xf32>
// CHECK: loom.convert %{{.*}} : (tensor<4xf32>) -> tensor<4xf64>
// CHECK: loom.div
// CHECK: loom.pow
func.func @unchanged(%i: tensor<4xi32>, %a: tensor<4xf32>) -> (tensor<4xf64>, tensor<4xf32>, tensor<4xf32>) {
  %0 = loom.convert %i : (tensor<4xi32>) -> tensor<4xf32>
  %1 = loom.convert %0 : (tensor<4xf32>) -> tensor<4xf64>
  %three = loom.constant(3.0 : f32) : tensor<4xf32>
  %2 = loom.div %a, %three : tensor<4xf32>
  %3 = loom.pow %a, %three : tensor<4xf32>
  return %1, %2, %3 : tensor<4xf64>, tensor<4xf32>, tensor<4xf32>
}

// Writing through a view writes the array; a region written twice is written once.
// CHECK-LABEL: func.func @updates
// CHECK-NEXT: %[[U:.*]] = loom.update_slice %arg0, %arg1 starts = [5] steps = [2]
// CHECK-NEXT: %[[V:.*]] = loom.update_slice %[[U]], %arg1 starts = [0] steps = [1]
// CHECK-NEXT: return %[[V]]
func.func @updates(%a: tensor<10xf32>, %u: tensor<2xf32>) -> tensor<10xf32> {
  %0 = loom.slice %a starts = [1] sizes = [4] steps = [2] : (tensor<10xf32>) -> tensor<4xf32>
  %1 = loom.update_slice %0, %u starts = [2] steps = [1] : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  %2 = loom.update_slice %a, %1 starts = [1] steps = [2] : (tensor<10xf32>, tensor<4xf32>) -> tensor<10xf32>
  %3 = loom.neg %u : tensor<2xf32>
  %4 = loom.update_slice %2, %3 starts = [0] steps = [1] : (tensor<10xf32>, tensor<2xf32>) -> tensor<10xf32>
  %5 = loom.update_slice %4, %u starts = [0] steps = [1] : (tensor<10xf32>, tensor<2xf32>) -> tensor<10xf32>
  return %5 : tensor<10xf32>
}
// CHECK-LABEL: func.func @forwarded
// CHECK-NEXT: return %arg1
func.func @forwarded(%a: tensor<10xf32>, %u: tensor<2xf32>) -> tensor<2xf32> {
  %0 = loom.update_slice %a, %u starts = [0] steps = [1] : (tensor<10xf32>, tensor<2xf32>) -> tensor<10xf32>
  %1 = loom.slice %0 starts = [0] sizes = [2] steps = [1] : (tensor<10xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
// CHECK-LABEL: func.func @other_updates
// CHECK: loom.slice
// CHECK: loom.update_slice
// CHECK: loom.update_slice
// CHECK: loom.slice
func.func @other_updates(%a: tensor<10xf32>, %b: tensor<10xf32>, %u: tensor<2xf32>) -> (tensor<10xf32>, tensor<2xf32>) {
  %0 = loom.slice %b starts = [1] sizes = [4] steps = [2] : (tensor<10xf32>) -> tensor<4xf32>
  %1 = loom.update_slice %0, %u starts = [2] steps = [1] : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  %2 = loom.update_slice %a, %1 starts = [1] steps = [2] : (tensor<10xf32>, tensor<4xf32>) -> tensor<10xf32>
  %3 = loom.slice %2 starts = [1] sizes = [2] steps = [2] : (tensor<10xf32>) -> tensor<2xf32>
  return %2, %3 : tensor<10xf32>, tensor<2xf32>
}

// The library would warn of the log although all of it is replaced.
// CHECK-LABEL: func.func @replaced
// CHECK: %[[L:.*]] = loom.log
// CHECK: loom.update_slice %[[L]]
func.func @replaced(%a: tensor<10xf32>, %u: tensor<10xf32>) -> tensor<10xf32> {
  %0 = loom.log %a : tensor<10xf32>
  %1 = loom.update_slice %0, %u starts = [0] steps = [1] : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// -----

// Sums of what a product and a reshape that adds a dimension of size 1 give are taken at the product's sizes, and what
// works on arguments at the larger rank comes along: one rank for all.
// CHECK-LABEL: func.func @unit_dimensions
// CHECK: %[[P:.*]] = loom.dot_general
// CHECK: loom.reshape %arg2 : (tensor<1x30x8xf32>) -> tensor<30x8xf32>
// CHECK: %[[M:.*]] = loom.mul %[[P]], {{.*}} : tensor<30x8xf32>
// CHECK: %[[S:.*]] = loom.reduce "sum" %[[M]] axes = [1] : (tensor<30x8xf32>) -> tensor<30xf32>
// CHECK: %[[B:.*]] = loom.broadcast %[[S]] dims = [0] : (tensor<30xf32>) -> tensor<30x8xf32>
// CHECK: loom.mul {{.*}}%[[B]] : tensor<30x8xf32>
// CHECK: loom.reshape {{.*}} : (tensor<30x8xf32>) -> tensor<1x30x8xf32>
func.func @unit_dimensions(%a: tensor<30x4xf32>, %b: tensor<4x8xf32>, %x: tensor<1x30x8xf32>) -> tensor<1x30x8xf32> {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<30x4xf32>, tensor<4x8xf32>) -> tensor<30x8xf32>
  %1 = loom.reshape %0 : (tensor<30x8xf32>) -> tensor<1x30x8xf32>
  %2 = loom.sin %x : tensor<1x30x8xf32>
  %3 = loom.mul %1, %2 : tensor<1x30x8xf32>
  %4 = loom.reduce "sum" %3 axes = [2] : (tensor<1x30x8xf32>) -> tensor<1x30xf32>
  %5 = loom.broadcast %4 dims = [0, 1] : (tensor<1x30xf32>) -> tensor<1x30x8xf32>
  %6 = loom.mul %2, %5 : tensor<1x30x8xf32>
  %7 = loom.sub %3, %6 : tensor<1x30x8xf32>
  return %7 : tensor<1x30x8xf32>
}

// -----

// The index along a dimension of size 1 would be lost; other axes of size 1 add nothing to a sum.
// CHECK-LABEL: func.func @unit_axes
// CHECK: loom.reduce "argmax" {{.*}} axes = [0] : (tensor<1x30xf32>) -> tensor<30xi64>
// CHECK: loom.reduce "sum" {{.*}} axes = [0] : (tensor<30xf32>) -> tensor<f32>
func.func @unit_axes(%a: tensor<30xf32>) -> (tensor<30xi64>, tensor<f32>) {
  %0 = loom.sin %a : tensor<30xf32>
  %1 = loom.reshape %0 : (tensor<30xf32>) -> tensor<1x30xf32>
  %2 = loom.reduce "argmax" %1 axes = [0] : (tensor<1x30xf32>) -> tensor<30xi64>
  %3 = loom.reduce "sum" %1 axes = [0, 1] : (tensor<1x30xf32>) -> tensor<f32>
  return %2, %3 : tensor<30xi64>, tensor<f32>
}

// What has no elements, and sums of none, are constants: no schedule sees a size of 0.
// CHECK-LABEL: @empty(
// CHECK-DAG: %[[SUM:.*]] = loom.constant(0.000000e+00 : f32) : tensor<4xf32>
// CHECK-DAG: %[[PROD:.*]] = loom.constant(1.000000e+00 : f32) : tensor<4xf32>
// CHECK-DAG: %[[DOT:.*]] = loom.constant(0.000000e+00 : f32) : tensor<4x5xf32>
// CHECK-DAG: %[[OUTER:.*]] = loom.constant(0.000000e+00 : f32) : tensor<4x0x0x5xf32>
// CHECK-NOT: loom.reduce
// CHECK-NOT: loom.dot_general
// CHECK: return %[[SUM]], %[[PROD]], %[[DOT]], %[[OUTER]]
func.func @empty(%x: tensor<4x0xf32>, %y: tensor<0x5xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4x5xf32>, tensor<4x0x0x5xf32>) {
  %s = loom.reduce "sum" %x axes = [1] : (tensor<4x0xf32>) -> tensor<4xf32>
  %p = loom.reduce "prod" %x axes = [1] : (tensor<4x0xf32>) -> tensor<4xf32>
  %d = loom.dot_general %x, %y batch = [] x [] contract = [1] x [0]
      : (tensor<4x0xf32>, tensor<0x5xf32>) -> tensor<4x5xf32>
  %o = loom.dot_general %x, %y batch = [] x [] contract = [] x []
      : (tensor<4x0xf32>, tensor<0x5xf32>) -> tensor<4x0x0x5xf32>
  return %s, %p, %d, %o : tensor<4xf32>, tensor<4xf32>, tensor<4x5xf32>, tensor<4x0x0x5xf32>
}

// A pad of nothing is its operand.
// CHECK-LABEL: func.func @pads
// CHECK-NOT: low = [0, 0] high = [0, 0]
// CHECK: %[[N:.*]] = loom.neg %arg0
// CHECK: %[[P:.*]] = loom.pad %arg0
// CHECK: return %[[N]], %[[P]]
func.func @pads(%a: tensor<4x3xf32>, %v: tensor<f32>) -> (tensor<4x3xf32>, tensor<5x3xf32>) {
  %0 = loom.pad %a, %v low = [0, 0] high = [0, 0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  %1 = loom.neg %0 : tensor<4x3xf32>
  %2 = loom.pad %a, %v low = [1, 0] high = [0, 0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<5x3xf32>
  return %1, %2 : tensor<4x3xf32>, tensor<5x3xf32>
}
