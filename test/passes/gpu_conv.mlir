// Convolutions on a GPU: the tiles of a product, whose operands are made on the way.
// RUN: split-file %s %t
// RUN: %loom-opt --loom-plans %t/tiles.mlir | FileCheck %s --check-prefix=TILES
// RUN: %loom-opt --loom-lowered %t/padded.mlir | FileCheck %s --check-prefix=CODE
// RUN: %loom-opt --loom-lowered %t/depthwise.mlir | FileCheck %s --check-prefix=DIRECT
// RUN: not %loom-opt --loom-plans %t/half.mlir 2>&1 | FileCheck %s --check-prefix=HALF

//--- tiles.mlir
module attributes {loom.target = "nvptx"} {
  // Rows are the 256 output channels, columns 32 * 56 * 56 pixels: 2 x 784 tiles of 128 x 128.
  // TILES-LABEL: ^bb0({{.*}}tensor<32x128x58x58xf32>
  // TILES: stages = array<i64: 1568>
  func.func @main(%x: tensor<32x128x58x58xf32>, %w: tensor<256x128x3x3xf32>) -> tensor<32x256x56x56xf32> {
    %0 = loom.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1 : (tensor<32x128x58x58xf32>, tensor<256x128x3x3xf32>) -> tensor<32x256x56x56xf32>
    return %0 : tensor<32x256x56x56xf32>
  }
  // A depth of 4608 with few tiles: parts, and a stage that adds them up.
  // TILES-LABEL: ^bb0({{.*}}tensor<1x512x9x9xf32>
  // TILES: slots = {{[1-9][0-9]*}} : i64{{.*}} stages = array<i64: {{[0-9]+}}, 25>
  func.func @deep(%x: tensor<1x512x9x9xf32>, %w: tensor<128x512x3x3xf32>) -> tensor<1x128x7x7xf32> {
    %0 = loom.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1 : (tensor<1x512x9x9xf32>, tensor<128x512x3x3xf32>) -> tensor<1x128x7x7xf32>
    return %0 : tensor<1x128x7x7xf32>
  }
  // The gradient of weights: rows are output channels, columns the taps, the depth is 2 * 14 * 14 pixels.
  // TILES-LABEL: ^bb0({{.*}}tensor<2x64x14x14xf32>
  // TILES: slots = {{[1-9][0-9]*}} : i64{{.*}} stages = array<i64: {{[0-9]+}}, 144>
  func.func @gradient(%x: tensor<2x64x14x14xf32>, %g: tensor<2x64x14x14xf32>) -> tensor<64x64x3x3xf32> {
    %0 = loom.convolution_gradient %x, %g strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] window = [3, 3] groups = 1 : (tensor<2x64x14x14xf32>, tensor<2x64x14x14xf32>) -> tensor<64x64x3x3xf32>
    return %0 : tensor<64x64x3x3xf32>
  }
}
//--- padded.mlir
module attributes {loom.target = "nvptx"} {
  // Pixels and taps are divided with 32 bits. An element in the padding is a zero, and its load goes to the first element.
  // CODE-LABEL: func.func private @k0_s0_body(
  // CODE: call @loom_gpu_shared() : () -> !llvm.ptr
  // CODE: arith.remui %{{.*}}, %{{.*}} : i32
  // CODE: arith.divui %{{.*}}, %{{.*}} : i32
  // CODE: %[[PLACE:.*]] = arith.select %{{.*}}, %{{.*}}, %arg0 : !llvm.ptr
  // CODE: llvm.load %[[PLACE]]
  // CODE: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
  // CODE: call @loom_gpu_barrier(
  // CODE: passthrough = {{\[\[}}"loom-gpu-threads", "256"], ["loom-gpu-shared"
  func.func @main(%x: tensor<3x4x14x14xf32>, %w: tensor<17x4x3x3xf32>) -> tensor<3x17x14x14xf32> {
    %0 = loom.convolution %x, %w strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 1 : (tensor<3x4x14x14xf32>, tensor<17x4x3x3xf32>) -> tensor<3x17x14x14xf32>
    return %0 : tensor<3x17x14x14xf32>
  }
}
//--- depthwise.mlir
module attributes {loom.target = "nvptx"} {
  // One output channel a group: a thread has an element.
  // DIRECT-LABEL: func.func private @k0_s0_body(
  // DIRECT-NOT: shared
  // DIRECT-NOT: barrier
  // DIRECT: scf.for {{.*}} iter_args(
  // DIRECT: passthrough = {{\[\[}}"loom-gpu-threads", "256"]]
  func.func @main(%x: tensor<2x32x15x17xf32>, %w: tensor<32x1x3x3xf32>) -> tensor<2x32x8x9xf32> {
    %0 = loom.convolution %x, %w strides = [2, 2] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 32 : (tensor<2x32x15x17xf32>, tensor<32x1x3x3xf32>) -> tensor<2x32x8x9xf32>
    return %0 : tensor<2x32x8x9xf32>
  }
}
//--- half.mlir
module attributes {loom.target = "nvptx"} {
  // HALF: error: cannot lower 'loom.convolution': no arithmetic for this element type
  func.func @main(%x: tensor<2x32x15xf16>, %w: tensor<32x32x3xf16>) -> tensor<2x32x13xf16> {
    %0 = loom.convolution %x, %w strides = [1] padding = [0, 0] dilation = [1] groups = 1 : (tensor<2x32x15xf16>, tensor<32x32x3xf16>) -> tensor<2x32x13xf16>
    return %0 : tensor<2x32x13xf16>
  }
}
