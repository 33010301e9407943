//--- large.mlir
module attributes {loom.matrix = "wgmma"} {
  func.func @f(%x: tensor<4096x4092xbf16>, %w: tensor<4096x4092xbf16>) -> tensor<4096x4096xbf16> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [1] : (tensor<4096x4092xbf16>, tensor<4096x4092xbf16>) -> tensor<4096x4096xbf16>
    return %0 : tensor<4096x4096xbf16>
  }
}
