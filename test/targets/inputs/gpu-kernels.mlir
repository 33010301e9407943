// Kernels of each form for GPUs: gpu-kernels.test runs them on the simulator, and puts them through the vendors' tools.
func.func @line(%x: tensor<5003xf32>, %y: tensor<5003xf32>) -> tensor<5003xf32> {
  %0 = loom.mul %x, %y : tensor<5003xf32>
  %1 = loom.add %0, %y : tensor<5003xf32>
  return %1 : tensor<5003xf32>
}
func.func @bias(%x: tensor<33x68xbf16>, %y: tensor<68xbf16>) -> tensor<33x68xbf16> {
  %b = loom.broadcast %y dims = [1] : (tensor<68xbf16>) -> tensor<33x68xbf16>
  %1 = loom.add %x, %b : tensor<33x68xbf16>
  return %1 : tensor<33x68xbf16>
}
func.func @masks(%x: tensor<19x130xi64>, %y: tensor<19x130xi64>) -> (tensor<19x130xi1>, tensor<19x130xi64>) {
  %0 = loom.compare "lt" %x, %y : (tensor<19x130xi64>, tensor<19x130xi64>) -> tensor<19x130xi1>
  %1 = loom.select %0, %x, %y : (tensor<19x130xi1>, tensor<19x130xi64>, tensor<19x130xi64>) -> tensor<19x130xi64>
  return %0, %1 : tensor<19x130xi1>, tensor<19x130xi64>
}
func.func @turned(%x: tensor<37x41xi32>, %y: tensor<41x37xi32>) -> tensor<41x37xi32> {
  %t = loom.transpose %x perm = [1, 0] : (tensor<37x41xi32>) -> tensor<41x37xi32>
  %m = loom.add %t, %y : tensor<41x37xi32>
  return %m : tensor<41x37xi32>
}
func.func @columns(%x: tensor<7x2004xf16>) -> tensor<2004xf16> {
  %m = loom.reduce "sum" %x axes = [0] : (tensor<7x2004xf16>) -> tensor<2004xf16>
  return %m : tensor<2004xf16>
}
func.func @softmax(%x: tensor<10x70xf32>) -> tensor<10x70xf32> {
  %m = loom.reduce "max" %x axes = [1] : (tensor<10x70xf32>) -> tensor<10xf32>
  %b = loom.broadcast %m dims = [0] : (tensor<10xf32>) -> tensor<10x70xf32>
  %0 = loom.sub %x, %b : tensor<10x70xf32>
  %e = loom.exp %0 : tensor<10x70xf32>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<10x70xf32>) -> tensor<10xf32>
  %c = loom.broadcast %s dims = [0] : (tensor<10xf32>) -> tensor<10x70xf32>
  %1 = loom.div %e, %c : tensor<10x70xf32>
  return %1 : tensor<10x70xf32>
}
func.func @softmax_long(%x: tensor<3x2052xf32>) -> tensor<3x2052xf32> {
  %m = loom.reduce "max" %x axes = [1] : (tensor<3x2052xf32>) -> tensor<3xf32>
  %b = loom.broadcast %m dims = [0] : (tensor<3xf32>) -> tensor<3x2052xf32>
  %0 = loom.sub %x, %b : tensor<3x2052xf32>
  %e = loom.exp %0 : tensor<3x2052xf32>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<3x2052xf32>) -> tensor<3xf32>
  %c = loom.broadcast %s dims = [0] : (tensor<3xf32>) -> tensor<3x2052xf32>
  %1 = loom.div %e, %c : tensor<3x2052xf32>
  return %1 : tensor<3x2052xf32>
}
func.func @layernorm(%x: tensor<9x768xbf16>) -> tensor<9x768xbf16> {
  %w = loom.convert %x : (tensor<9x768xbf16>) -> tensor<9x768xf32>
  %s = loom.reduce "sum" %w axes = [1] : (tensor<9x768xf32>) -> tensor<9xf32>
  %n = loom.constant(768.0 : f32) : tensor<9xf32>
  %m = loom.div %s, %n : tensor<9xf32>
  %mb = loom.broadcast %m dims = [0] : (tensor<9xf32>) -> tensor<9x768xf32>
  %d = loom.sub %w, %mb : tensor<9x768xf32>
  %q = loom.mul %d, %d : tensor<9x768xf32>
  %v = loom.reduce "sum" %q axes = [1] : (tensor<9x768xf32>) -> tensor<9xf32>
  %u = loom.div %v, %n : tensor<9xf32>
  %r = loom.sqrt %u : tensor<9xf32>
  %rb = loom.broadcast %r dims = [0] : (tensor<9xf32>) -> tensor<9x768xf32>
  %o = loom.div %d, %rb : tensor<9x768xf32>
  %h = loom.convert %o : (tensor<9x768xf32>) -> tensor<9x768xbf16>
  return %h : tensor<9x768xbf16>
}
func.func @places(%x: tensor<3x2000xbf16>) -> (tensor<3xi64>, tensor<3xbf16>) {
  %i = loom.reduce "argmax" %x axes = [1] : (tensor<3x2000xbf16>) -> tensor<3xi64>
  %m = loom.reduce "max" %x axes = [1] : (tensor<3x2000xbf16>) -> tensor<3xbf16>
  return %i, %m : tensor<3xi64>, tensor<3xbf16>
}
func.func @whole(%x: tensor<7x2001xf64>) -> tensor<f64> {
  %m = loom.reduce "sum" %x axes = [0, 1] : (tensor<7x2001xf64>) -> tensor<f64>
  return %m : tensor<f64>
}
func.func @logic(%x: tensor<6x90xi1>) -> tensor<6xi1> {
  %m = loom.reduce "and" %x axes = [1] : (tensor<6x90xi1>) -> tensor<6xi1>
  return %m : tensor<6xi1>
}
func.func @running(%x: tensor<300x5xf32>) -> tensor<300x5xf32> {
  %m = loom.scan "sum" %x axis = 1 : tensor<300x5xf32>
  return %m : tensor<300x5xf32>
}
func.func @empty(%x: tensor<3x0xf32>) -> tensor<3x0xf32> {
  %m = loom.neg %x : tensor<3x0xf32>
  return %m : tensor<3x0xf32>
}
func.func @pure(%x: tensor<64x96xf32>) -> tensor<96x64xf32> {
  %t = loom.transpose %x perm = [1, 0] : (tensor<64x96xf32>) -> tensor<96x64xf32>
  return %t : tensor<96x64xf32>
}
func.func @heads(%x: tensor<2x40x3x33xbf16>, %y: tensor<33xbf16>) -> tensor<2x3x33x40xbf16> {
  %t = loom.transpose %x perm = [0, 2, 3, 1] : (tensor<2x40x3x33xbf16>) -> tensor<2x3x33x40xbf16>
  %b = loom.broadcast %y dims = [2] : (tensor<33xbf16>) -> tensor<2x3x33x40xbf16>
  %m = loom.add %t, %b : tensor<2x3x33x40xbf16>
  return %m : tensor<2x3x33x40xbf16>
}
func.func @turned_masks(%x: tensor<50x60xi1>, %y: tensor<60x50xf64>, %z: tensor<50x60xf64>) -> (tensor<60x50xf64>, tensor<60x50xi1>) {
  %t = loom.transpose %x perm = [1, 0] : (tensor<50x60xi1>) -> tensor<60x50xi1>
  %u = loom.transpose %z perm = [1, 0] : (tensor<50x60xf64>) -> tensor<60x50xf64>
  %m = loom.select %t, %y, %u : (tensor<60x50xi1>, tensor<60x50xf64>, tensor<60x50xf64>) -> tensor<60x50xf64>
  return %m, %t : tensor<60x50xf64>, tensor<60x50xi1>
}
