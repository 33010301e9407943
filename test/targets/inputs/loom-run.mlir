func.func @f(%a: tensor<3xf32>, %b: tensor<3xf32>, %c: tensor<3xi1> {loom.values = dense<[true, false, true]> : tensor<3xi1>}) -> (tensor<3xf32>, tensor<3xi1>) {
  %0 = loom.add %a, %b : tensor<3xf32>
  return %0, %c : tensor<3xf32>, tensor<3xi1>
}
func.func @g(%a: tensor<?x2xi64, affine_map<()[s0] -> (s0, 2)>>) -> tensor<?x2xi64, affine_map<()[s0] -> (s0, 2)>> {
  %0 = loom.abs %a : tensor<?x2xi64, affine_map<()[s0] -> (s0, 2)>>
  return %0 : tensor<?x2xi64, affine_map<()[s0] -> (s0, 2)>>
}
