func.func @endless(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = loom.while init(%x) {
  ^bb0(%a: tensor<4xf32>):
    %t = loom.constant(true) : tensor<i1>
    %s = loom.reduce "sum" %a axes = [0] : (tensor<4xf32>) -> tensor<f32>
    %z = loom.constant(-1.0 : f32) : tensor<f32>
    %c = loom.compare "ge" %s, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>
    loom.yield %c : tensor<i1>
  } do {
  ^bb0(%a: tensor<4xf32>):
    %b = loom.abs %a : tensor<4xf32>
    loom.yield %b : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
