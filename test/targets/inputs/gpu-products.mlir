func.func @plain(%a: tensor<128x64xf32>, %b: tensor<64x128xf32>) -> tensor<128x128xf32> {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  return %0 : tensor<128x128xf32>
}
func.func @turned(%a: tensor<64x128xf32>, %b: tensor<128x64xf32>) -> tensor<128x128xf32> {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [0] x [1] : (tensor<64x128xf32>, tensor<128x64xf32>) -> tensor<128x128xf32>
  return %0 : tensor<128x128xf32>
}
func.func @linear(%x: tensor<65x33xf32>, %w: tensor<97x33xf32>, %c: tensor<97xf32>) -> tensor<65x97xf32> {
  %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [1] : (tensor<65x33xf32>, tensor<97x33xf32>) -> tensor<65x97xf32>
  %1 = loom.broadcast %c dims = [1] : (tensor<97xf32>) -> tensor<65x97xf32>
  %2 = loom.add %0, %1 : tensor<65x97xf32>
  %z = loom.constant(0.0 : f32) : tensor<65x97xf32>
  %3 = loom.max %2, %z : tensor<65x97xf32>
  return %3 : tensor<65x97xf32>
}
func.func @scaled(%x: tensor<40x48xf32>, %s: tensor<40xf32>, %w: tensor<48x56xf32>, %r: tensor<40x56xf32>) -> tensor<40x56xf32> {
  %0 = loom.broadcast %s dims = [0] : (tensor<40xf32>) -> tensor<40x48xf32>
  %1 = loom.mul %x, %0 : tensor<40x48xf32>
  %2 = loom.tanh %1 : tensor<40x48xf32>
  %3 = loom.dot_general %2, %w batch = [] x [] contract = [1] x [0] : (tensor<40x48xf32>, tensor<48x56xf32>) -> tensor<40x56xf32>
  %4 = loom.add %3, %r : tensor<40x56xf32>
  return %4 : tensor<40x56xf32>
}
func.func @batches(%a: tensor<3x31x20xf64>, %b: tensor<3x20x17xf64>) -> tensor<3x31x17xf64> {
  %0 = loom.dot_general %a, %b batch = [0] x [0] contract = [2] x [1] : (tensor<3x31x20xf64>, tensor<3x20x17xf64>) -> tensor<3x31x17xf64>
  return %0 : tensor<3x31x17xf64>
}
func.func @heads(%q: tensor<2x33x4x16xbf16>, %k: tensor<2x29x4x16xbf16>) -> tensor<2x4x33x29xbf16> {
  %0 = loom.dot_general %q, %k batch = [0, 2] x [0, 2] contract = [3] x [3] : (tensor<2x33x4x16xbf16>, tensor<2x29x4x16xbf16>) -> tensor<2x4x33x29xbf16>
  return %0 : tensor<2x4x33x29xbf16>
}
func.func @halves(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>) -> tensor<64x64xf16> {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  return %0 : tensor<64x64xf16>
}
func.func @whole_numbers(%a: tensor<20x40xi32>, %b: tensor<40x30xi32>) -> tensor<20x30xi32> {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<20x40xi32>, tensor<40x30xi32>) -> tensor<20x30xi32>
  return %0 : tensor<20x30xi32>
}
func.func @logic(%a: tensor<20x9xi1>, %b: tensor<9x30xi1>) -> tensor<20x30xi1> {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<20x9xi1>, tensor<9x30xi1>) -> tensor<20x30xi1>
  return %0 : tensor<20x30xi1>
}
func.func @no_depth(%a: tensor<20x0xf32>, %b: tensor<0x30xf32>, %c: tensor<30xf32>) -> tensor<20x30xf32> {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<20x0xf32>, tensor<0x30xf32>) -> tensor<20x30xf32>
  %1 = loom.broadcast %c dims = [1] : (tensor<30xf32>) -> tensor<20x30xf32>
  %2 = loom.add %0, %1 : tensor<20x30xf32>
  return %2 : tensor<20x30xf32>
}
