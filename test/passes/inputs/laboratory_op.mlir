func.func @signs(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %0 = loom.abs %b : tensor<4x8xf32>
  %1 = loom.sub %0, %a : tensor<4x8xf32>
  %2 = loom.copysign %0, %1 : tensor<4x8xf32>
  %3 = loom.reduce "sum" %2 axes = [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  return %2, %3 : tensor<4x8xf32>, tensor<4xf32>
}
