// Rows that do not stay in registers, since what is computed of an element is long; rows of nothing but -inf.
func.func @online(%x: tensor<8x1000xf32>) -> tensor<8x1000xf32> {
  %p0 = loom.tan %x : tensor<8x1000xf32>
  %p1 = loom.atan %p0 : tensor<8x1000xf32>
  %p2 = loom.tan %p1 : tensor<8x1000xf32>
  %p3 = loom.atan %p2 : tensor<8x1000xf32>
  %p4 = loom.tan %p3 : tensor<8x1000xf32>
  %p5 = loom.atan %p4 : tensor<8x1000xf32>
  %p6 = loom.tan %p5 : tensor<8x1000xf32>
  %p7 = loom.atan %p6 : tensor<8x1000xf32>
  %p8 = loom.tan %p7 : tensor<8x1000xf32>
  %p9 = loom.atan %p8 : tensor<8x1000xf32>
  %p10 = loom.tan %p9 : tensor<8x1000xf32>
  %p11 = loom.atan %p10 : tensor<8x1000xf32>
  %p12 = loom.tan %p11 : tensor<8x1000xf32>
  %p13 = loom.atan %p12 : tensor<8x1000xf32>
  %p14 = loom.tan %p13 : tensor<8x1000xf32>
  %p15 = loom.atan %p14 : tensor<8x1000xf32>
  %p16 = loom.tan %p15 : tensor<8x1000xf32>
  %p17 = loom.atan %p16 : tensor<8x1000xf32>
  %p18 = loom.tan %p17 : tensor<8x1000xf32>
  %p19 = loom.atan %p18 : tensor<8x1000xf32>
  %m = loom.reduce "max" %p19 axes = [1] : (tensor<8x1000xf32>) -> tensor<8xf32>
  %b = loom.broadcast %m dims = [0] : (tensor<8xf32>) -> tensor<8x1000xf32>
  %0 = loom.sub %p19, %b : tensor<8x1000xf32>
  %e = loom.exp %0 : tensor<8x1000xf32>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<8x1000xf32>) -> tensor<8xf32>
  %c = loom.broadcast %s dims = [0] : (tensor<8xf32>) -> tensor<8x1000xf32>
  %1 = loom.div %e, %c : tensor<8x1000xf32>
  return %1 : tensor<8x1000xf32>
}
func.func @online_odd(%x: tensor<9x1001xf32>) -> tensor<9x1001xf32> {
  %p0 = loom.tan %x : tensor<9x1001xf32>
  %p1 = loom.atan %p0 : tensor<9x1001xf32>
  %p2 = loom.tan %p1 : tensor<9x1001xf32>
  %p3 = loom.atan %p2 : tensor<9x1001xf32>
  %p4 = loom.tan %p3 : tensor<9x1001xf32>
  %p5 = loom.atan %p4 : tensor<9x1001xf32>
  %p6 = loom.tan %p5 : tensor<9x1001xf32>
  %p7 = loom.atan %p6 : tensor<9x1001xf32>
  %p8 = loom.tan %p7 : tensor<9x1001xf32>
  %p9 = loom.atan %p8 : tensor<9x1001xf32>
  %p10 = loom.tan %p9 : tensor<9x1001xf32>
  %p11 = loom.atan %p10 : tensor<9x1001xf32>
  %p12 = loom.tan %p11 : tensor<9x1001xf32>
  %p13 = loom.atan %p12 : tensor<9x1001xf32>
  %p14 = loom.tan %p13 : tensor<9x1001xf32>
  %p15 = loom.atan %p14 : tensor<9x1001xf32>
  %p16 = loom.tan %p15 : tensor<9x1001xf32>
  %p17 = loom.atan %p16 : tensor<9x1001xf32>
  %p18 = loom.tan %p17 : tensor<9x1001xf32>
  %p19 = loom.atan %p18 : tensor<9x1001xf32>
  %m = loom.reduce "max" %p19 axes = [1] : (tensor<9x1001xf32>) -> tensor<9xf32>
  %b = loom.broadcast %m dims = [0] : (tensor<9xf32>) -> tensor<9x1001xf32>
  %0 = loom.sub %p19, %b : tensor<9x1001xf32>
  %e = loom.exp %0 : tensor<9x1001xf32>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<9x1001xf32>) -> tensor<9xf32>
  %c = loom.broadcast %s dims = [0] : (tensor<9xf32>) -> tensor<9x1001xf32>
  %1 = loom.div %e, %c : tensor<9x1001xf32>
  return %1 : tensor<9x1001xf32>
}
func.func @online_sum(%x: tensor<3x8000xf32>) -> tensor<3xf32> {
  %p0 = loom.tan %x : tensor<3x8000xf32>
  %p1 = loom.atan %p0 : tensor<3x8000xf32>
  %p2 = loom.tan %p1 : tensor<3x8000xf32>
  %p3 = loom.atan %p2 : tensor<3x8000xf32>
  %p4 = loom.tan %p3 : tensor<3x8000xf32>
  %p5 = loom.atan %p4 : tensor<3x8000xf32>
  %p6 = loom.tan %p5 : tensor<3x8000xf32>
  %p7 = loom.atan %p6 : tensor<3x8000xf32>
  %p8 = loom.tan %p7 : tensor<3x8000xf32>
  %p9 = loom.atan %p8 : tensor<3x8000xf32>
  %p10 = loom.tan %p9 : tensor<3x8000xf32>
  %p11 = loom.atan %p10 : tensor<3x8000xf32>
  %p12 = loom.tan %p11 : tensor<3x8000xf32>
  %p13 = loom.atan %p12 : tensor<3x8000xf32>
  %p14 = loom.tan %p13 : tensor<3x8000xf32>
  %p15 = loom.atan %p14 : tensor<3x8000xf32>
  %p16 = loom.tan %p15 : tensor<3x8000xf32>
  %p17 = loom.atan %p16 : tensor<3x8000xf32>
  %p18 = loom.tan %p17 : tensor<3x8000xf32>
  %p19 = loom.atan %p18 : tensor<3x8000xf32>
  %m = loom.reduce "max" %p19 axes = [1] : (tensor<3x8000xf32>) -> tensor<3xf32>
  %b = loom.broadcast %m dims = [0] : (tensor<3xf32>) -> tensor<3x8000xf32>
  %0 = loom.sub %p19, %b : tensor<3x8000xf32>
  %e = loom.exp %0 : tensor<3x8000xf32>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<3x8000xf32>) -> tensor<3xf32>
  %l = loom.log %s : tensor<3xf32>
  %r = loom.add %l, %m : tensor<3xf32>
  return %r : tensor<3xf32>
}
func.func @online_halves(%x: tensor<3x8000xbf16>) -> tensor<3x8000xf32> {
  %w = loom.convert %x : (tensor<3x8000xbf16>) -> tensor<3x8000xf32>
  %p0 = loom.tan %w : tensor<3x8000xf32>
  %p1 = loom.atan %p0 : tensor<3x8000xf32>
  %p2 = loom.tan %p1 : tensor<3x8000xf32>
  %p3 = loom.atan %p2 : tensor<3x8000xf32>
  %p4 = loom.tan %p3 : tensor<3x8000xf32>
  %p5 = loom.atan %p4 : tensor<3x8000xf32>
  %p6 = loom.tan %p5 : tensor<3x8000xf32>
  %p7 = loom.atan %p6 : tensor<3x8000xf32>
  %p8 = loom.tan %p7 : tensor<3x8000xf32>
  %p9 = loom.atan %p8 : tensor<3x8000xf32>
  %p10 = loom.tan %p9 : tensor<3x8000xf32>
  %p11 = loom.atan %p10 : tensor<3x8000xf32>
  %p12 = loom.tan %p11 : tensor<3x8000xf32>
  %p13 = loom.atan %p12 : tensor<3x8000xf32>
  %p14 = loom.tan %p13 : tensor<3x8000xf32>
  %p15 = loom.atan %p14 : tensor<3x8000xf32>
  %p16 = loom.tan %p15 : tensor<3x8000xf32>
  %p17 = loom.atan %p16 : tensor<3x8000xf32>
  %p18 = loom.tan %p17 : tensor<3x8000xf32>
  %p19 = loom.atan %p18 : tensor<3x8000xf32>
  %m = loom.reduce "max" %p19 axes = [1] : (tensor<3x8000xf32>) -> tensor<3xf32>
  %b = loom.broadcast %m dims = [0] : (tensor<3xf32>) -> tensor<3x8000xf32>
  %0 = loom.sub %p19, %b : tensor<3x8000xf32>
  %e = loom.exp %0 : tensor<3x8000xf32>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<3x8000xf32>) -> tensor<3xf32>
  %c = loom.broadcast %s dims = [0] : (tensor<3xf32>) -> tensor<3x8000xf32>
  %1 = loom.div %e, %c : tensor<3x8000xf32>
  return %1 : tensor<3x8000xf32>
}
func.func @online_none(%x: tensor<3x8000xf32>) -> tensor<3x8000xf32> {
  %zero = loom.constant(0.0 : f32) : tensor<3x8000xf32>
  %p0 = loom.tan %x : tensor<3x8000xf32>
  %p1 = loom.atan %p0 : tensor<3x8000xf32>
  %p2 = loom.tan %p1 : tensor<3x8000xf32>
  %p3 = loom.atan %p2 : tensor<3x8000xf32>
  %p4 = loom.tan %p3 : tensor<3x8000xf32>
  %p5 = loom.atan %p4 : tensor<3x8000xf32>
  %p6 = loom.tan %p5 : tensor<3x8000xf32>
  %p7 = loom.atan %p6 : tensor<3x8000xf32>
  %p8 = loom.tan %p7 : tensor<3x8000xf32>
  %p9 = loom.atan %p8 : tensor<3x8000xf32>
  %p10 = loom.tan %p9 : tensor<3x8000xf32>
  %p11 = loom.atan %p10 : tensor<3x8000xf32>
  %p12 = loom.tan %p11 : tensor<3x8000xf32>
  %p13 = loom.atan %p12 : tensor<3x8000xf32>
  %p14 = loom.tan %p13 : tensor<3x8000xf32>
  %p15 = loom.atan %p14 : tensor<3x8000xf32>
  %p16 = loom.tan %p15 : tensor<3x8000xf32>
  %p17 = loom.atan %p16 : tensor<3x8000xf32>
  %p18 = loom.tan %p17 : tensor<3x8000xf32>
  %p19 = loom.atan %p18 : tensor<3x8000xf32>
  %p20 = loom.mul %p19, %zero : tensor<3x8000xf32>
  %p21 = loom.abs %p20 : tensor<3x8000xf32>
  %p22 = loom.log %p21 : tensor<3x8000xf32>
  %m = loom.reduce "max" %p22 axes = [1] : (tensor<3x8000xf32>) -> tensor<3xf32>
  %b = loom.broadcast %m dims = [0] : (tensor<3xf32>) -> tensor<3x8000xf32>
  %0 = loom.sub %p22, %b : tensor<3x8000xf32>
  %e = loom.exp %0 : tensor<3x8000xf32>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<3x8000xf32>) -> tensor<3xf32>
  %c = loom.broadcast %s dims = [0] : (tensor<3xf32>) -> tensor<3x8000xf32>
  %1 = loom.div %e, %c : tensor<3x8000xf32>
  return %1 : tensor<3x8000xf32>
}
