//--- linear.mlir
func.func @linear(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %c: tensor<4096xbf16>) -> tensor<4096x4096xbf16> {
  %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [1] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = loom.broadcast %c dims = [1] : (tensor<4096xbf16>) -> tensor<4096x4096xbf16>
  %2 = loom.add %0, %1 : tensor<4096x4096xbf16>
  %3 = loom.tanh %2 : tensor<4096x4096xbf16>
  return %3 : tensor<4096x4096xbf16>
}
//--- plain.mlir
func.func @plain(%x: tensor<4096x4096xf16>, %w: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [0] : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
  return %0 : tensor<4096x4096xf16>
}
//--- doubles.mlir
func.func @doubles(%x: tensor<4096x4096xf64>, %w: tensor<4096x4096xf64>) -> tensor<4096x4096xf64> {
  %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [0] : (tensor<4096x4096xf64>, tensor<4096x4096xf64>) -> tensor<4096x4096xf64>
  return %0 : tensor<4096x4096xf64>
}
