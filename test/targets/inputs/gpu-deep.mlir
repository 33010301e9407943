// Few tiles and a great depth: the depth is divided.
func.func @deep(%a: tensor<17x4100xf32>, %b: tensor<4100x19xf32>, %c: tensor<19xf32>) -> tensor<17x19xf32> {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<17x4100xf32>, tensor<4100x19xf32>) -> tensor<17x19xf32>
  %1 = loom.broadcast %c dims = [1] : (tensor<19xf32>) -> tensor<17x19xf32>
  %2 = loom.add %0, %1 : tensor<17x19xf32>
  return %2 : tensor<17x19xf32>
}
func.func @batches(%a: tensor<2x4096x16xf64>, %b: tensor<2x4096x16xf64>) -> tensor<2x16x16xf64> {
  %0 = loom.dot_general %a, %b batch = [0] x [0] contract = [1] x [1] : (tensor<2x4096x16xf64>, tensor<2x4096x16xf64>) -> tensor<2x16x16xf64>
  return %0 : tensor<2x16x16xf64>
}
func.func @halves(%a: tensor<8x5000xbf16>, %b: tensor<8x5000xbf16>, %r: tensor<8x8xbf16>) -> tensor<8x8xbf16> {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [1] : (tensor<8x5000xbf16>, tensor<8x5000xbf16>) -> tensor<8x8xbf16>
  %1 = loom.add %0, %r : tensor<8x8xbf16>
  return %1 : tensor<8x8xbf16>
}
func.func @whole_numbers(%a: tensor<3x6000xi32>, %b: tensor<6000x4xi32>) -> tensor<3x4xi32> {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<3x6000xi32>, tensor<6000x4xi32>) -> tensor<3x4xi32>
  return %0 : tensor<3x4xi32>
}
func.func @logic(%a: tensor<3x6000xi1>, %b: tensor<6000x4xi1>) -> tensor<3x4xi1> {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<3x6000xi1>, tensor<6000x4xi1>) -> tensor<3x4xi1>
  return %0 : tensor<3x4xi1>
}
