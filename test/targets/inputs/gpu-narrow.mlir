// Products by instructions on matrices of TF32 and of int8. Few multiprocessors: products of this size have the larger tiles.
module attributes {loom.processors = 1 : i64, loom.tf32} {
  // Both operands lie along the depth, and are copied 16 bytes at a time.
  func.func @linear(%x: tensor<128x96xf32>, %w: tensor<128x96xf32>, %c: tensor<128xf32>) -> tensor<128x128xf32> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [1] : (tensor<128x96xf32>, tensor<128x96xf32>) -> tensor<128x128xf32>
    %1 = loom.broadcast %c dims = [1] : (tensor<128xf32>) -> tensor<128x128xf32>
    %2 = loom.add %0, %1 : tensor<128x128xf32>
    return %2 : tensor<128x128xf32>
  }
  // Both lie across it: words are fetched by themselves.
  func.func @turned(%a: tensor<64x128xf32>, %b: tensor<64x128xf32>) -> tensor<128x128xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [0] x [0] : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
    return %0 : tensor<128x128xf32>
  }
  func.func @ragged(%a: tensor<130x70xf32>, %b: tensor<70x198xf32>) -> tensor<130x198xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<130x70xf32>, tensor<70x198xf32>) -> tensor<130x198xf32>
    return %0 : tensor<130x198xf32>
  }
  // Operands that are computed on the way.
  func.func @made(%a: tensor<3x33x65xf32>, %b: tensor<3x65x17xf32>) -> tensor<3x33x17xf32> {
    %0 = loom.neg %a : tensor<3x33x65xf32>
    %1 = loom.dot_general %0, %b batch = [0] x [0] contract = [2] x [1] : (tensor<3x33x65xf32>, tensor<3x65x17xf32>) -> tensor<3x33x17xf32>
    return %1 : tensor<3x33x17xf32>
  }
  // int8 that is multiplied as int32: its sums are those of int32, to the last bit.
  func.func @bytes(%x: tensor<128x192xi8>, %w: tensor<128x192xi8>, %c: tensor<128xi32>) -> tensor<128x128xi32> {
    %a = loom.convert %x : (tensor<128x192xi8>) -> tensor<128x192xi32>
    %b = loom.convert %w : (tensor<128x192xi8>) -> tensor<128x192xi32>
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [1] : (tensor<128x192xi32>, tensor<128x192xi32>) -> tensor<128x128xi32>
    %1 = loom.broadcast %c dims = [1] : (tensor<128xi32>) -> tensor<128x128xi32>
    %2 = loom.add %0, %1 : tensor<128x128xi32>
    return %2 : tensor<128x128xi32>
  }
  func.func @bytes_turned(%x: tensor<100x48xi8>, %w: tensor<100x80xi8>) -> tensor<48x80xi32> {
    %a = loom.convert %x : (tensor<100x48xi8>) -> tensor<100x48xi32>
    %b = loom.convert %w : (tensor<100x80xi8>) -> tensor<100x80xi32>
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [0] x [0] : (tensor<100x48xi32>, tensor<100x80xi32>) -> tensor<48x80xi32>
    return %0 : tensor<48x80xi32>
  }
  // One operand is computed: it is no int8 before the product.
  func.func @bytes_odd(%x: tensor<33x65xi8>, %w: tensor<65x17xi8>) -> tensor<33x17xi32> {
    %n = loom.neg %x : tensor<33x65xi8>
    %a = loom.convert %n : (tensor<33x65xi8>) -> tensor<33x65xi32>
    %b = loom.convert %w : (tensor<65x17xi8>) -> tensor<65x17xi32>
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<33x65xi32>, tensor<65x17xi32>) -> tensor<33x17xi32>
    return %0 : tensor<33x17xi32>
  }
  // Multiply-adds: one operand is int32; the sums are int8.
  func.func @mixed(%x: tensor<33x65xi32>, %w: tensor<65x17xi8>) -> tensor<33x17xi32> {
    %b = loom.convert %w : (tensor<65x17xi8>) -> tensor<65x17xi32>
    %0 = loom.dot_general %x, %b batch = [] x [] contract = [1] x [0] : (tensor<33x65xi32>, tensor<65x17xi32>) -> tensor<33x17xi32>
    return %0 : tensor<33x17xi32>
  }
  func.func @small(%x: tensor<33x65xi8>, %w: tensor<65x17xi8>) -> tensor<33x17xi8> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [0] : (tensor<33x65xi8>, tensor<65x17xi8>) -> tensor<33x17xi8>
    return %0 : tensor<33x17xi8>
  }
}
