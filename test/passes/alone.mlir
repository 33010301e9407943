// Ops with a kernel and a lowering of their own: how loom-fuse and loom-outline prepare them, how loom-schedule divides
// them, what is refused.
// RUN: %loom-opt --loom-fuse --loom-outline --loom-schedule --split-input-file %s | FileCheck %s
// RUN: not %loom-opt --loom-schedule --split-input-file %S/inputs/alone-bad.mlir 2>&1 | FileCheck %s --check-prefix=BAD

// An argument is copied; the result takes the copy's place, and is the output's.
// CHECK-LABEL: loom.kernel @k0
// CHECK: loom.copy
// CHECK-LABEL: loom.kernel @k1
// CHECK: loom.scatter "add"
// CHECK: inplace = array<i64: 0>
// CHECK-SAME: schedule = {kind = "scatter"}
// CHECK-SAME: stages = array<i64: 1>
// CHECK-LABEL: func.func @argument
func.func @argument(%x: tensor<100xf32>, %i: tensor<10xi64>, %u: tensor<10xf32>) -> tensor<100xf32> {
  %0 = loom.scatter "add" %x, %i, %u axis = 0 : (tensor<100xf32>, tensor<10xi64>, tensor<10xf32>) -> tensor<100xf32>
  return %0 : tensor<100xf32>
}

// -----

// What is computed and read by nothing else is overwritten where it lies. Wide rows are cut into parts.
// CHECK-LABEL: loom.kernel @k0
// CHECK-NOT: loom.copy
// CHECK: loom.exp
// CHECK-LABEL: loom.kernel @k1
// CHECK-NOT: loom.copy
// CHECK: inplace = array<i64: 0>
// CHECK-SAME: stages = array<i64: 12>
// CHECK-LABEL: func.func @computed
func.func @computed(%x: tensor<100x768xf32>, %i: tensor<1000xi64>, %u: tensor<1000x768xf32>) -> tensor<100x768xf32> {
  %e = loom.exp %x : tensor<100x768xf32>
  %0 = loom.scatter "add" %e, %i, %u axis = 0 : (tensor<100x768xf32>, tensor<1000xi64>, tensor<1000x768xf32>) -> tensor<100x768xf32>
  return %0 : tensor<100x768xf32>
}

// -----

// As many indices as a call has: how the rows are cut does not depend on them.
// CHECK-LABEL: loom.kernel @k1
// CHECK: loom.scatter "add"
// CHECK: schedule = {kind = "scatter"}
// CHECK-SAME: stages = array<i64: 1>
// CHECK-LABEL: func.func @sized
module attributes {loom.exprs = array<i64: 1, 0, 0, 0>, loom.symbols = array<i64: 2, 1099511627776, 1, 5>} {
func.func @sized(%x: tensor<100x768xf32>, %i: tensor<?xi64, affine_map<()[s0] -> (s0)>>, %u: tensor<?x768xf32, affine_map<()[s0] -> (s0, 768)>>) -> tensor<100x768xf32> {
  %e = loom.exp %x : tensor<100x768xf32>
  %0 = loom.scatter "add" %e, %i, %u axis = 0 : (tensor<100x768xf32>, tensor<?xi64, affine_map<()[s0] -> (s0)>>, tensor<?x768xf32, affine_map<()[s0] -> (s0, 768)>>) -> tensor<100x768xf32>
  return %0 : tensor<100x768xf32>
}
}

// -----

// A convolution of any batch and image: as many chunks as the likely sizes want, panels shared out among them.
// CHECK-LABEL: loom.kernel @k0
// CHECK: loom.convolution
// CHECK: schedule = {kind = "convolution"}
// CHECK-SAME: slots = 0
// CHECK-SAME: stages = array<i64: 64>
// CHECK-LABEL: func.func @images
module attributes {loom.exprs = array<i64: 1, 0, 0, 0, 1, 1, 0, 0, 1, 2, 0, 0>, loom.symbols = array<i64: 2, 1099511627776, 1, 8, 2, 1099511627776, 1, 64, 2, 1099511627776, 1, 64>} {
func.func @images(%x: tensor<?x16x?x?xf32, affine_map<()[s0, s1, s2] -> (s0, 16, s1, s2)>>, %w: tensor<32x16x1x1xf32>) -> tensor<?x32x?x?xf32, affine_map<()[s0, s1, s2] -> (s0, 32, s1, s2)>> {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1 : (tensor<?x16x?x?xf32, affine_map<()[s0, s1, s2] -> (s0, 16, s1, s2)>>, tensor<32x16x1x1xf32>) -> tensor<?x32x?x?xf32, affine_map<()[s0, s1, s2] -> (s0, 32, s1, s2)>>
  return %0 : tensor<?x32x?x?xf32, affine_map<()[s0, s1, s2] -> (s0, 32, s1, s2)>>
}
}

