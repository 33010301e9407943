// Products whose slabs are copied by a warp of their own. Few multiprocessors: a block has several tiles, and its ring goes round.
module attributes {loom.matrix = "wgmma", loom.processors = 1 : i64, loom.tf32} {
  // Both operands lie along the depth, of which there are nine slabs for a ring of four.
  func.func @linear(%x: tensor<128x576xbf16>, %w: tensor<256x576xbf16>, %c: tensor<256xbf16>) -> tensor<128x256xbf16> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [1] : (tensor<128x576xbf16>, tensor<256x576xbf16>) -> tensor<128x256xbf16>
    %1 = loom.broadcast %c dims = [1] : (tensor<256xbf16>) -> tensor<128x256xbf16>
    %2 = loom.add %0, %1 : tensor<128x256xbf16>
    return %2 : tensor<128x256xbf16>
  }
  // Ragged rows, columns and depth; two batches, eight tiles.
  func.func @ragged(%x: tensor<2x200x72xf16>, %w: tensor<2x168x72xf16>) -> tensor<2x200x168xf16> {
    %0 = loom.dot_general %x, %w batch = [0] x [0] contract = [2] x [2] : (tensor<2x200x72xf16>, tensor<2x168x72xf16>) -> tensor<2x200x168xf16>
    return %0 : tensor<2x200x168xf16>
  }
  // Operands that lie across the depth: one, the other, both.
  func.func @plain(%x: tensor<136x72xbf16>, %w: tensor<72x200xbf16>) -> tensor<136x200xbf16> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [0] : (tensor<136x72xbf16>, tensor<72x200xbf16>) -> tensor<136x200xbf16>
    return %0 : tensor<136x200xbf16>
  }
  func.func @turned(%x: tensor<72x136xf16>, %w: tensor<104x72xf16>) -> tensor<136x104xf16> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [0] x [1] : (tensor<72x136xf16>, tensor<104x72xf16>) -> tensor<136x104xf16>
    return %0 : tensor<136x104xf16>
  }
  func.func @both(%x: tensor<136x128xbf16>, %w: tensor<136x128xbf16>) -> tensor<128x128xbf16> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [0] x [0] : (tensor<136x128xbf16>, tensor<136x128xbf16>) -> tensor<128x128xbf16>
    return %0 : tensor<128x128xbf16>
  }
  // A part of an argument, whose lines are further apart than they are long; and one matrix for all batches.
  func.func @part(%x: tensor<2x130x192xbf16>, %w: tensor<136x64xbf16>) -> tensor<2x130x136xbf16> {
    %0 = loom.slice %x starts = [0, 0, 64] sizes = [2, 130, 64] steps = [1, 1, 1] : (tensor<2x130x192xbf16>) -> tensor<2x130x64xbf16>
    %1 = loom.broadcast %w dims = [1, 2] : (tensor<136x64xbf16>) -> tensor<2x136x64xbf16>
    %2 = loom.dot_general %0, %1 batch = [0] x [0] contract = [2] x [2] : (tensor<2x130x64xbf16>, tensor<2x136x64xbf16>) -> tensor<2x130x136xbf16>
    return %2 : tensor<2x130x136xbf16>
  }
  // f32 as TF32, and int8: slabs of 32 and of 128 steps.
  func.func @tf32(%x: tensor<130x72xf32>, %w: tensor<136x72xf32>, %c: tensor<136xf32>) -> tensor<130x136xf32> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [1] : (tensor<130x72xf32>, tensor<136x72xf32>) -> tensor<130x136xf32>
    %1 = loom.broadcast %c dims = [1] : (tensor<136xf32>) -> tensor<130x136xf32>
    %2 = loom.add %0, %1 : tensor<130x136xf32>
    return %2 : tensor<130x136xf32>
  }
  func.func @int8(%x: tensor<130x144xi8>, %w: tensor<136x144xi8>) -> tensor<130x136xi32> {
    %0 = loom.convert %x : (tensor<130x144xi8>) -> tensor<130x144xi32>
    %1 = loom.convert %w : (tensor<136x144xi8>) -> tensor<136x144xi32>
    %2 = loom.dot_general %0, %1 batch = [] x [] contract = [1] x [1] : (tensor<130x144xi32>, tensor<136x144xi32>) -> tensor<130x136xi32>
    return %2 : tensor<130x136xi32>
  }
}
