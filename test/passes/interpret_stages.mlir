// One set of checks for all stages: tensor ops, regions as functions, groups, kernels, a plan, lowered kernels, and the
// LLVM dialect.
// RUN: %loom-opt --loom-interpret --split-input-file -o /dev/null %s | FileCheck %s
// RUN: %loom-opt --loom-regions --loom-interpret --split-input-file -o /dev/null %s | FileCheck %s
// RUN: %loom-opt --loom-front --loom-interpret --split-input-file -o /dev/null %s | FileCheck %s
// RUN: %loom-opt --loom-kernels --loom-interpret --split-input-file -o /dev/null %s | FileCheck %s
// RUN: %loom-opt --loom-plans --loom-interpret --split-input-file -o /dev/null %s | FileCheck %s
// RUN: %loom-opt --loom-lowered --loom-interpret --split-input-file -o /dev/null %s | FileCheck %s
// RUN: %loom-opt --loom-cpu --loom-interpret --split-input-file -o /dev/null %s | FileCheck %s
// RUN: not %loom-opt --loom-interpret --split-input-file -o /dev/null %S/inputs/interpret-stages-bad.mlir 2>&1 | FileCheck %s --check-prefix=BAD

// Values, a scalar, two groups.
// CHECK: f 0: float32[3] 3 5 7
// CHECK: f 1: bool[3] 0 1 0
// CHECK: f 2: float16[2] 2 nan
// CHECK: f 3: float32[3] 12 18 24
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xi1> {loom.values = dense<[true,false,true]> : tensor<3xi1>}, %h: tensor<2xf16> {loom.values = dense<"0x003C007E"> : tensor<2xf16>}, %s: tensor<f32> {loom.scalar}) -> (tensor<3xf32>, tensor<3xi1>, tensor<2xf16>, tensor<3xf32>) {
  %0 = loom.reduce "sum" %a axes = [0] : (tensor<2x3xf32>) -> tensor<3xf32>
  %1 = loom.not %b : tensor<3xi1>
  %2 = loom.add %h, %h : tensor<2xf16>
  %3 = loom.broadcast %s dims = [] : (tensor<f32>) -> tensor<3xf32>
  %4 = loom.reduce "sum" %a axes = [1] : (tensor<2x3xf32>) -> tensor<2xf32>
  %5 = loom.slice %4 starts = [1] sizes = [1] steps = [1] : (tensor<2xf32>) -> tensor<1xf32>
  %6 = loom.reshape %5 : (tensor<1xf32>) -> tensor<f32>
  %7 = loom.broadcast %6 dims = [] : (tensor<f32>) -> tensor<3xf32>
  %8 = loom.mul %0, %3 : tensor<3xf32>
  %9 = loom.sub %8, %7 : tensor<3xf32>
  %10 = loom.add %9, %7 : tensor<3xf32>
  %11 = loom.add %10, %3 : tensor<3xf32>
  return %0, %1, %2, %11 : tensor<3xf32>, tensor<3xi1>, tensor<2xf16>, tensor<3xf32>
}

// -----

// A symbolic size: 3, and 6 follows.
// CHECK: g 0: float32[6x3] 0 1 2 3 4 5 6 7 8 0 1 2 3 4 5 6 7 8
func.func @g(%a: tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>) -> tensor<?x3xf32, affine_map<()[s0] -> (s0*2, 3)>> {
  %0 = loom.concatenate %a, %a axis = 0 : (tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>, tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>) -> tensor<?x3xf32, affine_map<()[s0] -> (s0*2, 3)>>
  return %0 : tensor<?x3xf32, affine_map<()[s0] -> (s0*2, 3)>>
}

// -----

// Arguments and results in other orders than C; an axis that is reversed; one whose elements are one and the same.
// CHECK: strided 0: float32[2x3] 1 4 7 4 7 10
func.func @strided(%a: tensor<2x3xf32> {loom.strides = array<i64: 1, 2>}, %b: tensor<3xf32> {loom.strides = array<i64: -1>}, %c: tensor<2x3xf32> {loom.strides = array<i64: 3, 0>}) -> (tensor<2x3xf32> {loom.strides = array<i64: 1, 2>}) {
  %0 = loom.broadcast %b dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  %1 = loom.add %a, %0 : tensor<2x3xf32>
  %2 = loom.sub %1, %c : tensor<2x3xf32>
  %3 = loom.add %2, %a : tensor<2x3xf32>
  %4 = loom.constant(4.0 : f32) : tensor<2x3xf32>
  %5 = loom.add %3, %4 : tensor<2x3xf32>
  return %5 : tensor<2x3xf32>
}

// -----

// A loop that carries two values.
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

// -----

// Values that a loop exchanges.
// CHECK: exchanged 0: float32[2] 1 2
// CHECK: exchanged 1: float32[2] 0 1
func.func @exchanged(%a: tensor<2xf32>, %b: tensor<2xf32>, %n: tensor<i64> {loom.values = dense<3> : tensor<i64>}) -> (tensor<2xf32>, tensor<2xf32>) {
  %0:2 = loom.for %n init(%a, %b) {
  ^bb0(%i: tensor<i64>, %x: tensor<2xf32>, %y: tensor<2xf32>):
    loom.yield %y, %x : tensor<2xf32>, tensor<2xf32>
  } : (tensor<i64>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xf32>
}

// -----

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

// -----

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

// BAD: 'loom.launch' op names @k, which is no kernel
// BAD: 'loom.call_host': it needs its library
// BAD: 'loom.launch': @k reaches beyond buffer 1
// BAD: 'loom.apply': its kernel reaches beyond operand 0
// BAD: the module has neither a function of tensors nor a loom.plan
// BAD: 'loom.plan': its symbolic sizes need loom.signature
// BAD: 'loom.run' op names @none, which is no plan
