// A dense layer: relu(x @ w + bias) of a 64x128 batch.
func.func @dense(%x: tensor<64x128xf32>, %w: tensor<128x32xf32>, %bias: tensor<32xf32>) -> tensor<64x32xf32> {
  %dot = loom.dot_general %x, %w batch = [] x [] contract = [1] x [0]
      : (tensor<64x128xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>
  %b = loom.broadcast %bias dims = [1] : (tensor<32xf32>) -> tensor<64x32xf32>
  %sum = loom.add %dot, %b : tensor<64x32xf32>
  %zero = loom.constant(0.0 : f32) : tensor<64x32xf32>
  %y = loom.max %sum, %zero : tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}
