// Convolutions of one to three dimensions: strides, padding, dilation, groups, layouts, what goes before and after.
func.func @plain(%x: tensor<2x5x9x11xf32>, %w: tensor<7x5x3x3xf32>) -> tensor<2x7x7x9xf32> {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1 : (tensor<2x5x9x11xf32>, tensor<7x5x3x3xf32>) -> tensor<2x7x7x9xf32>
  return %0 : tensor<2x7x7x9xf32>
}
func.func @padded(%x: tensor<3x4x14x14xf32>, %w: tensor<17x4x3x3xf32>, %b: tensor<17xf32>) -> tensor<3x17x14x14xf32> {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 1 : (tensor<3x4x14x14xf32>, tensor<17x4x3x3xf32>) -> tensor<3x17x14x14xf32>
  %1 = loom.broadcast %b dims = [1] : (tensor<17xf32>) -> tensor<3x17x14x14xf32>
  %2 = loom.add %0, %1 : tensor<3x17x14x14xf32>
  %z = loom.constant(0.0 : f32) : tensor<3x17x14x14xf32>
  %3 = loom.max %2, %z : tensor<3x17x14x14xf32>
  return %3 : tensor<3x17x14x14xf32>
}
func.func @strided(%x: tensor<1x3x33x35xf64>, %w: tensor<20x3x7x5xf64>) -> tensor<1x20x17x12xf64> {
  %0 = loom.convolution %x, %w strides = [2, 3] padding = [3, 3, 2, 1] dilation = [1, 1] groups = 1 : (tensor<1x3x33x35xf64>, tensor<20x3x7x5xf64>) -> tensor<1x20x17x12xf64>
  return %0 : tensor<1x20x17x12xf64>
}
func.func @dilated(%x: tensor<2x3x20x21xf32>, %w: tensor<5x3x3x2xf32>) -> tensor<2x5x18x22xf32> {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [2, 0, 1, 3] dilation = [2, 3] groups = 1 : (tensor<2x3x20x21xf32>, tensor<5x3x3x2xf32>) -> tensor<2x5x18x22xf32>
  return %0 : tensor<2x5x18x22xf32>
}
func.func @grouped(%x: tensor<2x12x10x10xf32>, %w: tensor<20x3x3x3xf32>) -> tensor<2x20x10x10xf32> {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 4 : (tensor<2x12x10x10xf32>, tensor<20x3x3x3xf32>) -> tensor<2x20x10x10xf32>
  return %0 : tensor<2x20x10x10xf32>
}
func.func @depthwise(%x: tensor<2x32x15x17xf32>, %w: tensor<32x1x3x3xf32>) -> tensor<2x32x8x9xf32> {
  %0 = loom.convolution %x, %w strides = [2, 2] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 32 : (tensor<2x32x15x17xf32>, tensor<32x1x3x3xf32>) -> tensor<2x32x8x9xf32>
  return %0 : tensor<2x32x8x9xf32>
}
func.func @line(%x: tensor<4x8x50xf32>, %w: tensor<16x8x5xf32>) -> tensor<4x16x50xf32> {
  %0 = loom.convolution %x, %w strides = [1] padding = [2, 2] dilation = [1] groups = 1 : (tensor<4x8x50xf32>, tensor<16x8x5xf32>) -> tensor<4x16x50xf32>
  return %0 : tensor<4x16x50xf32>
}
func.func @volume(%x: tensor<2x3x6x7x8xf32>, %w: tensor<9x3x3x2x3xf32>) -> tensor<2x9x3x8x8xf32> {
  %0 = loom.convolution %x, %w strides = [2, 1, 1] padding = [1, 1, 1, 1, 1, 1] dilation = [1, 1, 1] groups = 1 : (tensor<2x3x6x7x8xf32>, tensor<9x3x3x2x3xf32>) -> tensor<2x9x3x8x8xf32>
  return %0 : tensor<2x9x3x8x8xf32>
}
func.func @channels_last(%x: tensor<2x16x9x9xf32> {loom.strides = array<i64: 1296, 1, 144, 16>}, %w: tensor<24x16x3x3xf32> {loom.strides = array<i64: 144, 1, 48, 16>}) -> (tensor<2x24x9x9xf32> {loom.strides = array<i64: 1944, 1, 216, 24>}) {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 1 : (tensor<2x16x9x9xf32>, tensor<24x16x3x3xf32>) -> tensor<2x24x9x9xf32>
  return %0 : tensor<2x24x9x9xf32>
}
func.func @pointwise(%x: tensor<2x30x7x7xf32>, %w: tensor<40x30x1x1xf32>) -> tensor<2x40x7x7xf32> {
  %e = loom.neg %x : tensor<2x30x7x7xf32>
  %0 = loom.convolution %e, %w strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1 : (tensor<2x30x7x7xf32>, tensor<40x30x1x1xf32>) -> tensor<2x40x7x7xf32>
  return %0 : tensor<2x40x7x7xf32>
}
// Weights in an order that is no line, and computed.
func.func @weights(%x: tensor<1x4x8x8xf32>, %w: tensor<3x3x4x6xf32>, %v: tensor<6x4x3x3xf32>) -> (tensor<1x6x6x6xf32>, tensor<1x6x6x6xf32>) {
  %t = loom.transpose %w perm = [3, 2, 0, 1] : (tensor<3x3x4x6xf32>) -> tensor<6x4x3x3xf32>
  %s = loom.mul %v, %v : tensor<6x4x3x3xf32>
  %0 = loom.convolution %x, %t strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1 : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  %1 = loom.convolution %x, %s strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1 : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  return %0, %1 : tensor<1x6x6x6xf32>, tensor<1x6x6x6xf32>
}
func.func @kinds(%x: tensor<2x3x9xi32>, %w: tensor<8x3x3xi32>, %y: tensor<2x3x9xui8>, %v: tensor<8x3x3xui8>, %e: tensor<2x0x9xf32>, %f: tensor<8x0x3xf32>, %m: tensor<5x6xf32>, %n: tensor<7x6xf32>) -> (tensor<2x8x9xi32>, tensor<2x8x9xui8>, tensor<2x8x7xf32>, tensor<5x7xf32>) {
  %0 = loom.convolution %x, %w strides = [1] padding = [1, 1] dilation = [1] groups = 1 : (tensor<2x3x9xi32>, tensor<8x3x3xi32>) -> tensor<2x8x9xi32>
  %1 = loom.convolution %y, %v strides = [1] padding = [1, 1] dilation = [1] groups = 1 : (tensor<2x3x9xui8>, tensor<8x3x3xui8>) -> tensor<2x8x9xui8>
  %2 = loom.convolution %e, %f strides = [1] padding = [0, 0] dilation = [1] groups = 1 : (tensor<2x0x9xf32>, tensor<8x0x3xf32>) -> tensor<2x8x7xf32>
  %3 = loom.convolution %m, %n strides = [] padding = [] dilation = [] groups = 1 : (tensor<5x6xf32>, tensor<7x6xf32>) -> tensor<5x7xf32>
  return %0, %1, %2, %3 : tensor<2x8x9xi32>, tensor<2x8x9xui8>, tensor<2x8x7xf32>, tensor<5x7xf32>
}
// Lines of one pixel: there are no lanes along them.
func.func @narrow(%x: tensor<2x4x8x8xf32>, %w: tensor<2x2x3x3xf32>, %y: tensor<1x2x4x3xf32>, %v: tensor<4x2x3x4xf32>) -> (tensor<2x2x2x1xf32>, tensor<1x4x2x1xf32>) {
  %0 = loom.convolution %x, %w strides = [3, 2] padding = [2, 2, 1, 1] dilation = [4, 4] groups = 2 : (tensor<2x4x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x2x1xf32>
  %1 = loom.convolution %y, %v strides = [2, 2] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 1 : (tensor<1x2x4x3xf32>, tensor<4x2x3x4xf32>) -> tensor<1x4x2x1xf32>
  return %0, %1 : tensor<2x2x2x1xf32>, tensor<1x4x2x1xf32>
}
// Weights whose windows are short lines, forwards and backwards: those of the next tile are fetched ahead.
func.func @fetched(%x: tensor<2x6x12x12xf32>, %w: tensor<29x6x3x3xf32> {loom.strides = array<i64: 9, 261, 3, 1>}) -> (tensor<2x29x10x10xf32>, tensor<2x29x10x10xf32>) {
  %r = loom.slice %w starts = [0, 0, 2, 2] sizes = [29, 6, 3, 3] steps = [1, 1, -1, -1] : (tensor<29x6x3x3xf32>) -> tensor<29x6x3x3xf32>
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1 : (tensor<2x6x12x12xf32>, tensor<29x6x3x3xf32>) -> tensor<2x29x10x10xf32>
  %1 = loom.convolution %x, %r strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1 : (tensor<2x6x12x12xf32>, tensor<29x6x3x3xf32>) -> tensor<2x29x10x10xf32>
  return %0, %1 : tensor<2x29x10x10xf32>, tensor<2x29x10x10xf32>
}
