func.func @large(%x: tensor<4000x4000xf32>) -> tensor<4000x4000xf32> {
  %0 = loom.dot_general %x, %x batch = [] x [] contract = [1] x [0] : (tensor<4000x4000xf32>, tensor<4000x4000xf32>) -> tensor<4000x4000xf32>
  return %0 : tensor<4000x4000xf32>
}
