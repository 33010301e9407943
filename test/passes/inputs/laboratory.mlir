func.func @main(%a: tensor<4x8xf32>, %b: tensor<8xf32>, %n: tensor<4xi64>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xi64>) {
  %0 = loom.exp %a : tensor<4x8xf32>
  %1 = loom.broadcast %b dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %2 = loom.mul %0, %1 : tensor<4x8xf32>
  %3 = loom.sub %2, %2 : tensor<4x8xf32>
  %4 = loom.add %3, %a : tensor<4x8xf32>
  %5 = loom.tanh %4 : tensor<4x8xf32>
  %6 = loom.reduce "sum" %5 axes = [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %7 = loom.sub %n, %n : tensor<4xi64>
  %8 = loom.add %7, %n : tensor<4xi64>
  return %5, %6, %8 : tensor<4x8xf32>, tensor<4xf32>, tensor<4xi64>
}
