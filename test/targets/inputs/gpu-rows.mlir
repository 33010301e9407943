func.func @softmax_warp(%x: tensor<8x1000xf32>) -> tensor<8x1000xf32> {
  %m = loom.reduce "max" %x axes = [1] : (tensor<8x1000xf32>) -> tensor<8xf32>
  %b = loom.broadcast %m dims = [0] : (tensor<8xf32>) -> tensor<8x1000xf32>
  %0 = loom.sub %x, %b : tensor<8x1000xf32>
  %e = loom.exp %0 : tensor<8x1000xf32>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<8x1000xf32>) -> tensor<8xf32>
  %c = loom.broadcast %s dims = [0] : (tensor<8xf32>) -> tensor<8x1000xf32>
  %1 = loom.div %e, %c : tensor<8x1000xf32>
  return %1 : tensor<8x1000xf32>
}
func.func @softmax_odd(%x: tensor<9x1001xf32>) -> tensor<9x1001xf32> {
  %m = loom.reduce "max" %x axes = [1] : (tensor<9x1001xf32>) -> tensor<9xf32>
  %b = loom.broadcast %m dims = [0] : (tensor<9xf32>) -> tensor<9x1001xf32>
  %0 = loom.sub %x, %b : tensor<9x1001xf32>
  %e = loom.exp %0 : tensor<9x1001xf32>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<9x1001xf32>) -> tensor<9xf32>
  %c = loom.broadcast %s dims = [0] : (tensor<9xf32>) -> tensor<9x1001xf32>
  %1 = loom.div %e, %c : tensor<9x1001xf32>
  return %1 : tensor<9x1001xf32>
}
func.func @softmax_halves(%x: tensor<2x8192xbf16>) -> tensor<2x8192xbf16> {
  %w = loom.convert %x : (tensor<2x8192xbf16>) -> tensor<2x8192xf32>
  %m = loom.reduce "max" %w axes = [1] : (tensor<2x8192xf32>) -> tensor<2xf32>
  %b = loom.broadcast %m dims = [0] : (tensor<2xf32>) -> tensor<2x8192xf32>
  %0 = loom.sub %w, %b : tensor<2x8192xf32>
  %e = loom.exp %0 : tensor<2x8192xf32>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<2x8192xf32>) -> tensor<2xf32>
  %c = loom.broadcast %s dims = [0] : (tensor<2xf32>) -> tensor<2x8192xf32>
  %1 = loom.div %e, %c : tensor<2x8192xf32>
  %h = loom.convert %1 : (tensor<2x8192xf32>) -> tensor<2x8192xbf16>
  return %h : tensor<2x8192xbf16>
}
func.func @softmax_block(%x: tensor<64x16384xf32>) -> tensor<64x16384xf32> {
  %m = loom.reduce "max" %x axes = [1] : (tensor<64x16384xf32>) -> tensor<64xf32>
  %b = loom.broadcast %m dims = [0] : (tensor<64xf32>) -> tensor<64x16384xf32>
  %0 = loom.sub %x, %b : tensor<64x16384xf32>
  %e = loom.exp %0 : tensor<64x16384xf32>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<64x16384xf32>) -> tensor<64xf32>
  %c = loom.broadcast %s dims = [0] : (tensor<64xf32>) -> tensor<64x16384xf32>
  %1 = loom.div %e, %c : tensor<64x16384xf32>
  return %1 : tensor<64x16384xf32>
}
func.func @softmax_most(%x: tensor<64x32768xf32>) -> tensor<64x32768xf32> {
  %m = loom.reduce "max" %x axes = [1] : (tensor<64x32768xf32>) -> tensor<64xf32>
  %b = loom.broadcast %m dims = [0] : (tensor<64xf32>) -> tensor<64x32768xf32>
  %0 = loom.sub %x, %b : tensor<64x32768xf32>
  %e = loom.exp %0 : tensor<64x32768xf32>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<64x32768xf32>) -> tensor<64xf32>
  %c = loom.broadcast %s dims = [0] : (tensor<64xf32>) -> tensor<64x32768xf32>
  %1 = loom.div %e, %c : tensor<64x32768xf32>
  return %1 : tensor<64x32768xf32>
}
func.func @softmax_gradient(%y: tensor<8x768xf32>, %g: tensor<8x768xf32>) -> tensor<8x768xf32> {
  %0 = loom.mul %y, %g : tensor<8x768xf32>
  %s = loom.reduce "sum" %0 axes = [1] : (tensor<8x768xf32>) -> tensor<8xf32>
  %b = loom.broadcast %s dims = [0] : (tensor<8xf32>) -> tensor<8x768xf32>
  %1 = loom.sub %g, %b : tensor<8x768xf32>
  %2 = loom.mul %y, %1 : tensor<8x768xf32>
  return %2 : tensor<8x768xf32>
}
func.func @layernorm(%x: tensor<8x1024xf32>, %weight: tensor<1024xf32>) -> tensor<8x1024xf32> {
  %n = loom.constant(1024.0 : f32) : tensor<8xf32>
  %s = loom.reduce "sum" %x axes = [1] : (tensor<8x1024xf32>) -> tensor<8xf32>
  %m = loom.div %s, %n : tensor<8xf32>
  %mb = loom.broadcast %m dims = [0] : (tensor<8xf32>) -> tensor<8x1024xf32>
  %d = loom.sub %x, %mb : tensor<8x1024xf32>
  %q = loom.mul %d, %d : tensor<8x1024xf32>
  %v = loom.reduce "sum" %q axes = [1] : (tensor<8x1024xf32>) -> tensor<8xf32>
  %u = loom.div %v, %n : tensor<8xf32>
  %r = loom.sqrt %u : tensor<8xf32>
  %rb = loom.broadcast %r dims = [0] : (tensor<8xf32>) -> tensor<8x1024xf32>
  %o = loom.div %d, %rb : tensor<8x1024xf32>
  %k = loom.broadcast %weight dims = [1] : (tensor<1024xf32>) -> tensor<8x1024xf32>
  %p = loom.mul %o, %k : tensor<8x1024xf32>
  return %p : tensor<8x1024xf32>
}
func.func @layernorm_halves(%x: tensor<3x4096xbf16>, %weight: tensor<4096xf32>) -> tensor<3x4096xbf16> {
  %n = loom.constant(4096.0 : f32) : tensor<3xf32>
  %w = loom.convert %x : (tensor<3x4096xbf16>) -> tensor<3x4096xf32>
  %s = loom.reduce "sum" %w axes = [1] : (tensor<3x4096xf32>) -> tensor<3xf32>
  %m = loom.div %s, %n : tensor<3xf32>
  %mb = loom.broadcast %m dims = [0] : (tensor<3xf32>) -> tensor<3x4096xf32>
  %d = loom.sub %w, %mb : tensor<3x4096xf32>
  %q = loom.mul %d, %d : tensor<3x4096xf32>
  %v = loom.reduce "sum" %q axes = [1] : (tensor<3x4096xf32>) -> tensor<3xf32>
  %u = loom.div %v, %n : tensor<3xf32>
  %r = loom.sqrt %u : tensor<3xf32>
  %rb = loom.broadcast %r dims = [0] : (tensor<3xf32>) -> tensor<3x4096xf32>
  %o = loom.div %d, %rb : tensor<3x4096xf32>
  %k = loom.broadcast %weight dims = [1] : (tensor<4096xf32>) -> tensor<3x4096xf32>
  %p = loom.mul %o, %k : tensor<3x4096xf32>
  %h = loom.convert %p : (tensor<3x4096xf32>) -> tensor<3x4096xbf16>
  return %h : tensor<3x4096xbf16>
}
func.func @rmsnorm(%x: tensor<3x8192xbf16>, %weight: tensor<8192xf32>) -> tensor<3x8192xbf16> {
  %n = loom.constant(8192.0 : f32) : tensor<3xf32>
  %w = loom.convert %x : (tensor<3x8192xbf16>) -> tensor<3x8192xf32>
  %q = loom.mul %w, %w : tensor<3x8192xf32>
  %v = loom.reduce "sum" %q axes = [1] : (tensor<3x8192xf32>) -> tensor<3xf32>
  %u = loom.div %v, %n : tensor<3xf32>
  %r = loom.sqrt %u : tensor<3xf32>
  %rb = loom.broadcast %r dims = [0] : (tensor<3xf32>) -> tensor<3x8192xf32>
  %o = loom.div %w, %rb : tensor<3x8192xf32>
  %k = loom.broadcast %weight dims = [1] : (tensor<8192xf32>) -> tensor<3x8192xf32>
  %p = loom.mul %o, %k : tensor<3x8192xf32>
  %h = loom.convert %p : (tensor<3x8192xf32>) -> tensor<3x8192xbf16>
  return %h : tensor<3x8192xbf16>
}
func.func @layernorm_gradient(%x: tensor<8x1024xf32>, %g: tensor<8x1024xf32>, %weight: tensor<1024xf32>, %m: tensor<8xf32>, %r: tensor<8xf32>) -> tensor<8x1024xf32> {
  %n = loom.constant(1024.0 : f32) : tensor<8xf32>
  %k = loom.broadcast %weight dims = [1] : (tensor<1024xf32>) -> tensor<8x1024xf32>
  %gw = loom.mul %g, %k : tensor<8x1024xf32>
  %rb = loom.broadcast %r dims = [0] : (tensor<8xf32>) -> tensor<8x1024xf32>
  %mb = loom.broadcast %m dims = [0] : (tensor<8xf32>) -> tensor<8x1024xf32>
  %d = loom.sub %x, %mb : tensor<8x1024xf32>
  %xh = loom.mul %d, %rb : tensor<8x1024xf32>
  %z = loom.mul %gw, %xh : tensor<8x1024xf32>
  %s = loom.reduce "sum" %z axes = [1] : (tensor<8x1024xf32>) -> tensor<8xf32>
  %sm = loom.div %s, %n : tensor<8xf32>
  %sb = loom.broadcast %sm dims = [0] : (tensor<8xf32>) -> tensor<8x1024xf32>
  %t = loom.reduce "sum" %gw axes = [1] : (tensor<8x1024xf32>) -> tensor<8xf32>
  %tm = loom.div %t, %n : tensor<8xf32>
  %tb = loom.broadcast %tm dims = [0] : (tensor<8xf32>) -> tensor<8x1024xf32>
  %o0 = loom.sub %gw, %tb : tensor<8x1024xf32>
  %y = loom.mul %xh, %sb : tensor<8x1024xf32>
  %o1 = loom.sub %o0, %y : tensor<8x1024xf32>
  %o2 = loom.mul %o1, %rb : tensor<8x1024xf32>
  return %o2 : tensor<8x1024xf32>
}
func.func @rmsnorm_gradient(%x: tensor<3x4096xf32>, %g: tensor<3x4096xf32>, %weight: tensor<4096xf32>, %r: tensor<3xf32>) -> tensor<3x4096xf32> {
  %n = loom.constant(4096.0 : f32) : tensor<3xf32>
  %k = loom.broadcast %weight dims = [1] : (tensor<4096xf32>) -> tensor<3x4096xf32>
  %gw = loom.mul %g, %k : tensor<3x4096xf32>
  %rb = loom.broadcast %r dims = [0] : (tensor<3xf32>) -> tensor<3x4096xf32>
  %xh = loom.mul %x, %rb : tensor<3x4096xf32>
  %z = loom.mul %gw, %xh : tensor<3x4096xf32>
  %s = loom.reduce "sum" %z axes = [1] : (tensor<3x4096xf32>) -> tensor<3xf32>
  %sm = loom.div %s, %n : tensor<3xf32>
  %sb = loom.broadcast %sm dims = [0] : (tensor<3xf32>) -> tensor<3x4096xf32>
  %y = loom.mul %xh, %sb : tensor<3x4096xf32>
  %o1 = loom.sub %gw, %y : tensor<3x4096xf32>
  %o2 = loom.mul %o1, %rb : tensor<3x4096xf32>
  return %o2 : tensor<3x4096xf32>
}
