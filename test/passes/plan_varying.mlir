// Memory of a loop's body that depends on its index: buffers of fixed size lie in the same arena, and all of it can be compiled.
// RUN: %loom-opt --loom-plans %s | FileCheck %s
// RUN: %loom-opt --loom-cpu %s -o /dev/null

// CHECK-LABEL: loom.plan @main_r0
// CHECK: loom.buffer offset = {{[0-9]+}} {bytes = -{{[0-9]+}} : i64} : memref<?xf64>
// CHECK: loom.buffer offset = 0 : memref<40xf64>
// CHECK: arena = -{{[0-9]+}} : i64

#map = affine_map<()[s0] -> (s0 + 3)>
module attributes {loom.exprs = array<i64: 1, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 1, 0, 3, 0, 0, 2, 0, 0, 3, 0, -1, 0, 0, 3, 0, 0, 5, 0, -3, 0, 0, 2, 0, 6, 7, 0, -40, 0, 0, 0, -37, 0, 0, 2, 0, 0, 10, 0, -2, 0, 0, 2, 0, 6, 12, 2, 0, 6, 5, 0, 2, 0, 0, 2, 0, 0, 15, 0, 38, 0, 0, 2, 0, 6, 17, 0, 8, 0, 0, 3, 0, 0, 19, 0, 24, 0, 0, 2, 0, 20, 21, 0, 39, 0, 0, 2, 0, 6, 23, 2, 0, 20, 19>, loom.symbols = array<i64: 0, 35, 1, 18>, loom.target = "x86", loom.vector = 64 : i64} {
  func.func @main(%arg0: tensor<40xf64> {loom.strides = array<i64: 1>}) -> (tensor<40xf64> {loom.strides = array<i64: 1>}) {
    %0 = loom.constant(0.000000e+00 : f64) : tensor<40xf64>
    %1 = loom.slice %arg0 starts = [0] sizes = [2] steps = [1] : (tensor<40xf64>) -> tensor<2xf64>
    %2 = loom.scan "sum" %1 axis = 0 : tensor<2xf64>
    %3 = loom.slice %2 starts = [0] sizes = [1] steps = [1] : (tensor<2xf64>) -> tensor<1xf64>
    %4 = loom.reshape %3 : (tensor<1xf64>) -> tensor<f64>
    %5 = loom.slice %2 starts = [0] sizes = [1] steps = [1] : (tensor<2xf64>) -> tensor<1xf64>
    %6 = loom.reshape %5 : (tensor<1xf64>) -> tensor<f64>
    %7 = loom.add %4, %6 : tensor<f64>
    %8 = loom.reduce "sum" %2 axes = [0] : (tensor<2xf64>) -> tensor<f64>
    %9 = loom.add %7, %8 : tensor<f64>
    %10 = loom.scan "sum" %0 axis = 0 : tensor<40xf64>
    %11 = loom.slice %10 starts = [3] sizes = [1] steps = [1] : (tensor<40xf64>) -> tensor<1xf64>
    %12 = loom.reshape %11 : (tensor<1xf64>) -> tensor<f64>
    %13 = loom.add %9, %12 : tensor<f64>
    %14 = loom.reshape %13 : (tensor<f64>) -> tensor<1xf64>
    %15 = loom.update_slice %0, %14 starts = [0] steps = [1] : (tensor<40xf64>, tensor<1xf64>) -> tensor<40xf64>
    %16 = loom.constant(36 : i64) : tensor<i64>
    %17 = loom.for %16 init(%15) symbol = 0 {
    ^bb0(%arg1: tensor<i64>, %arg2: tensor<40xf64>):
      %18 = loom.slice %arg0 starts = [0] sizes = [-9223372036854775804] steps = [1] : (tensor<40xf64>) -> tensor<?xf64, #map>
      %19 = loom.scan "sum" %18 axis = 0 : tensor<?xf64, #map>
      %20 = loom.slice %19 starts = [0] sizes = [1] steps = [1] : (tensor<?xf64, #map>) -> tensor<1xf64>
      %21 = loom.reshape %20 : (tensor<1xf64>) -> tensor<f64>
      %22 = loom.slice %19 starts = [-9223372036854775806] sizes = [1] steps = [1] : (tensor<?xf64, #map>) -> tensor<1xf64>
      %23 = loom.reshape %22 : (tensor<1xf64>) -> tensor<f64>
      %24 = loom.add %21, %23 : tensor<f64>
      %25 = loom.reduce "sum" %19 axes = [0] : (tensor<?xf64, #map>) -> tensor<f64>
      %26 = loom.add %24, %25 : tensor<f64>
      %27 = loom.scan "sum" %arg2 axis = 0 : tensor<40xf64>
      %28 = loom.slice %27 starts = [3] sizes = [1] steps = [1] : (tensor<40xf64>) -> tensor<1xf64>
      %29 = loom.reshape %28 : (tensor<1xf64>) -> tensor<f64>
      %30 = loom.add %26, %29 : tensor<f64>
      %31 = loom.reshape %30 : (tensor<f64>) -> tensor<1xf64>
      %32 = loom.update_slice %arg2, %31 starts = [-9223372036854775806] steps = [1] : (tensor<40xf64>, tensor<1xf64>) -> tensor<40xf64>
      loom.yield %32 : tensor<40xf64>
    } : (tensor<i64>, tensor<40xf64>) -> tensor<40xf64>
    return %17 : tensor<40xf64>
  }
}

