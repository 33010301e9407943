// Functions of integers whose number of steps depends on the elements.
// RUN: %loom-opt %s --loom-schedule --loom-lower --split-input-file | FileCheck %s

// The loop ends when no lane has a bit of its exponent left.
// CHECK-LABEL: func.func private @power_s0_body
// CHECK: scf.while
// CHECK: %[[LEFT:.*]] = arith.cmpi ne
// CHECK: %[[ANY:.*]] = "llvm.intr.vector.reduce.or"
// CHECK: scf.condition(%[[ANY]])
// CHECK: arith.muli
// CHECK: arith.shrui
// CHECK-LABEL: func.func @power_s0(
loom.kernel @power {
^bb0(%a: tensor<64xi32>, %b: tensor<64xi32>):
  %0 = loom.pow %a, %b : tensor<64xi32>
  loom.yield %0 : tensor<64xi32>
} {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// A constant exponent needs no loop: x^5 = x (x^2)^2.
// CHECK-LABEL: func.func private @fifth_s0_body
// CHECK-NOT: scf.while
// CHECK: %[[SQUARE:.*]] = arith.muli %[[X:.*]], %[[X]]
// CHECK: %[[FOURTH:.*]] = arith.muli %[[SQUARE]], %[[SQUARE]]
// CHECK: arith.muli %[[X]], %[[FOURTH]]
// CHECK-LABEL: func.func @fifth_s0(
loom.kernel @fifth {
^bb0(%a: tensor<64xi32>):
  %five = loom.constant(5 : i32) : tensor<64xi32>
  %0 = loom.pow %a, %five : tensor<64xi32>
  loom.yield %0 : tensor<64xi32>
} {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// Small integers are widened, and each step shifts the zeros out.
// CHECK-LABEL: func.func private @divisor_s0_body
// CHECK: arith.extui {{.*}} to vector<{{.*}}xi32>
// CHECK: llvm.intr.cttz
// CHECK: scf.while
// CHECK: scf.condition
// CHECK: llvm.intr.cttz
// CHECK: arith.shrui
// CHECK: arith.shli
// CHECK: arith.trunci
// CHECK-LABEL: func.func @divisor_s0(
loom.kernel @divisor {
^bb0(%a: tensor<64xui8>, %b: tensor<64xui8>):
  %0 = loom.gcd %a, %b : tensor<64xui8>
  loom.yield %0 : tensor<64xui8>
} {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}
