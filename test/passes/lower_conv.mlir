// Convolutions: what the windows of a panel of pixels read is packed, then multiplied in tiles of output channels.
// RUN: %loom-opt %s --loom-lowered --split-input-file | FileCheck %s

// A panel is packed in vectors: plainly those whose windows lie in the input, the others under the mask of the padding,
// zeros for what is outside. The depth, 16 channels times 9 places, is one block. A tile's sums are in registers, each weight one broadcast; the bias is added where the result is stored.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.if
// CHECK: %[[INSIDE:.*]] = llvm.load {{.*}} -> vector<8xf32>
// CHECK-NOT: masked
// CHECK: llvm.store %[[INSIDE]]
// CHECK: scf.if
// CHECK: %[[X:.*]] = llvm.intr.masked.load
// CHECK-NEXT: arith.constant
// CHECK: %[[KEPT:.*]] = arith.select %{{.*}}, %[[X]]
// CHECK: llvm.store %[[KEPT]]
// CHECK: scf.for {{.*}} to %c144_i64_{{[0-9]+}} step %c144_i64 
// CHECK: :{{[0-9]+}} = scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}},
// CHECK: %[[WEIGHT:.*]] = vector.broadcast %{{.*}} : f32 to vector<8xf32>
// CHECK: llvm.intr.fma(%[[WEIGHT]], %{{.*}}, %{{.*}})
// CHECK: scf.for
// CHECK: %[[ALL:.*]] = arith.addf
// CHECK: llvm.store %[[ALL]]
// CHECK: %[[SOME:.*]] = arith.addf
// CHECK: llvm.intr.masked.store %[[SOME]]
// CHECK-LABEL: loom.plan @near
// CHECK-NOT: stage = 1
func.func @near(%x: tensor<1x16x20x20xf32>, %w: tensor<32x16x3x3xf32>, %b: tensor<32xf32>) -> tensor<1x32x20x20xf32> {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 1 : (tensor<1x16x20x20xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x20x20xf32>
  %1 = loom.broadcast %b dims = [1] : (tensor<32xf32>) -> tensor<1x32x20x20xf32>
  %2 = loom.add %0, %1 : tensor<1x32x20x20xf32>
  return %2 : tensor<1x32x20x20xf32>
}

// -----

// One channel a group (depthwise) would use nothing twice as tiles of channels. A band of the plane is packed, with zeros for the
// padding. A tile is seven rows of the result: each weight of a column of the window is broadcast once, each row of the band
// is loaded once for all rows of the result that need it. What is stored behind the last column is masked.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.if
// CHECK: %[[INSIDE:.*]] = llvm.load {{.*}} -> vector<8xf32>
// CHECK: llvm.store %[[INSIDE]]
// CHECK: scf.if
// CHECK: %[[EDGE:.*]] = llvm.intr.masked.load
// CHECK: arith.select %{{.*}}, %[[EDGE]]
// CHECK: :7 = scf.for {{.*}} iter_args(%[[FIRST:[^ ]*]] = %{{[^,]*}}, %[[SECOND:[^ ]*]] = %{{[^,]*}}, {{.*}}) -> (vector<8xf32>
// CHECK-COUNT-3: vector.broadcast
// CHECK: %[[ROW:.*]] = llvm.load
// CHECK-NEXT: %[[SUM:.*]] = llvm.intr.fma(%[[ROW]], %{{.*}}, %[[FIRST]])
// CHECK: %[[NEXT:.*]] = llvm.load
// CHECK-NEXT: llvm.intr.fma(%[[NEXT]], %{{.*}}, %[[SUM]])
// CHECK-NEXT: llvm.intr.fma(%[[NEXT]], %{{.*}}, %[[SECOND]])
// CHECK-NOT: scf.for
// CHECK: scf.yield
// CHECK: llvm.intr.masked.store
// CHECK-LABEL: loom.plan @depthwise
func.func @depthwise(%x: tensor<1x16x28x20xf32>, %w: tensor<16x1x3x3xf32>) -> tensor<1x16x28x20xf32> {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 16 : (tensor<1x16x28x20xf32>, tensor<16x1x3x3xf32>) -> tensor<1x16x28x20xf32>
  return %0 : tensor<1x16x28x20xf32>
}

// -----

// With a stride a line of the band is divided into its phases, so that the elements of a column lie next to each other.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: %[[EVEN:.*]] = vector.shuffle {{.*}} [0, 2, 4, 6, {{.*}}]
// CHECK: %[[PHASE:.*]] = vector.shuffle %[[EVEN]], %{{.*}} [0, 1, 2, 3, 8, 10, 12, 14]
// CHECK: llvm.store %[[PHASE]]
// CHECK: vector.shuffle {{.*}} [1, 3, 5, 7, {{.*}}]
// CHECK: llvm.intr.fma
// CHECK-LABEL: loom.plan @strided
func.func @strided(%x: tensor<1x16x28x32xf32>, %w: tensor<16x1x3x3xf32>) -> tensor<1x16x14x16xf32> {
  %0 = loom.convolution %x, %w strides = [2, 2] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 16 : (tensor<1x16x28x32xf32>, tensor<16x1x3x3xf32>) -> tensor<1x16x14x16xf32>
  return %0 : tensor<1x16x14x16xf32>
}

// -----

// Two channels a group, one output channel: a vector of pixels is summed over its window, not packed.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK-NOT: llvm.intr.masked.store
// CHECK: %[[WHOLE:.*]] = scf.for {{.*}} iter_args(%[[SO_FAR:.*]] = %{{.*}}) -> (vector<8xf32>)
// CHECK: llvm.intr.fma
// CHECK: llvm.store %[[WHOLE]]
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (vector<8xf32>)
// CHECK: llvm.intr.fma
// CHECK: llvm.intr.masked.store %[[SUM]]
// CHECK-LABEL: loom.plan @windows
// CHECK: scratch = 32 : i64
func.func @windows(%x: tensor<1x32x20x20xf32>, %w: tensor<16x2x3x3xf32>) -> tensor<1x16x18x18xf32> {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 16 : (tensor<1x32x20x20xf32>, tensor<16x2x3x3xf32>) -> tensor<1x16x18x18xf32>
  return %0 : tensor<1x16x18x18xf32>
}

// -----

// Weights of another order are laid into the slots by a stage of their own.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.for
// CHECK: llvm.load
// CHECK: llvm.store
// CHECK-NOT: llvm.intr.fma
// CHECK-LABEL: func.func private @k0_s1_body
// CHECK: llvm.intr.fma
// CHECK-LABEL: loom.plan @turned
func.func @turned(%x: tensor<2x48x20x20xf32>, %w: tensor<64x48x3x3xf32> {loom.strides = array<i64: 1, 64, 6144, 18432>}) -> tensor<2x64x18x18xf32> {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1 : (tensor<2x48x20x20xf32>, tensor<64x48x3x3xf32>) -> tensor<2x64x18x18xf32>
  return %0 : tensor<2x64x18x18xf32>
}

// -----

// Integers are multiplied and added, with nothing between.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: arith.muli {{.*}} : vector<{{[0-9]+}}xi32>
// CHECK: arith.addi {{.*}} : vector<{{[0-9]+}}xi32>
// CHECK-NOT: fma
// CHECK-LABEL: loom.plan @whole
func.func @whole(%x: tensor<1x4x20x20xi32>, %w: tensor<8x4x3x3xi32>) -> tensor<1x8x18x18xi32> {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1 : (tensor<1x4x20x20xi32>, tensor<8x4x3x3xi32>) -> tensor<1x8x18x18xi32>
  return %0 : tensor<1x8x18x18xi32>
}

// -----

// One channel a group, and channels that are neighbours in memory: lanes are channels. The weights are packed by a stage of
// their own, for each place of the window a line of all channels. Two vectors of 8 channels have the 20; of the last one four lanes are
// off. A tile is four pixels of a line, for which the input is loaded once a column: six columns of three lines. Where the
// windows leave the input the loads are masked.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: llvm.store {{.*}} : vector<8xf32>
// CHECK-LABEL: func.func private @k0_s1_body
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-9: llvm.load {{.*}} -> vector<8xf32>
// CHECK: scf.for
// CHECK: scf.if
// CHECK-NOT: masked
// CHECK: %[[FIRST:.*]] = llvm.load {{.*}} -> vector<8xf32>
// CHECK-NEXT: %[[SUM:.*]] = llvm.intr.fma(%[[FIRST]], %{{.*}}, %{{.*}})
// CHECK: %[[SECOND:.*]] = llvm.load {{.*}} -> vector<8xf32>
// CHECK-NEXT: llvm.intr.fma(%[[SECOND]], %{{.*}}, %[[SUM]])
// CHECK-NEXT: llvm.intr.fma(%[[SECOND]],
// CHECK-COUNT-4: llvm.store {{.*}} : vector<8xf32>
// CHECK: scf.if
// CHECK-COUNT-18: llvm.intr.masked.load
// CHECK-COUNT-4: llvm.store {{.*}} : vector<8xf32>
// CHECK: llvm.store {{.*}} : vector<8xf32>
// CHECK: llvm.intr.masked.store
// CHECK-LABEL: loom.plan @lanes
func.func @lanes(%x: tensor<1x20x16x16xf32> {loom.strides = array<i64: 5120, 1, 320, 20>}, %w: tensor<20x1x3x3xf32>) -> (tensor<1x20x16x16xf32> {loom.strides = array<i64: 5120, 1, 320, 20>}) {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 20 : (tensor<1x20x16x16xf32>, tensor<20x1x3x3xf32>) -> tensor<1x20x16x16xf32>
  return %0 : tensor<1x20x16x16xf32>
}

// -----

// The gradient of a depthwise convolution's input, of stride 2. A tile begins at an element of the gradient, so each column of it meets
// known pixels and places: four pixels of a line read three columns of one or two lines of the gradient. The window is reversed
// where it is packed.
// CHECK-LABEL: func.func private @k0_s1_body
// CHECK: scf.for
// CHECK: scf.if
// CHECK-NOT: masked
// CHECK: scf.for
// CHECK-COUNT-3: llvm.load {{.*}} -> vector<8xf32>
// CHECK-COUNT-6: llvm.intr.fma
// CHECK-COUNT-4: llvm.store {{.*}} : vector<8xf32>
// CHECK: scf.for
// CHECK-COUNT-3: llvm.intr.masked.load
// CHECK-LABEL: loom.plan @spread
func.func @spread(%g: tensor<1x16x8x8xf32> {loom.strides = array<i64: 1024, 1, 128, 16>}, %w: tensor<16x1x3x3xf32>) -> (tensor<1x16x16x16xf32> {loom.strides = array<i64: 4096, 1, 256, 16>}) {
  %0 = loom.convolution_input %g, %w strides = [2, 2] padding = [1, 1, 1, 1] dilation = [1, 1] sizes = [16, 16] : (tensor<1x16x8x8xf32>, tensor<16x1x3x3xf32>) -> tensor<1x16x16x16xf32>
  return %0 : tensor<1x16x16x16xf32>
}

// -----

// The result's channels are neighbours in memory: lanes are output channels. The weights are packed with an output channel in each
// lane, turned in squares. What windows read is copied: a line of a window at once where it lies in the input. A tile is six pixels by two vectors; each pixel of a step is one broadcast. The bias is a vector, and what is stored is one.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: vector.shuffle
// CHECK-LABEL: func.func private @k0_s1_body
// CHECK: llvm.intr.masked.load
// CHECK-COUNT-6: llvm.load {{.*}} -> vector<8xf32>
// CHECK: :14 = scf.for
// CHECK: %[[LOW:.*]] = llvm.load %{{.*}} -> vector<8xf32>
// CHECK: %[[HIGH:.*]] = llvm.load %{{.*}} -> vector<8xf32>
// CHECK: %[[PIXEL:.*]] = vector.broadcast %{{.*}} : f32 to vector<8xf32>
// CHECK-NEXT: llvm.intr.fma(%[[PIXEL]], %[[LOW]], %{{.*}})
// CHECK-NEXT: llvm.intr.fma(%[[PIXEL]], %[[HIGH]], %{{.*}})
// CHECK: scf.for {{.*}} step %c8_i64
// CHECK: %[[DOT:.*]] = llvm.load %{{.*}} -> vector<8xf32>
// CHECK: %[[BIAS:.*]] = llvm.load %{{.*}} -> vector<8xf32>
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[DOT]], %[[BIAS]] : vector<8xf32>
// CHECK: llvm.store %[[SUM]]
// CHECK-LABEL: loom.plan @channels
func.func @channels(%x: tensor<2x16x20x20xf32> {loom.strides = array<i64: 6400, 1, 320, 16>}, %w: tensor<32x16x3x3xf32> {loom.strides = array<i64: 144, 1, 48, 16>}, %b: tensor<32xf32>) -> (tensor<2x32x20x20xf32> {loom.strides = array<i64: 12800, 1, 640, 32>}) {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 1 : (tensor<2x16x20x20xf32>, tensor<32x16x3x3xf32>) -> tensor<2x32x20x20xf32>
  %1 = loom.broadcast %b dims = [1] : (tensor<32xf32>) -> tensor<2x32x20x20xf32>
  %2 = loom.add %0, %1 : tensor<2x32x20x20xf32>
  return %2 : tensor<2x32x20x20xf32>
}

// -----

// Windows of one place read the pixels where they lie: nothing is copied, but the weights.
// CHECK-LABEL: func.func private @k0_s1_body
// CHECK-NOT: llvm.store {{.*}} : vector
// CHECK: :14 = scf.for
// CHECK: llvm.intr.fma
// CHECK: llvm.store {{.*}} : vector
// CHECK-LABEL: loom.plan @points
func.func @points(%x: tensor<2x16x8x8xf32> {loom.strides = array<i64: 1024, 1, 128, 16>}, %w: tensor<32x16x1x1xf32>) -> (tensor<2x32x8x8xf32> {loom.strides = array<i64: 2048, 1, 256, 32>}) {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1 : (tensor<2x16x8x8xf32>, tensor<32x16x1x1xf32>) -> tensor<2x32x8x8xf32>
  return %0 : tensor<2x32x8x8xf32>
}
