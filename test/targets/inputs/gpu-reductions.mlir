// Reductions of few rows and of columns for GPUs: gpu-reductions.test runs them on the simulator, and puts them through the vendors' tools.
func.func @whole(%x: tensor<30x301xf32>) -> tensor<f32> {
  %0 = loom.reduce "sum" %x axes = [0, 1] : (tensor<30x301xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @place(%x: tensor<9003xf16>) -> (tensor<i64>, tensor<f16>) {
  %0 = loom.reduce "argmin" %x axes = [0] : (tensor<9003xf16>) -> tensor<i64>
  %1 = loom.reduce "sum" %x axes = [0] : (tensor<9003xf16>) -> tensor<f16>
  return %0, %1 : tensor<i64>, tensor<f16>
}
func.func @softmax(%x: tensor<9000xf32>) -> tensor<9000xf32> {
  %m = loom.reduce "max" %x axes = [0] : (tensor<9000xf32>) -> tensor<f32>
  %b = loom.broadcast %m dims = [] : (tensor<f32>) -> tensor<9000xf32>
  %0 = loom.sub %x, %b : tensor<9000xf32>
  %e = loom.exp %0 : tensor<9000xf32>
  %s = loom.reduce "sum" %e axes = [0] : (tensor<9000xf32>) -> tensor<f32>
  %c = loom.broadcast %s dims = [] : (tensor<f32>) -> tensor<9000xf32>
  %1 = loom.div %e, %c : tensor<9000xf32>
  return %1 : tensor<9000xf32>
}
func.func @channels(%x: tensor<22x2x402xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = loom.reduce "max" %x axes = [0, 2] : (tensor<22x2x402xf32>) -> tensor<2xf32>
  %1 = loom.mul %0, %y : tensor<2xf32>
  return %1 : tensor<2xf32>
}
func.func @columns(%x: tensor<260x68xf32>) -> tensor<68xf32> {
  %0 = loom.reduce "sum" %x axes = [0] : (tensor<260x68xf32>) -> tensor<68xf32>
  return %0 : tensor<68xf32>
}
func.func @narrow(%x: tensor<900x12xbf16>, %y: tensor<12xbf16>) -> tensor<12xbf16> {
  %0 = loom.reduce "sum" %x axes = [0] : (tensor<900x12xbf16>) -> tensor<12xbf16>
  %1 = loom.add %0, %y : tensor<12xbf16>
  return %1 : tensor<12xbf16>
}
func.func @odd(%x: tensor<2x101x67xi64>) -> (tensor<2x67xi64>, tensor<2x67xi64>) {
  %0 = loom.reduce "argmax" %x axes = [1] : (tensor<2x101x67xi64>) -> tensor<2x67xi64>
  %1 = loom.reduce "max" %x axes = [1] : (tensor<2x101x67xi64>) -> tensor<2x67xi64>
  return %0, %1 : tensor<2x67xi64>, tensor<2x67xi64>
}
func.func @down(%x: tensor<90x20xf32>) -> tensor<90x20xf32> {
  %m = loom.reduce "max" %x axes = [0] : (tensor<90x20xf32>) -> tensor<20xf32>
  %b = loom.broadcast %m dims = [1] : (tensor<20xf32>) -> tensor<90x20xf32>
  %0 = loom.sub %x, %b : tensor<90x20xf32>
  %e = loom.exp %0 : tensor<90x20xf32>
  %s = loom.reduce "sum" %e axes = [0] : (tensor<90x20xf32>) -> tensor<20xf32>
  %c = loom.broadcast %s dims = [1] : (tensor<20xf32>) -> tensor<90x20xf32>
  %1 = loom.div %e, %c : tensor<90x20xf32>
  return %1 : tensor<90x20xf32>
}
func.func @inner(%x: tensor<40x3x6x8xf32>) -> tensor<3x8xf32> {
  %0 = loom.reduce "sum" %x axes = [0, 2] : (tensor<40x3x6x8xf32>) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}
