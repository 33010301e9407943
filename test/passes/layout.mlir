// RUN: %loom-opt %s --loom-fuse --loom-layout --split-input-file | FileCheck %s
// RUN: %loom-opt %s --loom-fuse --loom-layout --loom-outline --split-input-file | FileCheck %s --check-prefix=KERNEL

// An image whose channels are neighbours: what lies between kernels lies as it does, whatever the
// number of kernels, and a reduced dimension goes.
// CHECK-LABEL: func.func @channels
// CHECK: loom.fusion
// CHECK: loom.pad
// CHECK: } {loom.orders = [array<i64: 0, 2, 3, 1>]} : {{.*}} -> tensor<2x64x9x9xf32>
// CHECK: return
// KERNEL-LABEL: func.func @channels
// KERNEL: loom.apply @{{.*}} {loom.orders = [array<i64: 0, 2, 3, 1>]}
func.func @channels(%x: tensor<2x64x8x8xf32> {loom.strides = array<i64: 4096, 1, 512, 64>})
    -> (tensor<2x64x4x4xf32> {loom.strides = array<i64: 1024, 1, 256, 64>}) {
  %z = loom.constant(0.0 : f32) : tensor<f32>
  %0 = loom.pad %x, %z low = [0, 0, 1, 1] high = [0, 0, 0, 0] : (tensor<2x64x8x8xf32>, tensor<f32>) -> tensor<2x64x9x9xf32>
  %1 = loom.windows %0 sizes = [1, 1, 3, 3] strides = [1, 1, 2, 2] dilation = [1, 1, 1, 1] : (tensor<2x64x9x9xf32>) -> tensor<2x64x4x4x1x1x3x3xf32>
  %2 = loom.reduce "max" %1 axes = [4, 5, 6, 7] : (tensor<2x64x4x4x1x1x3x3xf32>) -> tensor<2x64x4x4xf32>
  return %2 : tensor<2x64x4x4xf32>
}

// -----

// A reduction drops dimensions, a broadcast brings them back, and a split dimension stays in its place.
// CHECK-LABEL: func.func @reduced
// CHECK: } {loom.orders = [array<i64: 0, 2, 1>]} : {{.*}} -> tensor<2x64x9xf32>
func.func @reduced(%x: tensor<2x64x18x8xf32> {loom.strides = array<i64: 9216, 1, 512, 64>}) -> tensor<2x64x10xf32> {
  %z = loom.constant(0.0 : f32) : tensor<f32>
  %0 = loom.reshape %x : (tensor<2x64x18x8xf32>) -> tensor<2x64x9x2x8xf32>
  %1 = loom.reduce "sum" %0 axes = [3, 4] : (tensor<2x64x9x2x8xf32>) -> tensor<2x64x9xf32>
  %2 = loom.pad %1, %z low = [0, 0, 0] high = [0, 0, 1] : (tensor<2x64x9xf32>, tensor<f32>) -> tensor<2x64x10xf32>
  %3 = loom.reduce "sum" %2 axes = [2] : (tensor<2x64x10xf32>) -> tensor<2x64xf32>
  %4 = loom.broadcast %3 dims = [0, 1] : (tensor<2x64xf32>) -> tensor<2x64x10xf32>
  %5 = loom.sub %2, %4 : tensor<2x64x10xf32>
  return %5 : tensor<2x64x10xf32>
}

// -----

// Fortran's order, with a symbolic size.
// CHECK-LABEL: func.func @fortran
// CHECK: } {loom.orders = [array<i64: 1, 0>]}
// KERNEL-LABEL: loom.kernel @k0
// KERNEL: strides = [array<i64: 1, -9223372036854775808>, array<i64: 1, -9223372036854775808>]
#m = affine_map<()[s0] -> (s0, 6)>
#n = affine_map<()[s0] -> (s0)>
module attributes {loom.exprs = array<i64: 1, 0, 0, 0>, loom.symbols = array<i64: 9, 4096, 1, 64>} {
  func.func @fortran(%x: tensor<?x6xf32, #m> {loom.strides = array<i64: 1, -9223372036854775808>}) -> tensor<?x6xf32, #m> {
    %0 = loom.scan "sum" %x axis = 1 : tensor<?x6xf32, #m>
    %1 = loom.scan "sum" %0 axis = 0 : tensor<?x6xf32, #m>
    return %1 : tensor<?x6xf32, #m>
  }
}

// -----

