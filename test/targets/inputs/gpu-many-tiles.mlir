module attributes {loom.processors = 1000 : i64} {
  func.func @even(%a: tensor<512x16xbf16>, %b: tensor<16x1024xbf16>, %c: tensor<512xbf16>) -> tensor<512xbf16> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<512x16xbf16>, tensor<16x1024xbf16>) -> tensor<512x1024xbf16>
    %1 = loom.reduce "max" %0 axes = [1] : (tensor<512x1024xbf16>) -> tensor<512xbf16>
    return %1 : tensor<512xbf16>
  }
  func.func @ragged(%a: tensor<2x601x8xbf16>, %b: tensor<2x8x900xbf16>) -> tensor<2x601xbf16> {
    %0 = loom.dot_general %a, %b batch = [0] x [0] contract = [2] x [1] : (tensor<2x601x8xbf16>, tensor<2x8x900xbf16>) -> tensor<2x601x900xbf16>
    %1 = loom.reduce "min" %0 axes = [2] : (tensor<2x601x900xbf16>) -> tensor<2x601xbf16>
    return %1 : tensor<2x601xbf16>
  }
}
