// Functions of integers whose number of steps depends on the elements: loops that end when no lane needs another step.
// RUN: %loom-opt %s --loom-schedule --loom-lower --split-input-file | FileCheck %s

// A bit of the exponents a step, as long as some lane has one.
// CHECK-LABEL: func.func private @powers_s0_body
// CHECK: %[[ALL:.*]]:3 = scf.while
// CHECK: %[[MORE:.*]] = arith.cmpi ne
// CHECK: %[[ANY:.*]] = "llvm.intr.vector.reduce.or"(%[[MORE]])
// CHECK: scf.condition(%[[ANY]])
// CHECK: %[[ODD:.*]] = arith.cmpi ne
// CHECK: %[[TIMES:.*]] = arith.muli
// CHECK: %[[RESULT:.*]] = arith.select %[[ODD]], %[[TIMES]],
// CHECK: %[[SQUARE:.*]] = arith.muli
// CHECK: %[[REST:.*]] = arith.shrui
// CHECK: scf.yield %[[RESULT]], %[[SQUARE]], %[[REST]]
// CHECK-LABEL: func.func @powers_s0(
loom.kernel @powers {
^bb0(%a: tensor<64xi32>, %b: tensor<64xi32>):
  %0 = loom.pow %a, %b : tensor<64xi32>
  loom.yield %0 : tensor<64xi32>
} {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// A constant exponent: x * x * x * x * x by squares, without a loop.
// CHECK-LABEL: func.func private @known_s0_body
// CHECK-NOT: scf.while
// CHECK: %[[X:.*]] = llvm.load
// CHECK: %[[TWO:.*]] = arith.muli %[[X]], %[[X]] : vector<8xi32>
// CHECK-NEXT: %[[FOUR:.*]] = arith.muli %[[TWO]], %[[TWO]] : vector<8xi32>
// CHECK-NEXT: %[[FIVE:.*]] = arith.muli %[[X]], %[[FOUR]] : vector<8xi32>
// CHECK-NOT: scf.while
// CHECK-LABEL: func.func @known_s0(
loom.kernel @known {
^bb0(%a: tensor<64xi32>):
  %n = loom.constant(5 : i32) : tensor<64xi32>
  %0 = loom.pow %a, %n : tensor<64xi32>
  loom.yield %0 : tensor<64xi32>
} {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// Beyond 255 it is a loop again.
// CHECK-LABEL: func.func private @large_s0_body
// CHECK: scf.while
// CHECK-LABEL: func.func @large_s0(
loom.kernel @large {
^bb0(%a: tensor<64xi32>):
  %n = loom.constant(256 : i32) : tensor<64xi32>
  %0 = loom.pow %a, %n : tensor<64xi32>
  loom.yield %0 : tensor<64xi32>
} {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// The powers of two that both have are counted before the loop, and are a factor of the result. A step takes those of
// one number away and subtracts the smaller number from the larger one. No number of zeros is asked of 0.
// CHECK-LABEL: func.func private @divisors_s0_body
// CHECK: %[[TOP:.*]] = arith.constant dense<-9223372036854775808> : vector<4xi64>
// CHECK: %[[SOME:.*]] = arith.ori %{{.*}}, %[[TOP]]
// CHECK: %[[COMMON:.*]] = "llvm.intr.cttz"(%[[SOME]])
// CHECK: %[[ALL:.*]]:2 = scf.while
// CHECK: %[[ANY:.*]] = "llvm.intr.vector.reduce.or"
// CHECK: scf.condition(%[[ANY]])
// CHECK: %[[LEFT:.*]] = arith.shrui
// CHECK: arith.cmpi ult, %[[LEFT]],
// CHECK: arith.subi %[[LEFT]],
// CHECK: scf.yield
// CHECK: arith.shli %[[ALL]]#0, %[[COMMON]]
// CHECK-LABEL: func.func @divisors_s0(
loom.kernel @divisors {
^bb0(%a: tensor<64xi64>, %b: tensor<64xi64>):
  %0 = loom.gcd %a, %b : tensor<64xi64>
  loom.yield %0 : tensor<64xi64>
} {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// Narrow numbers are computed in 32 bits.
// CHECK-LABEL: func.func private @narrow_s0_body
// CHECK-COUNT-2: arith.extui %{{.*}} : vector<32xi8> to vector<32xi32>
// CHECK: %[[ALL:.*]]:2 = scf.while
// CHECK: %[[WIDE:.*]] = arith.shli %[[ALL]]#0,
// CHECK: arith.trunci %[[WIDE]] : vector<32xi32> to vector<32xi8>
// CHECK-LABEL: func.func @narrow_s0(
loom.kernel @narrow {
^bb0(%a: tensor<64xui8>, %b: tensor<64xui8>):
  %0 = loom.gcd %a, %b : tensor<64xui8>
  loom.yield %0 : tensor<64xui8>
} {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}
