// Products by instructions on matrices. Few multiprocessors: products of this size have the larger tiles.
module attributes {loom.processors = 1 : i64} {
  // Both operands lie along the depth, and are copied 16 bytes at a time.
  func.func @linear(%x: tensor<128x96xbf16>, %w: tensor<128x96xbf16>, %c: tensor<128xbf16>) -> tensor<128x128xbf16> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [1] : (tensor<128x96xbf16>, tensor<128x96xbf16>) -> tensor<128x128xbf16>
    %1 = loom.broadcast %c dims = [1] : (tensor<128xbf16>) -> tensor<128x128xbf16>
    %2 = loom.add %0, %1 : tensor<128x128xbf16>
    %3 = loom.tanh %2 : tensor<128x128xbf16>
    return %3 : tensor<128x128xbf16>
  }
  // Both lie across it.
  func.func @turned(%a: tensor<64x128xf16>, %b: tensor<64x128xf16>) -> tensor<128x128xf16> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [0] x [0] : (tensor<64x128xf16>, tensor<64x128xf16>) -> tensor<128x128xf16>
    return %0 : tensor<128x128xf16>
  }
  // A ragged depth, rows and columns.
  func.func @ragged(%a: tensor<130x72xbf16>, %b: tensor<72x200xbf16>, %r: tensor<130x200xbf16>) -> tensor<130x200xbf16> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<130x72xbf16>, tensor<72x200xbf16>) -> tensor<130x200xbf16>
    %1 = loom.add %0, %r : tensor<130x200xbf16>
    return %1 : tensor<130x200xbf16>
  }
  // Sizes that are multiples of 4, of 2, and of no more.
  func.func @fours(%a: tensor<36x44xf16>, %b: tensor<44x52xf16>) -> tensor<36x52xf16> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<36x44xf16>, tensor<44x52xf16>) -> tensor<36x52xf16>
    return %0 : tensor<36x52xf16>
  }
  func.func @twos(%a: tensor<70x34xbf16>, %b: tensor<34x66xbf16>) -> tensor<70x66xbf16> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<70x34xbf16>, tensor<34x66xbf16>) -> tensor<70x66xbf16>
    return %0 : tensor<70x66xbf16>
  }
  func.func @odd(%a: tensor<33x65xbf16>, %b: tensor<65x17xbf16>) -> tensor<33x17xbf16> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<33x65xbf16>, tensor<65x17xbf16>) -> tensor<33x17xbf16>
    return %0 : tensor<33x17xbf16>
  }
  // Operands that are computed on the way, eight elements at once.
  func.func @cast(%a: tensor<64x64xf32>, %s: tensor<64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xbf16> {
    %0 = loom.broadcast %s dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
    %1 = loom.mul %a, %0 : tensor<64x64xf32>
    %2 = loom.convert %1 : (tensor<64x64xf32>) -> tensor<64x64xbf16>
    %3 = loom.convert %b : (tensor<64x64xf32>) -> tensor<64x64xbf16>
    %4 = loom.dot_general %2, %3 batch = [] x [] contract = [1] x [0] : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    return %4 : tensor<64x64xbf16>
  }
  // One of them is copied, the other one computed element after element: it is read backwards.
  func.func @mixed(%a: tensor<64x97xbf16>, %b: tensor<64x48xbf16>) -> tensor<64x64xbf16> {
    %0 = loom.slice %a starts = [0, 96] sizes = [64, 48] steps = [1, -2] : (tensor<64x97xbf16>) -> tensor<64x48xbf16>
    %1 = loom.dot_general %0, %b batch = [] x [] contract = [1] x [1] : (tensor<64x48xbf16>, tensor<64x48xbf16>) -> tensor<64x64xbf16>
    return %1 : tensor<64x64xbf16>
  }
  // Batches that no single stride leads through.
  func.func @heads(%q: tensor<2x32x3x64xbf16>, %k: tensor<2x40x3x64xbf16>) -> tensor<2x3x32x40xbf16> {
    %0 = loom.dot_general %q, %k batch = [0, 2] x [0, 2] contract = [3] x [3] : (tensor<2x32x3x64xbf16>, tensor<2x40x3x64xbf16>) -> tensor<2x3x32x40xbf16>
    return %0 : tensor<2x3x32x40xbf16>
  }
  func.func @doubles(%a: tensor<128x48xf64>, %b: tensor<64x48xf64>) -> tensor<128x64xf64> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [1] : (tensor<128x48xf64>, tensor<64x48xf64>) -> tensor<128x64xf64>
    return %0 : tensor<128x64xf64>
  }
  func.func @doubles_turned(%a: tensor<48x64xf64>, %b: tensor<48x62xf64>, %c: tensor<64x62xf64>) -> tensor<64x62xf64> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [0] x [0] : (tensor<48x64xf64>, tensor<48x62xf64>) -> tensor<64x62xf64>
    %1 = loom.mul %0, %c : tensor<64x62xf64>
    return %1 : tensor<64x62xf64>
  }
  func.func @few_rows(%a: tensor<16x64xbf16>, %b: tensor<64x256xbf16>) -> tensor<16x256xbf16> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<16x64xbf16>, tensor<64x256xbf16>) -> tensor<16x256xbf16>
    return %0 : tensor<16x256xbf16>
  }
  func.func @few_columns(%a: tensor<256x64xbf16>, %b: tensor<64x16xbf16>) -> tensor<256x16xbf16> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<256x64xbf16>, tensor<64x16xbf16>) -> tensor<256x16xbf16>
    return %0 : tensor<256x16xbf16>
  }
}
