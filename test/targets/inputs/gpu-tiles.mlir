// Few multiprocessors: products of this size have the larger tiles. No instructions on matrices: multiply-adds for all types.
module attributes {loom.matrix = "none", loom.processors = 1 : i64} {
  func.func @large(%a: tensor<127x33xf32>, %b: tensor<33x255xf32>, %c: tensor<127xf32>) -> tensor<127x255xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<127x33xf32>, tensor<33x255xf32>) -> tensor<127x255xf32>
    %1 = loom.broadcast %c dims = [0] : (tensor<127xf32>) -> tensor<127x255xf32>
    %2 = loom.add %0, %1 : tensor<127x255xf32>
    return %2 : tensor<127x255xf32>
  }
  func.func @even(%a: tensor<128x64xf32>, %b: tensor<64x128xf32>) -> tensor<128x128xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
    return %0 : tensor<128x128xf32>
  }
  func.func @turned(%a: tensor<64x128xf32>, %b: tensor<128x64xf32>) -> tensor<128x128xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [0] x [1] : (tensor<64x128xf32>, tensor<128x64xf32>) -> tensor<128x128xf32>
    return %0 : tensor<128x128xf32>
  }
  func.func @middle(%a: tensor<192x32xf32>, %b: tensor<192x32xf32>) -> tensor<192x192xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [1] : (tensor<192x32xf32>, tensor<192x32xf32>) -> tensor<192x192xf32>
    return %0 : tensor<192x192xf32>
  }
  func.func @low(%a: tensor<32x40xf32>, %b: tensor<40x256xf32>) -> tensor<32x256xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x40xf32>, tensor<40x256xf32>) -> tensor<32x256xf32>
    return %0 : tensor<32x256xf32>
  }
  func.func @narrow(%a: tensor<256x40xf32>, %b: tensor<40x32xf32>) -> tensor<256x32xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<256x40xf32>, tensor<40x32xf32>) -> tensor<256x32xf32>
    return %0 : tensor<256x32xf32>
  }
  func.func @few_rows(%a: tensor<16x40xf32>, %b: tensor<40x1024xf32>) -> tensor<16x1024xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<16x40xf32>, tensor<40x1024xf32>) -> tensor<16x1024xf32>
    return %0 : tensor<16x1024xf32>
  }
  func.func @few_columns(%a: tensor<1020x20xf32>, %b: tensor<20x10xf32>) -> tensor<1020x10xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<1020x20xf32>, tensor<20x10xf32>) -> tensor<1020x10xf32>
    return %0 : tensor<1020x10xf32>
  }
  func.func @doubles(%a: tensor<64x48xf64>, %b: tensor<64x48xf64>) -> tensor<64x64xf64> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [1] : (tensor<64x48xf64>, tensor<64x48xf64>) -> tensor<64x64xf64>
    return %0 : tensor<64x64xf64>
  }
  func.func @halves(%a: tensor<64x48xbf16>, %b: tensor<48x64xbf16>) -> tensor<64x64xbf16> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<64x48xbf16>, tensor<48x64xbf16>) -> tensor<64x64xbf16>
    return %0 : tensor<64x64xbf16>
  }
}