// In C order: what a product, a sort or a reshape between kernels reads; a value whose innermost dimension would be
// short; what is updated in place. A result lies as the caller asks.
// CHECK-LABEL: func.func @plain
// CHECK-NOT: loom.orders
// CHECK: return
func.func @plain(%x: tensor<64x32xf32> {loom.strides = array<i64: 1, 64>}, %y: tensor<64x32x3xf32> {loom.strides = array<i64: 1, 192, 64>},
                 %s: tensor<4x512xf32> {loom.strides = array<i64: 1, 4>}) -> (tensor<64x64xf32>, tensor<64x32xf32>, tensor<2048xf32>, tensor<4x512xf32>, tensor<64x32xf32>) {
  %0 = loom.scan "sum" %x axis = 1 : tensor<64x32xf32>
  %1 = loom.dot_general %0, %0 batch = [] x [] contract = [1] x [1] : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x64xf32>
  %2 = loom.scan "max" %x axis = 1 : tensor<64x32xf32>
  %3 = loom.sort %2 axis = 0 {indices = false} : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %4 = loom.scan "min" %x axis = 1 : tensor<64x32xf32>
  %5 = loom.reshape %4 : (tensor<64x32xf32>) -> tensor<2048xf32>
  %6 = loom.scan "sum" %s axis = 1 : tensor<4x512xf32>
  %7 = loom.scan "sum" %6 axis = 0 : tensor<4x512xf32>
  %8 = loom.scan "prod" %x axis = 1 : tensor<64x32xf32>
  return %1, %3, %5, %7, %8 : tensor<64x64xf32>, tensor<64x32xf32>, tensor<2048xf32>, tensor<4x512xf32>, tensor<64x32xf32>
}

// -----

// Convolutions have forms for channels that are neighbours, but for few output channels. The gradient of weights reads both images so.
// CHECK-LABEL: func.func @convolutions
// CHECK: loom.fusion
// CHECK: loom.convolution
// CHECK: } {loom.orders = [array<i64: 0, 2, 3, 1>]}
// CHECK: loom.fusion
// CHECK: loom.convolution
// CHECK: } {loom.orders = [array<i64: 0, 2, 3, 1>]}
// CHECK: loom.fusion
// CHECK: loom.convolution
// CHECK: } {loom.orders = [array<i64: 0, 2, 3, 1>]}
// CHECK: loom.fusion
// CHECK: loom.convolution_gradient
// CHECK-NOT: loom.orders
// CHECK: return
func.func @convolutions(%x: tensor<2x32x8x8xf32> {loom.strides = array<i64: 2048, 1, 256, 32>}, %d: tensor<32x1x3x3xf32>, %w: tensor<16x32x3x3xf32>)
    -> tensor<16x32x3x3xf32> {
  %0 = loom.convolution %x, %d strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 32 : (tensor<2x32x8x8xf32>, tensor<32x1x3x3xf32>) -> tensor<2x32x8x8xf32>
  %1 = loom.convolution %0, %d strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 32 : (tensor<2x32x8x8xf32>, tensor<32x1x3x3xf32>) -> tensor<2x32x8x8xf32>
  %2 = loom.convolution %1, %w strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 1 : (tensor<2x32x8x8xf32>, tensor<16x32x3x3xf32>) -> tensor<2x16x8x8xf32>
  %3 = loom.convolution_gradient %1, %2 strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] window = [3, 3] groups = 1 : (tensor<2x32x8x8xf32>, tensor<2x16x8x8xf32>) -> tensor<16x32x3x3xf32>
  return %3 : tensor<16x32x3x3xf32>
}

// -----

// A convolution with few output channels reads and writes C order.
// CHECK-LABEL: func.func @few
// CHECK: loom.fusion
// CHECK-NOT: loom.orders
// CHECK: return
func.func @few(%x: tensor<2x32x8x8xf32> {loom.strides = array<i64: 2048, 1, 256, 32>}, %w: tensor<4x32x3x3xf32>, %v: tensor<4x4x3x3xf32>)
    -> tensor<2x4x8x8xf32> {
  %0 = loom.sin %x : tensor<2x32x8x8xf32>
  %1 = loom.convolution %0, %w strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 1 : (tensor<2x32x8x8xf32>, tensor<4x32x3x3xf32>) -> tensor<2x4x8x8xf32>
  %2 = loom.convolution %1, %v strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 1 : (tensor<2x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<2x4x8x8xf32>
  return %2 : tensor<2x4x8x8xf32>
}

// -----

// What is returned through a reshape is written as the caller asks, without a second kernel.
// KERNEL-LABEL: func.func @reshaped
// KERNEL-COUNT-1: loom.apply
// KERNEL-NOT: loom.apply
// KERNEL: return
func.func @reshaped(%x: tensor<2x32x4x4xf32> {loom.strides = array<i64: 512, 1, 128, 32>})
    -> (tensor<2x32x8x8xf32> {loom.strides = array<i64: 2048, 1, 256, 32>}) {
  %0 = loom.broadcast %x dims = [0, 1, 2, 4] : (tensor<2x32x4x4xf32>) -> tensor<2x32x4x2x4x2xf32>
  %1 = loom.reshape %0 : (tensor<2x32x4x2x4x2xf32>) -> tensor<2x32x8x8xf32>
  return %1 : tensor<2x32x8x8xf32>
}
