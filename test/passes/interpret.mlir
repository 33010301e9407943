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

// BAD: index 3 is out of bounds for an axis of size 3
// BAD: a call of "fft" needs its library
// BAD: the op is not in the op table
// BAD: loom.values of argument 0 is no dense constant of its type
