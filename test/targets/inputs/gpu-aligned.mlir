// Products with accesses that are wider where buffers are aligned.
module attributes {loom.processors = 1 : i64} {
  func.func @linear(%x: tensor<128x96xbf16>, %w: tensor<128x96xbf16>, %c: tensor<128xbf16>) -> tensor<128x128xbf16> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [1] : (tensor<128x96xbf16>, tensor<128x96xbf16>) -> tensor<128x128xbf16>
    %1 = loom.broadcast %c dims = [1] : (tensor<128xbf16>) -> tensor<128x128xbf16>
    %2 = loom.add %0, %1 : tensor<128x128xbf16>
    %3 = loom.tanh %2 : tensor<128x128xbf16>
    return %3 : tensor<128x128xbf16>
  }
  func.func @ragged(%a: tensor<130x72xbf16>, %b: tensor<72x200xbf16>, %r: tensor<130x200xbf16>) -> tensor<130x200xbf16> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<130x72xbf16>, tensor<72x200xbf16>) -> tensor<130x200xbf16>
    %1 = loom.add %0, %r : tensor<130x200xbf16>
    return %1 : tensor<130x200xbf16>
  }
  func.func @twos(%a: tensor<70x34xbf16>, %b: tensor<34x66xbf16>) -> tensor<70x66xbf16> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<70x34xbf16>, tensor<34x66xbf16>) -> tensor<70x66xbf16>
    return %0 : tensor<70x66xbf16>
  }
  func.func @cast(%a: tensor<64x64xf32>, %s: tensor<64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xbf16> {
    %0 = loom.broadcast %s dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
    %1 = loom.mul %a, %0 : tensor<64x64xf32>
    %2 = loom.convert %1 : (tensor<64x64xf32>) -> tensor<64x64xbf16>
    %3 = loom.convert %b : (tensor<64x64xf32>) -> tensor<64x64xbf16>
    %4 = loom.dot_general %2, %3 batch = [] x [] contract = [1] x [0] : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
    return %4 : tensor<64x64xbf16>
  }
  func.func @doubles_turned(%a: tensor<48x64xf64>, %b: tensor<48x62xf64>, %c: tensor<64x62xf64>) -> tensor<64x62xf64> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [0] x [0] : (tensor<48x64xf64>, tensor<48x62xf64>) -> tensor<64x62xf64>
    %1 = loom.mul %0, %c : tensor<64x62xf64>
    return %1 : tensor<64x62xf64>
  }
}
