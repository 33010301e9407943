func.func @bounds(%a: tensor<3xf32>, %i: tensor<3xi64>) -> tensor<3xf32> {
  %0 = loom.gather "raise" %a, %i axis = 0 : (tensor<3xf32>, tensor<3xi64>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
// -----
func.func @host(%a: tensor<3xf32>) -> tensor<3xf32> {
  %0 = loom.host_call "fft" (%a) effects = "pure" slot = 0 : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
// -----
func.func @foreign(%a: f32) -> f32 {
  %0 = arith.addf %a, %a : f32
  return %0 : f32
}
// -----
func.func @foreign_op(%a: tensor<3xf32>) -> tensor<3xf32> {
  %0 = arith.addf %a, %a : tensor<3xf32>
  return %0 : tensor<3xf32>
}
// -----
func.func @values(%a: tensor<3xf32> {loom.values = dense<1.0> : tensor<3xf64>}) -> tensor<3xf32> {
  return %a : tensor<3xf32>
}
