// Convolutions and their gradients for GPUs: gpu-convolutions.test runs them on the simulator, and puts them through the vendors' tools.
func.func @gradient(%x: tensor<2x5x9x10xf32>, %g: tensor<2x18x5x5xf32>) -> tensor<18x5x3x3xf32> {
  %0 = loom.convolution_gradient %x, %g strides = [2, 2] padding = [1, 1, 1, 0] dilation = [1, 1] window = [3, 3] groups = 1 : (tensor<2x5x9x10xf32>, tensor<2x18x5x5xf32>) -> tensor<18x5x3x3xf32>
  return %0 : tensor<18x5x3x3xf32>
}
func.func @gradient_grouped(%x: tensor<2x4x9xf64>, %g: tensor<2x6x7xf64>) -> tensor<6x2x3xf64> {
  %0 = loom.convolution_gradient %x, %g strides = [1] padding = [1, 1] dilation = [2] window = [3] groups = 2 : (tensor<2x4x9xf64>, tensor<2x6x7xf64>) -> tensor<6x2x3xf64>
  return %0 : tensor<6x2x3xf64>
}
func.func @gradient_depthwise(%x: tensor<3x4x8x8xf32>, %g: tensor<3x4x8x8xf32>) -> tensor<4x1x3x3xf32> {
  %0 = loom.convolution_gradient %x, %g strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] window = [3, 3] groups = 4 : (tensor<3x4x8x8xf32>, tensor<3x4x8x8xf32>) -> tensor<4x1x3x3xf32>
  return %0 : tensor<4x1x3x3xf32>
}
func.func @gradient_last(%x: tensor<2x16x6x6xf32> {loom.strides = array<i64: 576, 1, 96, 16>}, %g: tensor<2x16x6x6xf32> {loom.strides = array<i64: 576, 1, 96, 16>}) -> (tensor<16x16x3x3xf32> {loom.strides = array<i64: 144, 1, 48, 16>}) {
  %0 = loom.convolution_gradient %x, %g strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] window = [3, 3] groups = 1 : (tensor<2x16x6x6xf32>, tensor<2x16x6x6xf32>) -> tensor<16x16x3x3xf32>
  return %0 : tensor<16x16x3x3xf32>
}
func.func @deep(%x: tensor<1x64x4x4xf32>, %w: tensor<16x64x3x3xf32>, %b: tensor<16xf32>) -> tensor<1x16x4x4xf32> {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 1 : (tensor<1x64x4x4xf32>, tensor<16x64x3x3xf32>) -> tensor<1x16x4x4xf32>
  %1 = loom.broadcast %b dims = [1] : (tensor<16xf32>) -> tensor<1x16x4x4xf32>
  %2 = loom.add %0, %1 : tensor<1x16x4x4xf32>
  return %2 : tensor<1x16x4x4xf32>
}
func.func @last(%x: tensor<1x16x8x8xf32> {loom.strides = array<i64: 1024, 1, 128, 16>}, %w: tensor<16x16x3x3xf32> {loom.strides = array<i64: 144, 1, 48, 16>}) -> (tensor<1x16x6x6xf32> {loom.strides = array<i64: 576, 1, 96, 16>}) {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1 : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x6x6xf32>
  return %0 : tensor<1x16x6x6xf32>
}
func.func @first(%x: tensor<1x8x10x18xf32>, %w: tensor<16x8x3x3xf32>) -> tensor<1x16x8x16xf32> {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1 : (tensor<1x8x10x18xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x8x16xf32>
  return %0 : tensor<1x16x8x16xf32>
}
func.func @depthwise(%x: tensor<1x8x6x6xf32> {loom.strides = array<i64: 288, 1, 48, 8>}, %w: tensor<8x1x3x3xf32>) -> (tensor<1x8x6x6xf32> {loom.strides = array<i64: 288, 1, 48, 8>}) {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 8 : (tensor<1x8x6x6xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x6x6xf32>
  return %0 : tensor<1x8x6x6xf32>
}
func.func @pixel(%x: tensor<1x15x4x2xf32>, %w: tensor<5x3x3x3xf32>) -> tensor<1x5x1x1xf32> {
  %0 = loom.convolution %x, %w strides = [2, 1] padding = [0, 0, 0, 1] dilation = [1, 1] groups = 5 : (tensor<1x15x4x2xf32>, tensor<5x3x3x3xf32>) -> tensor<1x5x1x1xf32>
  return %0 : tensor<1x5x1x1xf32>
}
