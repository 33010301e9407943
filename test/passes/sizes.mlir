// Sizes as values and assumed sizes, by themselves and at every stage.
// RUN: %loom-opt --loom-sizes --canonicalize %s | FileCheck %s
// RUN: %loom-opt --loom-check-stages="explain trials=6" -o /dev/null %s 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: %loom-run %s --size=5 | FileCheck %s --check-prefix=RAN
// RUN: %loom-opt --loom-plans --loom-interpret -o /dev/null %s | FileCheck %s --check-prefix=PLAN
// RUN: not %loom-opt --split-input-file --loom-interpret -o /dev/null %S/inputs/sizes-bad.mlir 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: not %loom-opt --split-input-file --loom-plans --loom-interpret -o /dev/null %S/inputs/sizes-bad.mlir 2>&1 | FileCheck %s --check-prefix=BAD-STAGE
// RUN: not %loom-opt --split-input-file --loom-cpu --loom-interpret -o /dev/null %S/inputs/sizes-bad.mlir 2>&1 | FileCheck %s --check-prefix=BAD-STAGE
// BAD: cannot interpret: dimension 0 has size 3, not 4
// BAD: cannot interpret: dimension 0 has size 3, not 2
// BAD: cannot interpret: dimension 0 has size 3, not 0
// BAD-STAGE-COUNT-3: out of bounds
// SAME: remark: 23 passes leave the results of

#n = affine_map<()[s0] -> (s0)>
#m = affine_map<()[s0, s1] -> (s1)>
#both = affine_map<()[s0, s1] -> (s0 + s1)>
#half = affine_map<()[s0] -> (s0 floordiv 2)>
#again = affine_map<()[s0] -> ((s0 floordiv 2) * 2 + s0 mod 2)>

// No array is read for a size, and the concatenation is made for the other result alone.
// CHECK-LABEL: func.func @mean
// CHECK: %[[LINE:.*]] = loom.iota {axis = 0 : i64} : tensor<?xi64
// CHECK: %[[LAST:.*]] = loom.slice %[[LINE]]
// CHECK: %[[SIZE:.*]] = loom.reshape %[[LAST]] : (tensor<1xi64>) -> tensor<i64>
// CHECK-NOT: loom.size
// CHECK: return %[[SIZE]],
// RAN: mean 0: int64[] 11
// RAN: mean 1: float32[] 2.8181
// PLAN: mean 0: int64[] 6
// PLAN: mean 1: float32[] 1.5
func.func @mean(%a: tensor<?xf32, #n>, %b: tensor<?xf32, #m>) -> (tensor<i64>, tensor<f32>) {
  %0 = loom.concatenate %a, %b axis = 0 : (tensor<?xf32, #n>, tensor<?xf32, #m>) -> tensor<?xf32, #both>
  %1 = loom.size %0 axis = 0 : (tensor<?xf32, #both>) -> tensor<i64>
  %2 = loom.convert %1 : (tensor<i64>) -> tensor<f32>
  %3 = loom.reduce "sum" %0 axes = [0] : (tensor<?xf32, #both>) -> tensor<f32>
  %4 = loom.div %3, %2 : tensor<f32>
  return %1, %4 : tensor<i64>, tensor<f32>
}

// Of complex numbers, and of sizes that are expressions.
// CHECK-LABEL: func.func @half
// CHECK-NOT: loom.size
// RAN: half 0: int64[3] 2 3 4
// PLAN: half 0: int64[3] 1 2 3
func.func @half(%a: tensor<?xcomplex<f32>, #half>, %n: tensor<?xi8, #n>) -> tensor<3xi64> {
  %0 = loom.size %a axis = 0 : (tensor<?xcomplex<f32>, #half>) -> tensor<i64>
  %1 = loom.broadcast %0 dims = [] : (tensor<i64>) -> tensor<3xi64>
  %2 = loom.iota {axis = 0 : i64} : tensor<3xi64>
  %3 = loom.add %1, %2 : tensor<3xi64>
  return %3 : tensor<3xi64>
}

// A loop that a size counts, and a size inside of it.
// CHECK-LABEL: func.func @count
// RAN: count 0: int64[] 320
// PLAN: count 0: int64[] 12
func.func @count(%a: tensor<?xf32, #n>) -> tensor<i64> {
  %n = loom.size %a axis = 0 : (tensor<?xf32, #n>) -> tensor<i64>
  %z = loom.constant(0 : i64) : tensor<i64>
  %r:2 = loom.for %n init(%a, %z) {
  ^bb0(%i: tensor<i64>, %x: tensor<?xf32, #n>, %s: tensor<i64>):
    %k = loom.size %x axis = 0 : (tensor<?xf32, #n>) -> tensor<i64>
    %y = loom.neg %x : tensor<?xf32, #n>
    %t = loom.add %s, %k : tensor<i64>
    %u = loom.mul %t, %i : tensor<i64>
    loom.yield %y, %u : tensor<?xf32, #n>, tensor<i64>
  } : (tensor<i64>, tensor<?xf32, #n>, tensor<i64>) -> (tensor<?xf32, #n>, tensor<i64>)
  return %r#1 : tensor<i64>
}

// The same type: nothing is asked. Else an index that is out of bounds for another size.
// CHECK-LABEL: func.func @same
// CHECK-NEXT: return %arg0
func.func @same(%a: tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>> {
  %0 = loom.assume_shape %a : (tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>>
  return %0 : tensor<4xcomplex<f64>>
}

// CHECK-LABEL: func.func @halves
// CHECK: %[[WRONG:.*]] = loom.compare "ne"
// CHECK: %[[INDEX:.*]] = loom.convert %[[WRONG]]
// CHECK: loom.gather "raise" %{{.*}}, %[[INDEX]]
// CHECK: loom.mul %[[INDEX]]
// CHECK: loom.gather "raise" %arg0
// RAN: halves 0: float32[5] 0 1 2 3 4
func.func @halves(%a: tensor<?xf32, #n>) -> tensor<?xf32, #again> {
  %0 = loom.assume_shape %a : (tensor<?xf32, #n>) -> tensor<?xf32, #again>
  return %0 : tensor<?xf32, #again>
}
