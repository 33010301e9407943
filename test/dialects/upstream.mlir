// Upstream's passes understand the dialect: cse merges pure ops and keeps effects, inline and sccp work, dead ops go.
// RUN: %loom-opt --inline --cse --canonicalize %s | FileCheck %s
// RUN: %loom-opt --sccp --canonicalize %s | FileCheck %s --check-prefix=SCCP

func.func private @twice(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = loom.add %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<4xf32>, %x: tensor<2xi64>) -> (tensor<4xf32>, tensor<2xf32>) {
  // CHECK-NEXT: %[[T:.*]] = loom.add
  %0 = call @twice(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @twice(%a) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[M:.*]] = loom.mul %[[T]], %[[T]]
  %2 = loom.mul %0, %1 : tensor<4xf32>
  %dead = loom.exp %a : tensor<4xf32>
  // A call with effects stays, unused or not, and so does an op that may raise.
  // CHECK-NEXT: loom.host_call
  %3 = loom.host_call "f" (%a) effects = "raises" slot = 0 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: loom.gather
  %4 = loom.gather "raise" %a, %x axis = 0 : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  // CHECK-NEXT: return %[[M]]
  return %2, %4 : tensor<4xf32>, tensor<2xf32>
}

// SCCP-LABEL: func.func @known
func.func @known() -> tensor<4xi32> {
  // SCCP: %[[C:.*]] = loom.constant(6 : i32) : tensor<4xi32>
  // SCCP: return %[[C]]
  %a = loom.constant(3 : i32) : tensor<4xi32>
  %0 = call @double(%a) : (tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
func.func private @double(%a: tensor<4xi32>) -> tensor<4xi32> {
  %0 = loom.add %a, %a : tensor<4xi32>
  return %0 : tensor<4xi32>
}
