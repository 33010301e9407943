// loom-regions: regions become functions, the op says what each carried value becomes.
// RUN: %loom-opt --loom-regions --split-input-file %s | FileCheck %s
// RUN: %loom-opt --loom-plans --split-input-file %s | FileCheck %s --check-prefix=PLAN

// The factor comes from outside; the constant is made inside.
// CHECK-LABEL: func.func @main
// CHECK: loom.control "for" [@main_r0] carry = [0](%arg0, %arg1, %arg2)
// CHECK-LABEL: func.func @main_r0(%arg0: tensor<i64>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>)
// CHECK-SAME: {loom.overwrites = 1 : i64}
// CHECK-NEXT: loom.mul %arg1, %arg2
// CHECK-NEXT: loom.constant
// CHECK-NEXT: loom.add
// CHECK-NEXT: return

// PLAN-LABEL: loom.plan @main {
// PLAN: loom.run "for" [@main_r0] carry = [0] reads = 3(%arg0, %arg1, %arg2, %arg3)
// PLAN-LABEL: loom.plan @main_r0
// PLAN: loom.launch @k0
// PLAN: loom.overwrites = array<i64: 1>
// PLAN-SAME: loom.region
func.func @main(%n: tensor<i64>, %a: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %c = loom.constant(2.0 : f32) : tensor<4xf32>
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<4xf32>):
    %y = loom.mul %x, %s : tensor<4xf32>
    %z = loom.add %y, %c : tensor<4xf32>
    loom.yield %z : tensor<4xf32>
  } : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// What stays the same is not carried; what changes its name is not computed.
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]]:2 = loom.control "for" [@main_r0] carry = [-2, 0](%arg0, %arg1, %arg2, %arg3)
// CHECK: return %[[R]]#0, %arg3, %[[R]]#1
// CHECK-LABEL: func.func @main_r0(%arg0: tensor<i64>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>, %arg3: tensor<4xf32>)
// CHECK: %[[S:.*]] = loom.sub %arg2, %arg1
// CHECK: %[[M:.*]] = loom.mul %[[S]], %arg3
// CHECK: return %[[M]] : tensor<4xf32>
func.func @main(%n: tensor<i64>, %a: tensor<4xf32>, %b: tensor<4xf32>, %k: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = loom.for %n init(%a, %k, %b) {
  ^bb0(%i: tensor<i64>, %x: tensor<4xf32>, %same: tensor<4xf32>, %y: tensor<4xf32>):
    %s = loom.sub %y, %x : tensor<4xf32>
    %m = loom.mul %s, %same : tensor<4xf32>
    loom.yield %y, %same, %m : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : (tensor<i64>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// One in another, with a branch: every region is a function of its own.
// CHECK-LABEL: func.func @main
// CHECK: loom.control "while" [@main_r0, @main_r1] carry = [0](%arg0, %arg1)
// CHECK-LABEL: func.func @main_r0
// CHECK: loom.compare "lt" %arg0, %arg1
// CHECK-LABEL: func.func @main_r1
// CHECK: loom.control "if" [@main_r1_r2, @main_r1_r3] carry = [0](%{{.*}}, %arg0, %arg1)
// CHECK-LABEL: func.func @main_r1_r2(%arg0: tensor<i64>, %arg1: tensor<i64>)
// CHECK: loom.add %arg0, %arg1
// CHECK-LABEL: func.func @main_r1_r3(%arg0: tensor<i64>, %arg1: tensor<i64>)
// CHECK: loom.mul %arg0, %arg0
func.func @main(%a: tensor<i64>, %limit: tensor<i64>) -> tensor<i64> {
  %0 = loom.while init(%a) {
  ^bb0(%x: tensor<i64>):
    %p = loom.compare "lt" %x, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
    loom.yield %p : tensor<i1>
  } do {
  ^bb0(%x: tensor<i64>):
    %q = loom.compare "gt" %x, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %1 = loom.if %q (%x) {
    ^bb0(%y: tensor<i64>):
      %2 = loom.add %y, %limit : tensor<i64>
      loom.yield %2 : tensor<i64>
    } else {
    ^bb0(%y: tensor<i64>):
      %2 = loom.mul %y, %y : tensor<i64>
      loom.yield %2 : tensor<i64>
    } : (tensor<i1>, tensor<i64>) -> tensor<i64>
    loom.yield %1 : tensor<i64>
  } : (tensor<i64>) -> tensor<i64>
  return %0 : tensor<i64>
}

// -----

// A function of the user's may have the name that a region would get.
// CHECK-LABEL: func.func @taken(
// CHECK: loom.control "for" [@taken_r1]
// CHECK: func.func @taken_r0
// CHECK-NOT: loom.region
// CHECK: func.func @taken_r1
// PLAN: loom.plan @taken
func.func @taken(%n: tensor<i64>, %a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<4xf32>):
    %y = loom.exp %x : tensor<4xf32>
    loom.yield %y : tensor<4xf32>
  } : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @taken_r0(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
