// Products by instructions of warpgroups whose operands are not copied in boxes. Few multiprocessors: products of this size have tiles that are
// large enough.
module attributes {loom.matrix = "wgmma", loom.processors = 1 : i64} {
  // Both operands lie along the depth; no lines are 16 bytes apart.
  func.func @linear(%x: tensor<128x92xbf16>, %w: tensor<128x92xbf16>, %c: tensor<128xbf16>) -> tensor<128x128xbf16> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [1] : (tensor<128x92xbf16>, tensor<128x92xbf16>) -> tensor<128x128xbf16>
    %1 = loom.broadcast %c dims = [1] : (tensor<128xbf16>) -> tensor<128x128xbf16>
    %2 = loom.add %0, %1 : tensor<128x128xbf16>
    return %2 : tensor<128x128xbf16>
  }
  // Ragged rows, columns and depth; two batches.
  func.func @ragged(%x: tensor<2x200x70xf16>, %w: tensor<2x150x70xf16>) -> tensor<2x200x150xf16> {
    %0 = loom.dot_general %x, %w batch = [0] x [0] contract = [2] x [2] : (tensor<2x200x70xf16>, tensor<2x150x70xf16>) -> tensor<2x200x150xf16>
    return %0 : tensor<2x200x150xf16>
  }
  // One operand is computed on the way.
  func.func @cast(%x: tensor<130x64xf32>, %w: tensor<128x64xbf16>) -> tensor<130x128xbf16> {
    %0 = loom.convert %x : (tensor<130x64xf32>) -> tensor<130x64xbf16>
    %1 = loom.dot_general %0, %w batch = [] x [] contract = [1] x [1] : (tensor<130x64xbf16>, tensor<128x64xbf16>) -> tensor<130x128xbf16>
    return %1 : tensor<130x128xbf16>
  }
  // Instructions of warps: an operand lies across the depth, with lines that are not 16 bytes apart; the tile is small.
  func.func @turned(%x: tensor<128x96xbf16>, %w: tensor<96x124xbf16>) -> tensor<128x124xbf16> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [0] : (tensor<128x96xbf16>, tensor<96x124xbf16>) -> tensor<128x124xbf16>
    return %0 : tensor<128x124xbf16>
  }
  func.func @small(%x: tensor<64x96xbf16>, %w: tensor<32x96xbf16>) -> tensor<64x32xbf16> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [1] : (tensor<64x96xbf16>, tensor<32x96xbf16>) -> tensor<64x32xbf16>
    return %0 : tensor<64x32xbf16>
  }
}
