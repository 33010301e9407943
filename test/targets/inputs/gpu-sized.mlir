// Functions of symbolic sizes for GPUs: gpu-accept.test runs them on the simulator, and puts them through the vendors' tools.
#nm = affine_map<()[s0, s1] -> (s0, s1)>
#mn = affine_map<()[s0, s1] -> (s1, s0)>
#n = affine_map<()[s0] -> (s0)>
#m = affine_map<()[s0, s1] -> (s1)>
func.func @centred(%x: tensor<?x?xf32, #nm>, %w: tensor<?xf32, #m>) -> (tensor<?x?xf32, #nm>, tensor<?xf32, #n>) {
  %b = loom.broadcast %w dims = [1] : (tensor<?xf32, #m>) -> tensor<?x?xf32, #nm>
  %0 = loom.mul %x, %b : tensor<?x?xf32, #nm>
  %1 = loom.reduce "max" %0 axes = [1] : (tensor<?x?xf32, #nm>) -> tensor<?xf32, #n>
  %2 = loom.broadcast %1 dims = [0] : (tensor<?xf32, #n>) -> tensor<?x?xf32, #nm>
  %3 = loom.sub %0, %2 : tensor<?x?xf32, #nm>
  return %3, %1 : tensor<?x?xf32, #nm>, tensor<?xf32, #n>
}
func.func @columns(%x: tensor<?x?xf32, #nm>) -> (tensor<?xf32, #m>, tensor<f32>) {
  %0 = loom.reduce "max" %x axes = [0] : (tensor<?x?xf32, #nm>) -> tensor<?xf32, #m>
  %1 = loom.reduce "min" %x axes = [0, 1] : (tensor<?x?xf32, #nm>) -> tensor<f32>
  return %0, %1 : tensor<?xf32, #m>, tensor<f32>
}
func.func @turned(%x: tensor<?x?xf16, #nm>, %y: tensor<?x?xf16, #mn>) -> tensor<?x?xf16, #mn> {
  %t = loom.transpose %x perm = [1, 0] : (tensor<?x?xf16, #nm>) -> tensor<?x?xf16, #mn>
  %0 = loom.add %t, %y : tensor<?x?xf16, #mn>
  return %0 : tensor<?x?xf16, #mn>
}
func.func @running(%x: tensor<?x?xi64, #nm>) -> (tensor<?x?xi64, #nm>, tensor<?x?xi64, #nm>) {
  %0 = loom.scan "sum" %x axis = 1 : tensor<?x?xi64, #nm>
  %1 = loom.scan "sum" %x axis = 0 : tensor<?x?xi64, #nm>
  return %0, %1 : tensor<?x?xi64, #nm>, tensor<?x?xi64, #nm>
}
func.func @places(%x: tensor<?x?xf32, #nm>) -> tensor<?xi64, #n> {
  %0 = loom.reduce "argmin" %x axes = [1] : (tensor<?x?xf32, #nm>) -> tensor<?xi64, #n>
  return %0 : tensor<?xi64, #n>
}
#q = affine_map<()[s0, s1] -> (2, 4, s0, 24)>
#k = affine_map<()[s0, s1] -> (2, 2, s1, 24)>
#l = affine_map<()[s0, s1] -> (2, 4, s0)>
#mask = affine_map<()[s0, s1] -> (1, 1, s0, s1)>
func.func @attention(%q: tensor<2x4x?x24xf32, #q>, %k: tensor<2x2x?x24xf32, #k>, %v: tensor<2x2x?x24xf32, #k>, %m: tensor<1x1x?x?xf32, #mask>, %g: tensor<2x4x?x24xf32, #q>, %d: tensor<2x4x?xf32, #l>) -> (tensor<2x4x?x24xf32, #q>, tensor<2x4x?x24xf32, #q>, tensor<2x2x?x24xf32, #k>, tensor<2x2x?x24xf32, #k>) {
  %s = loom.constant(0.2 : f32) : tensor<f32>
  %o:2 = loom.attention %q, %k, %v, %s, %m causal = true empty = "zero" : (tensor<2x4x?x24xf32, #q>, tensor<2x2x?x24xf32, #k>, tensor<2x2x?x24xf32, #k>, tensor<f32>, tensor<1x1x?x?xf32, #mask>) -> (tensor<2x4x?x24xf32, #q>, tensor<2x4x?xf32, #l>)
  %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s, %m causal = true : (tensor<2x4x?x24xf32, #q>, tensor<2x4x?x24xf32, #q>, tensor<2x2x?x24xf32, #k>, tensor<2x2x?x24xf32, #k>, tensor<2x4x?xf32, #l>, tensor<2x4x?xf32, #l>, tensor<f32>, tensor<1x1x?x?xf32, #mask>) -> (tensor<2x4x?x24xf32, #q>, tensor<2x2x?x24xf32, #k>, tensor<2x2x?x24xf32, #k>)
  return %o#0, %r#0, %r#1, %r#2 : tensor<2x4x?x24xf32, #q>, tensor<2x4x?x24xf32, #q>, tensor<2x2x?x24xf32, #k>, tensor<2x2x?x24xf32, #k>
}
#nc = affine_map<()[s0] -> (s0, 40)>
func.func @written(%x: tensor<?x40xf32, #nc>, %u: tensor<?x20xf32, affine_map<()[s0] -> (s0, 20)>>) -> tensor<?x40xf32, #nc> {
  %e = loom.neg %x : tensor<?x40xf32, #nc>
  %0 = loom.update_slice %e, %u starts = [0, 3] steps = [1, 1] : (tensor<?x40xf32, #nc>, tensor<?x20xf32, affine_map<()[s0] -> (s0, 20)>>) -> tensor<?x40xf32, #nc>
  return %0 : tensor<?x40xf32, #nc>
}
func.func @added(%x: tensor<7x40xf32>, %i: tensor<?xi64, #n>, %u: tensor<?x40xf32, #nc>) -> tensor<7x40xf32> {
  %e = loom.neg %x : tensor<7x40xf32>
  %m = loom.constant(7 : i64) : tensor<?xi64, #n>
  %r = loom.rem %i, %m : tensor<?xi64, #n>
  %0 = loom.scatter "add" %e, %r, %u axis = 0 : (tensor<7x40xf32>, tensor<?xi64, #n>, tensor<?x40xf32, #nc>) -> tensor<7x40xf32>
  return %0 : tensor<7x40xf32>
}
#nn = affine_map<()[s0] -> (s0, s0)>
#bnm = affine_map<()[s0, s1] -> (3, s0, 2 * s1 + 5)>
#bmn = affine_map<()[s0, s1] -> (3, 2 * s1 + 5, s0)>
#bnn = affine_map<()[s0] -> (3, s0, s0)>
func.func @halves(%x: tensor<?x?xbf16, #nm>, %y: tensor<?x?xbf16, #mn>) -> tensor<?x?xbf16, #nn> {
  %0 = loom.dot_general %x, %y batch = [] x [] contract = [1] x [0] : (tensor<?x?xbf16, #nm>, tensor<?x?xbf16, #mn>) -> tensor<?x?xbf16, #nn>
  %1 = loom.tanh %0 : tensor<?x?xbf16, #nn>
  return %1 : tensor<?x?xbf16, #nn>
}
func.func @batches(%x: tensor<3x?x?xf32, #bnm>, %y: tensor<3x?x?xf32, #bmn>) -> tensor<3x?x?xf32, #bnn> {
  %0 = loom.dot_general %x, %y batch = [0] x [0] contract = [2] x [1] : (tensor<3x?x?xf32, #bnm>, tensor<3x?x?xf32, #bmn>) -> tensor<3x?x?xf32, #bnn>
  return %0 : tensor<3x?x?xf32, #bnn>
}
func.func @weights(%x: tensor<?x64xf16, affine_map<()[s0] -> (s0, 64)>>, %w: tensor<96x64xf16>) -> tensor<?x96xf16, affine_map<()[s0] -> (s0, 96)>> {
  %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [1] : (tensor<?x64xf16, affine_map<()[s0] -> (s0, 64)>>, tensor<96x64xf16>) -> tensor<?x96xf16, affine_map<()[s0] -> (s0, 96)>>
  return %0 : tensor<?x96xf16, affine_map<()[s0] -> (s0, 96)>>
}
#x = affine_map<()[s0, s1] -> (s0, 4, s1, s1)>
#y = affine_map<()[s0, s1] -> (s0, 8, s1, s1)>
func.func @convolved(%x: tensor<?x4x?x?xf32, #x>, %w: tensor<8x4x3x3xf32>) -> tensor<?x8x?x?xf32, #y> {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 1 : (tensor<?x4x?x?xf32, #x>, tensor<8x4x3x3xf32>) -> tensor<?x8x?x?xf32, #y>
  return %0 : tensor<?x8x?x?xf32, #y>
}
func.func @depthwise(%x: tensor<?x4x?x?xf32, #x>, %w: tensor<4x1x3x3xf32>) -> tensor<?x4x?x?xf32, #x> {
  %0 = loom.convolution %x, %w strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] groups = 4 : (tensor<?x4x?x?xf32, #x>, tensor<4x1x3x3xf32>) -> tensor<?x4x?x?xf32, #x>
  return %0 : tensor<?x4x?x?xf32, #x>
}
func.func @gradient(%x: tensor<?x4x?x?xf64, #x>, %g: tensor<?x8x?x?xf64, #y>) -> tensor<8x4x3x3xf64> {
  %0 = loom.convolution_gradient %x, %g strides = [1, 1] padding = [1, 1, 1, 1] dilation = [1, 1] window = [3, 3] groups = 1 : (tensor<?x4x?x?xf64, #x>, tensor<?x8x?x?xf64, #y>) -> tensor<8x4x3x3xf64>
  return %0 : tensor<8x4x3x3xf64>
}
#deep = affine_map<()[s0] -> (5, s0 * 1000)>
#turned = affine_map<()[s0] -> (s0 * 1000, 7)>
func.func @deep(%x: tensor<5x?xf64, #deep>, %y: tensor<?x7xf64, #turned>) -> tensor<5x7xf64> {
  %0 = loom.dot_general %x, %y batch = [] x [] contract = [1] x [0] : (tensor<5x?xf64, #deep>, tensor<?x7xf64, #turned>) -> tensor<5x7xf64>
  return %0 : tensor<5x7xf64>
}
// Nothing, however many rows of it.
func.func @nothing(%a: tensor<?x0xf32, affine_map<()[s0] -> (s0, 0)>>) -> tensor<?x0xf32, affine_map<()[s0] -> (s0, 0)>> {
  %0 = loom.neg %a : tensor<?x0xf32, affine_map<()[s0] -> (s0, 0)>>
  return %0 : tensor<?x0xf32, affine_map<()[s0] -> (s0, 0)>>
}
