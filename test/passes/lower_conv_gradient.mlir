// Gradients of a convolution's weights: lanes are output channels, rows of a tile input channels times window.
// RUN: %loom-opt %s --loom-lowered --split-input-file | FileCheck %s

// The first stage turns the result's gradient, so that a panel of channels lies together, and copies the input with its
// padding around it. The second sums tiles over blocks of pixels and lays them down turned back.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK-COUNT-24: vector.shuffle
// CHECK-NOT: llvm.intr.fma
// CHECK-LABEL: func.func private @k0_s1_body
// CHECK: :9 = scf.for
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[X:.*]] = vector.broadcast %{{.*}} : f32 to vector<8xf32>
// CHECK: llvm.intr.fma(%[[X]], %{{.*}}, %{{.*}})
// CHECK: arith.addf
// CHECK: vector.shuffle
// CHECK-LABEL: loom.plan @padded
// CHECK: loom.launch @k0 stage = 0
// CHECK: loom.launch @k0 stage = 1
func.func @padded(%x: tensor<4x16x20x20xf32>, %g: tensor<4x32x20x20xf32>) -> tensor<32x16x3x3xf32> {
  %0 = loom.convolution_gradient %x, %g strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] window = [3, 3] groups = 1 : (tensor<4x16x20x20xf32>, tensor<4x32x20x20xf32>) -> tensor<32x16x3x3xf32>
  return %0 : tensor<32x16x3x3xf32>
}

// -----

// Without padding the input is read where it is: the first stage has the gradient alone, and fewer chunks.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK-COUNT-24: vector.shuffle
// CHECK-NOT: %c484
// CHECK-LABEL: func.func private @k0_s1_body
// CHECK-LABEL: loom.plan @inside
func.func @inside(%x: tensor<4x16x20x20xf32>, %g: tensor<4x32x18x18xf32>) -> tensor<32x16x3x3xf32> {
  %0 = loom.convolution_gradient %x, %g strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] window = [3, 3] groups = 1 : (tensor<4x16x20x20xf32>, tensor<4x32x18x18xf32>) -> tensor<32x16x3x3xf32>
  return %0 : tensor<32x16x3x3xf32>
}

// -----

// One channel a group (depthwise): each lane has an input of its own, which is turned like the gradient; nothing is
// broadcast.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK-COUNT-48: vector.shuffle
// CHECK-LABEL: func.func private @k0_s1_body
// CHECK: :{{[0-9]+}} = scf.for
// CHECK-NOT: vector.broadcast
// CHECK: %[[X:.*]] = llvm.load {{.*}} -> vector<8xf32>
// CHECK: llvm.intr.fma(%{{.*}}, %[[X]], %{{.*}})
// CHECK-LABEL: loom.plan @depthwise
func.func @depthwise(%x: tensor<4x16x20x20xf32>, %g: tensor<4x16x20x20xf32>) -> tensor<16x1x3x3xf32> {
  %0 = loom.convolution_gradient %x, %g strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] window = [3, 3] groups = 16 : (tensor<4x16x20x20xf32>, tensor<4x16x20x20xf32>) -> tensor<16x1x3x3xf32>
  return %0 : tensor<16x1x3x3xf32>
}

// -----

// Channels of their own weights that are neighbours in memory: nothing is packed. A chunk of the first stage sums some lines, six
// pixels at a time: six vectors of the gradient, and eight of the input, each for up to three places of the window. The places have
// four sums each, which take turns. Halves are widened where they are read. The second stage adds up the chunks' sums of a place.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-6: llvm.load {{.*}} -> vector<8xi16>
// CHECK-COUNT-8: llvm.load {{.*}} -> vector<8xf32>
// CHECK: llvm.store {{.*}} : vector<8xf32>
// CHECK-LABEL: func.func private @k0_s1_body
// CHECK: arith.addf
// CHECK-LABEL: loom.plan @neighbours
func.func @neighbours(%x: tensor<4x16x20x20xf32> {loom.strides = array<i64: 6400, 1, 320, 16>}, %g: tensor<4x16x20x20xbf16> {loom.strides = array<i64: 6400, 1, 320, 16>}) -> tensor<16x1x3x3xf32> {
  %0 = loom.convolution_gradient %x, %g strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] window = [3, 3] groups = 16 : (tensor<4x16x20x20xf32>, tensor<4x16x20x20xbf16>) -> tensor<16x1x3x3xf32>
  return %0 : tensor<16x1x3x3xf32>
}
