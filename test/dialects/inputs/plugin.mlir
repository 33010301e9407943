func.func @main(%a: tensor<2x3xf32>) -> tensor<3xf32> {
  %0 = loom.reduce "sum" %a axes = [0] : (tensor<2x3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
