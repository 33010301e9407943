// RUN: %loom-opt %s --loom-plan --split-input-file --verify-diagnostics

// The library writes its results in C order: an output in another order is refused, not filled wrongly.
func.func @main(%a: tensor<4x2xf32>) -> (tensor<4x2xf32> {loom.strides = array<i64: 1, 4>}) {
  // expected-error @+1 {{a host call cannot write a result in another order than C}}
  %0 = loom.host_call "f"(%a) effects = "raises" slot = 3 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

func.func @main(%c: tensor<i1>, %t: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'loom.if' has regions: run loom-regions first}}
  %1 = loom.if %c (%t) {
  ^bb0(%x: tensor<4xf32>):
    loom.yield %x : tensor<4xf32>
  } else {
  ^bb0(%x: tensor<4xf32>):
    loom.yield %x : tensor<4xf32>
  } : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
