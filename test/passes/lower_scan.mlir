// Scans: one loop along the axis carries the running values, in order.
// RUN: %loom-opt %s --loom-lowered --split-input-file | FileCheck %s

// Along columns the lanes run beside the axis: each is a running value of its own.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK: %[[X:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: %[[Y:.*]] = arith.addf %[[X]], %[[SUM]]
// CHECK: llvm.store %[[Y]]
// CHECK: scf.yield %[[Y]]
// CHECK-LABEL: loom.plan @columns
func.func @columns(%a: tensor<40x64xf32>) -> tensor<40x64xf32> {
  %0 = loom.scan "sum" %a axis = 0 : tensor<40x64xf32>
  return %0 : tensor<40x64xf32>
}

// -----

// Along rows, where the elements lie one after the other, they are taken one by one: lanes would change the order. What
// the scan reads is computed on the way.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK-NOT: vector
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args(%[[MAX:.*]] = %{{.*}}) -> (f32)
// CHECK: %[[X:.*]] = llvm.load {{.*}} -> f32
// CHECK: %[[N:.*]] = arith.negf %[[X]]
// CHECK: %[[Y:.*]] = arith.maximumf %[[N]], %[[MAX]]
// CHECK: llvm.store %[[Y]]
// CHECK: scf.yield %[[Y]]
// CHECK-NOT: vector
// CHECK-LABEL: loom.plan @rows
func.func @rows(%a: tensor<40x64xf32>) -> tensor<40x64xf32> {
  %0 = loom.neg %a : tensor<40x64xf32>
  %1 = loom.scan "max" %0 axis = 1 : tensor<40x64xf32>
  return %1 : tensor<40x64xf32>
}

// -----

// A reversed view is read from its end; the loop still goes from the scan's first element.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.for %[[I:[a-z0-9]+]] = {{.*}} iter_args(
// CHECK: %[[M:.*]] = arith.muli %[[I]], %{{.*}}
// CHECK: llvm.load
// CHECK: arith.addi
// CHECK-LABEL: loom.plan @reversed
func.func @reversed(%a: tensor<40x64xi32>) -> tensor<40x64xi32> {
  %0 = loom.slice %a starts = [39, 0] sizes = [40, 64] steps = [-1, 1] : (tensor<40x64xi32>) -> tensor<40x64xi32>
  %1 = loom.scan "sum" %0 axis = 0 : tensor<40x64xi32>
  return %1 : tensor<40x64xi32>
}