// -----

// An output that is not in C order gets a copy.
// CHECK-LABEL: loom.kernel @k2
// CHECK: loom.copy
// CHECK: strides = [array<i64: 4, 1>, array<i64: 1, 8>]
// CHECK-LABEL: func.func @permuted
func.func @permuted(%x: tensor<8x4xf32>, %i: tensor<3xi64>, %u: tensor<3x4xf32>) -> (tensor<8x4xf32> {loom.strides = array<i64: 1, 8>}) {
  %0 = loom.scatter "set" %x, %i, %u axis = 0 : (tensor<8x4xf32>, tensor<3xi64>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// Random numbers are made inside the group that wants them.
// CHECK-LABEL: loom.kernel @k0
// CHECK: loom.random "uniform"
// CHECK: loom.select
// CHECK-NOT: loom.kernel @k1
// CHECK-LABEL: func.func @dropout
func.func @dropout(%x: tensor<64xf32>, %k: tensor<2xui64>, %c: tensor<2xui64>) -> tensor<64xf32> {
  %0 = loom.random "uniform" %k, %c : (tensor<2xui64>, tensor<2xui64>) -> tensor<64xf32>
  %p = loom.constant(0.5 : f32) : tensor<64xf32>
  %1 = loom.compare "lt" %0, %p : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %2 = loom.select %1, %x, %p : (tensor<64xi1>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// -----

// The bias is the convolution's epilogue; what goes before is a kernel of its own, since windows overlap. Weights that lie in order are read in place: one stage.
// CHECK-LABEL: loom.kernel @k0
// CHECK: loom.exp
// CHECK: loom.max
// CHECK-LABEL: loom.kernel @k1
// CHECK: loom.convolution
// CHECK: loom.add
// CHECK: schedule = {kind = "convolution"}, {{.*}}slots = 0 : i64, stages = array<i64: {{[0-9]+}}>
// CHECK-NOT: loom.kernel @k2
// CHECK-LABEL: func.func @epilogue
func.func @epilogue(%x: tensor<2x16x20x20xf32>, %w: tensor<32x16x3x3xf32>, %b: tensor<32xf32>) -> tensor<2x32x20x20xf32> {
  %e = loom.exp %x : tensor<2x16x20x20xf32>
  %z = loom.constant(1.0 : f32) : tensor<2x16x20x20xf32>
  %r = loom.max %e, %z : tensor<2x16x20x20xf32>
  %0 = loom.convolution %r, %w strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 1 : (tensor<2x16x20x20xf32>, tensor<32x16x3x3xf32>) -> tensor<2x32x20x20xf32>
  %1 = loom.broadcast %b dims = [1] : (tensor<32xf32>) -> tensor<2x32x20x20xf32>
  %2 = loom.add %0, %1 : tensor<2x32x20x20xf32>
  return %2 : tensor<2x32x20x20xf32>
}

// -----

// Weights of another order are packed by a stage of their own.
// CHECK-LABEL: loom.kernel @k0
// CHECK: slots = 110592 : i64, stages = array<i64: 64, {{[0-9]+}}>
func.func @packed(%x: tensor<2x48x20x20xf32>, %w: tensor<64x48x3x3xf32> {loom.strides = array<i64: 1, 64, 6144, 18432>}) -> tensor<2x64x18x18xf32> {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1 : (tensor<2x48x20x20xf32>, tensor<64x48x3x3xf32>) -> tensor<2x64x18x18xf32>
  return %0 : tensor<2x64x18x18xf32>
}

// -----

// Few pixels and many channels: several chunks read a panel, so that a stage packs it for all of them.
// CHECK-LABEL: loom.kernel @k0
// CHECK: slots = {{[1-9][0-9]*}} : i64, stages = array<i64: {{[0-9]+}}, {{[0-9]+}}>
// CHECK-LABEL: func.func @ahead
func.func @ahead(%x: tensor<1x256x5x5xf32>, %w: tensor<512x256x3x3xf32>) -> tensor<1x512x5x5xf32> {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 1 : (tensor<1x256x5x5xf32>, tensor<512x256x3x3xf32>) -> tensor<1x512x5x5xf32>
  return %0 : tensor<1x512x5x5xf32>
}

// -----

// Channels exchanged and windows reversed, as in the gradient of the input: read in place, run by run.
// CHECK-LABEL: loom.kernel @k0
// CHECK: loom.slice
// CHECK: loom.convolution
// CHECK: slots = 0 : i64, stages = array<i64: {{[0-9]+}}>
// CHECK-NOT: loom.kernel @k1
// CHECK-LABEL: func.func @reversed
func.func @reversed(%g: tensor<2x64x20x20xf32>, %w: tensor<64x48x3x3xf32>) -> tensor<2x48x20x20xf32> {
  %t = loom.transpose %w perm = [1, 0, 2, 3] : (tensor<64x48x3x3xf32>) -> tensor<48x64x3x3xf32>
  %r = loom.slice %t starts = [0, 0, 2, 2] sizes = [48, 64, 3, 3] steps = [1, 1, -1, -1] : (tensor<48x64x3x3xf32>) -> tensor<48x64x3x3xf32>
  %0 = loom.convolution %g, %r strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 1 : (tensor<2x64x20x20xf32>, tensor<48x64x3x3xf32>) -> tensor<2x48x20x20xf32>
  return %0 : tensor<2x48x20x20xf32>
}

// -----

// The gradient of weights: a kernel of its own, its operands in memory. Without padding the input is read where it lies: the first stage turns the 2 x 18 lines of the gradient for each of two panels.
// CHECK-LABEL: loom.kernel @k0
// CHECK: loom.exp
// CHECK-LABEL: loom.kernel @k1
// CHECK: loom.convolution_gradient
// CHECK: schedule = {kind = "convolution_gradient"}, {{.*}}stages = array<i64: 72, {{[0-9]+}}>
// CHECK-LABEL: loom.kernel @k2
// CHECK: loom.mul
// CHECK-LABEL: func.func @gradient
func.func @gradient(%x: tensor<2x48x20x20xf32>, %g: tensor<2x16x18x18xf32>) -> tensor<16x48x3x3xf32> {
  %e = loom.exp %g : tensor<2x16x18x18xf32>
  %0 = loom.convolution_gradient %x, %e strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] window = [3, 3] groups = 1 : (tensor<2x48x20x20xf32>, tensor<2x16x18x18xf32>) -> tensor<16x48x3x3xf32>
  %1 = loom.mul %0, %0 : tensor<16x48x3x3xf32>
  return %1 : tensor<16x48x3x3xf32>
}

// -----

// The same for images of any size: what the stages copy is counted when they are known.
// CHECK-LABEL: loom.kernel @k0
// CHECK: loom.convolution_gradient
// CHECK: schedule = {kind = "convolution_gradient"}, {{.*}}slots = -{{[0-9]+}} : i64, stages = array<i64: -{{[0-9]+}}, 4>
module attributes {loom.exprs = array<i64: 1, 0, 0, 0, 1, 1, 0, 0, 1, 2, 0, 0>, loom.symbols = array<i64: 2, 1099511627776, 1, 8, 2, 1099511627776, 1, 64, 2, 1099511627776, 1, 64>} {
func.func @sized_gradient(%x: tensor<?x4x?x?xf32, affine_map<()[s0, s1, s2] -> (s0, 4, s1, s2)>>, %g: tensor<?x8x?x?xf32, affine_map<()[s0, s1, s2] -> (s0, 8, s1, s2)>>) -> tensor<8x4x3x3xf32> {
  %0 = loom.convolution_gradient %x, %g strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] window = [3, 3] groups = 1 : (tensor<?x4x?x?xf32, affine_map<()[s0, s1, s2] -> (s0, 4, s1, s2)>>, tensor<?x8x?x?xf32, affine_map<()[s0, s1, s2] -> (s0, 8, s1, s2)>>) -> tensor<8x4x3x3xf32>
  return %0 : tensor<8x4x3x3xf32>
}
}

// -----

// Lines go to chunks; each has its part of the slots.
// CHECK-LABEL: loom.kernel @k0
// CHECK: loom.sort
// CHECK: schedule = {kind = "sort"}, scratch = 0 : i64, slots = {{[1-9][0-9]*}} : i64, stages = array<i64: 16>
func.func @lines(%x: tensor<1000x1000xf32>) -> tensor<1000x1000xi64> {
  %0 = loom.sort %x axis = 1 {indices = true} : (tensor<1000x1000xf32>) -> tensor<1000x1000xi64>
  return %0 : tensor<1000x1000xi64>
}

// BAD: cannot lower 'loom.scatter': the result does not overwrite the operand
// BAD: cannot lower 'loom.attention': no or too many columns
// BAD: cannot lower 'loom.add': complex numbers are loom-complex's
// BAD: cannot lower 'loom.convolution': more than three spatial dimensions
// BAD: cannot lower 'loom.sort': the operand is no buffer, or there is something beside it
// BAD: cannot lower 'loom.convolution_gradient': more than three spatial dimensions
