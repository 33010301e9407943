// Windows: pooling in one to three dimensions, with indices, as a plain view.
func.func @max_pool(%x: tensor<2x5x16x19xf32>) -> tensor<2x5x8x10xf32> {
  %m = loom.constant(0xFF800000 : f32) : tensor<f32>
  %0 = loom.pad %x, %m low = [0, 0, 1, 1] high = [0, 0, 1, 1] : (tensor<2x5x16x19xf32>, tensor<f32>) -> tensor<2x5x18x21xf32>
  %1 = loom.windows %0 sizes = [1, 1, 3, 3] strides = [1, 1, 2, 2] dilation = [1, 1, 1, 1] : (tensor<2x5x18x21xf32>) -> tensor<2x5x8x10x1x1x3x3xf32>
  %2 = loom.reduce "max" %1 axes = [4, 5, 6, 7] : (tensor<2x5x8x10x1x1x3x3xf32>) -> tensor<2x5x8x10xf32>
  return %2 : tensor<2x5x8x10xf32>
}
func.func @average(%x: tensor<3x4x33xf64>) -> tensor<3x4x11xf64> {
  %0 = loom.windows %x sizes = [1, 1, 3] strides = [1, 1, 3] dilation = [1, 1, 1] : (tensor<3x4x33xf64>) -> tensor<3x4x11x1x1x3xf64>
  %1 = loom.reduce "sum" %0 axes = [3, 4, 5] : (tensor<3x4x11x1x1x3xf64>) -> tensor<3x4x11xf64>
  %k = loom.constant(0.5 : f64) : tensor<3x4x11xf64>
  %2 = loom.mul %1, %k : tensor<3x4x11xf64>
  return %2 : tensor<3x4x11xf64>
}
func.func @indices(%x: tensor<4x12x20xf32>) -> tensor<4x6x10xi64> {
  %0 = loom.windows %x sizes = [1, 2, 2] strides = [1, 2, 2] dilation = [1, 1, 1] : (tensor<4x12x20xf32>) -> tensor<4x6x10x1x2x2xf32>
  %1 = loom.reshape %0 : (tensor<4x6x10x1x2x2xf32>) -> tensor<4x6x10x4xf32>
  %2 = loom.reduce "argmax" %1 axes = [3] : (tensor<4x6x10x4xf32>) -> tensor<4x6x10xi64>
  return %2 : tensor<4x6x10xi64>
}
func.func @volume(%x: tensor<2x3x6x7x8xi32>) -> tensor<2x3x4x5x6xi32> {
  %0 = loom.windows %x sizes = [1, 1, 3, 3, 3] strides = [1, 1, 1, 1, 1] dilation = [1, 1, 1, 1, 1] : (tensor<2x3x6x7x8xi32>) -> tensor<2x3x4x5x6x1x1x3x3x3xi32>
  %1 = loom.reduce "min" %0 axes = [5, 6, 7, 8, 9] : (tensor<2x3x4x5x6x1x1x3x3x3xi32>) -> tensor<2x3x4x5x6xi32>
  return %1 : tensor<2x3x4x5x6xi32>
}
// What is computed before overlapping windows is stored once; the view itself may be returned.
func.func @view(%x: tensor<20xf32>) -> (tensor<7x4xf32>, tensor<7xf32>) {
  %e = loom.exp %x : tensor<20xf32>
  %0 = loom.windows %e sizes = [4] strides = [2] dilation = [2] : (tensor<20xf32>) -> tensor<7x4xf32>
  %1 = loom.reduce "sum" %0 axes = [1] : (tensor<7x4xf32>) -> tensor<7xf32>
  return %0, %1 : tensor<7x4xf32>, tensor<7xf32>
}
