func.func @f(%a: tensor<4x6x8xf32>, %b: tensor<6x4xf32>) -> (tensor<6xf32>, tensor<6x4xf32>) {
  %0 = loom.slice %a starts = [0, 2, 0] sizes = [4, 3, 8] steps = [1, 1, 1] : (tensor<4x6x8xf32>) -> tensor<4x3x8xf32>
  %1 = loom.transpose %0 perm = [1, 0, 2] : (tensor<4x3x8xf32>) -> tensor<3x4x8xf32>
  %2 = loom.concatenate %1, %1 axis = 0 : (tensor<3x4x8xf32>, tensor<3x4x8xf32>) -> tensor<6x4x8xf32>
  %3 = loom.reduce "sum" %2 axes = [1, 2] : (tensor<6x4x8xf32>) -> tensor<6xf32>
  %4 = loom.abs %b : tensor<6x4xf32>
  return %3, %4 : tensor<6xf32>, tensor<6x4xf32>
}
