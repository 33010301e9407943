// RUN: %loom-opt --loom-interpret -o /dev/null %s | FileCheck %s
// RUN: not %loom-opt --loom-interpret --split-input-file -o /dev/null %S/inputs/interpret-bad.mlir 2>&1 | FileCheck %s --check-prefix=BAD

// Without loom.values the elements of argument k are k, k + 1, ...
// CHECK: f 0: float32[3] 3 5 7
// CHECK: f 1: bool[3] 0 1 0
// CHECK: f 2: float16[2] 2 nan
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xi1> {loom.values = dense<[true,false,true]> : tensor<3xi1>}, %h: tensor<2xf16> {loom.values = dense<"0x003C007E"> : tensor<2xf16>}) -> (tensor<3xf32>, tensor<3xi1>, tensor<2xf16>) {
  %0 = loom.reduce "sum" %a axes = [0] : (tensor<2x3xf32>) -> tensor<3xf32>
  %1 = loom.not %b : tensor<3xi1>
  %2 = loom.add %h, %h : tensor<2xf16>
  return %0, %1, %2 : tensor<3xf32>, tensor<3xi1>, tensor<2xf16>
}

// A dynamic size is 3, and those that depend on it follow.
// CHECK: g 0: float32[6x3] 0 1 2 3 4 5 6 7 8 0 1 2 3 4 5 6 7 8
func.func @g(%a: tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>) -> tensor<?x3xf32, affine_map<()[s0] -> (s0*2, 3)>> {
  %0 = loom.concatenate %a, %a axis = 0 : (tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>, tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>) -> tensor<?x3xf32, affine_map<()[s0] -> (s0*2, 3)>>
  return %0 : tensor<?x3xf32, affine_map<()[s0] -> (s0*2, 3)>>
}

// Regions: the values carried, and %s, %b and %c of the function around them.
// CHECK: counted 0: float32[4] 14 29 44 59
// CHECK: counted 1: int64[] 3
func.func @counted(%a: tensor<4xf32>, %n: tensor<i64> {loom.values = dense<3> : tensor<i64>}, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<i64>) {
  %s = loom.constant(2.0 : f32) : tensor<4xf32>
  %z = loom.constant(0 : i64) : tensor<i64>
  %0:2 = loom.for %n init(%a, %z) {
  ^bb0(%i: tensor<i64>, %x: tensor<4xf32>, %t: tensor<i64>):
    %y = loom.mul %x, %s : tensor<4xf32>
    %w = loom.add %y, %b : tensor<4xf32>
    %u = loom.add %t, %i : tensor<i64>
    loom.yield %w, %u : tensor<4xf32>, tensor<i64>
  } : (tensor<i64>, tensor<4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<i64>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<i64>
}

// CHECK: nested 0: int64[] 6561
func.func @nested(%a: tensor<i64> {loom.values = dense<1> : tensor<i64>}) -> tensor<i64> {
  %c = loom.constant(1000 : i64) : tensor<i64>
  %k = loom.constant(3 : i64) : tensor<i64>
  %n = loom.constant(2 : i64) : tensor<i64>
  %0 = loom.while init(%a) {
  ^bb0(%x: tensor<i64>):
    %t = loom.compare "lt" %x, %c : (tensor<i64>, tensor<i64>) -> tensor<i1>
    loom.yield %t : tensor<i1>
  } do {
  ^bb0(%x: tensor<i64>):
    %y = loom.for %n init(%x) {
    ^bb0(%i: tensor<i64>, %v: tensor<i64>):
      %y = loom.mul %v, %k : tensor<i64>
      loom.yield %y : tensor<i64>
    } : (tensor<i64>, tensor<i64>) -> tensor<i64>
    loom.yield %y : tensor<i64>
  } : (tensor<i64>) -> tensor<i64>
  return %0 : tensor<i64>
}

// CHECK: chosen 0: float32[3] -1 -2 -3
func.func @chosen(%c: tensor<i1> {loom.values = dense<false> : tensor<i1>}, %a: tensor<?xf32, affine_map<()[s0] -> (s0)>>) -> tensor<?xf32, affine_map<()[s0] -> (s0)>> {
  %2 = loom.if %c (%a) {
  ^bb0(%x: tensor<?xf32, affine_map<()[s0] -> (s0)>>):
    loom.yield %x : tensor<?xf32, affine_map<()[s0] -> (s0)>>
  } else {
  ^bb0(%x: tensor<?xf32, affine_map<()[s0] -> (s0)>>):
    %y = loom.neg %a : tensor<?xf32, affine_map<()[s0] -> (s0)>>
    loom.yield %y : tensor<?xf32, affine_map<()[s0] -> (s0)>>
  } : (tensor<i1>, tensor<?xf32, affine_map<()[s0] -> (s0)>>) -> tensor<?xf32, affine_map<()[s0] -> (s0)>>
  return %2 : tensor<?xf32, affine_map<()[s0] -> (s0)>>
}

// BAD: index 3 is out of bounds for an axis of size 3
// BAD: a call of "fft" needs its library
// BAD: the op is not in the op table
// BAD: loom.values of argument 0 is no dense constant of its type
