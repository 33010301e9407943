func.func @multiply_add(%a: tensor<1000xf32>, %b: tensor<1000xf32>) -> tensor<1000xf32> {
  %c = loom.constant(1.0 : f32) : tensor<1000xf32>
  %0 = loom.mul %a, %b : tensor<1000xf32>
  %1 = loom.add %0, %c : tensor<1000xf32>
  return %1 : tensor<1000xf32>
}
func.func @layouts(%a: tensor<64x32xf32> {loom.strides = array<i64: 1, 64>}, %b: tensor<32xf32>,
                   %s: tensor<f32> {loom.scalar})
    -> (tensor<64x32xf32>, tensor<64x32xf32> {loom.strides = array<i64: 1, 64>}, tensor<64x32xf32>) {
  %0 = loom.broadcast %b dims = [1] : (tensor<32xf32>) -> tensor<64x32xf32>
  %1 = loom.broadcast %s dims = [] : (tensor<f32>) -> tensor<64x32xf32>
  %2 = loom.mul %a, %0 : tensor<64x32xf32>
  %3 = loom.add %2, %1 : tensor<64x32xf32>
  %4 = loom.neg %3 : tensor<64x32xf32>
  return %3, %4, %3 : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
}
func.func @reversed(%a: tensor<7x5xi32> {loom.strides = array<i64: -5, 2>}, %c: tensor<7x5xi32> {loom.const})
    -> tensor<5x7xi32> {
  %0 = loom.add %a, %c : tensor<7x5xi32>
  %1 = loom.transpose %0 perm = [1, 0] : (tensor<7x5xi32>) -> tensor<5x7xi32>
  return %1 : tensor<5x7xi32>
}
func.func @slices(%a: tensor<100xf64>) -> tensor<98xf64> {
  %t = loom.constant(2.0 : f64) : tensor<100xf64>
  %b = loom.mul %a, %t : tensor<100xf64>
  %0 = loom.slice %b starts = [0] sizes = [98] steps = [1] : (tensor<100xf64>) -> tensor<98xf64>
  %1 = loom.slice %b starts = [1] sizes = [98] steps = [1] : (tensor<100xf64>) -> tensor<98xf64>
  %2 = loom.slice %b starts = [99] sizes = [98] steps = [-1] : (tensor<100xf64>) -> tensor<98xf64>
  %3 = loom.sub %1, %0 : tensor<98xf64>
  %4 = loom.add %3, %2 : tensor<98xf64>
  return %4 : tensor<98xf64>
}
func.func @inputs_returned(%a: tensor<3x4xi64> {loom.strides = array<i64: 1, 3>}, %s: tensor<i64> {loom.scalar})
    -> (tensor<3x4xi64>, tensor<3x4xi64>, tensor<i64>, tensor<5xi64>) {
  %c = loom.constant(7 : i64) : tensor<5xi64>
  return %a, %a, %s, %c : tensor<3x4xi64>, tensor<3x4xi64>, tensor<i64>, tensor<5xi64>
}
func.func @empty(%a: tensor<0x4xf32>) -> (tensor<0x4xf32>, tensor<4x0xf32>) {
  %0 = loom.add %a, %a : tensor<0x4xf32>
  %1 = loom.transpose %0 perm = [1, 0] : (tensor<0x4xf32>) -> tensor<4x0xf32>
  return %0, %1 : tensor<0x4xf32>, tensor<4x0xf32>
}
func.func @reshapes(%a: tensor<6x8xf32>, %b: tensor<6x8xf32> {loom.strides = array<i64: 1, 6>}) -> (tensor<48xf32>, tensor<4x12xf32>) {
  %0 = loom.reshape %a : (tensor<6x8xf32>) -> tensor<48xf32>
  %1 = loom.neg %0 : tensor<48xf32>
  %2 = loom.mul %a, %b : tensor<6x8xf32>
  %3 = loom.reshape %2 : (tensor<6x8xf32>) -> tensor<4x12xf32>
  return %1, %3 : tensor<48xf32>, tensor<4x12xf32>
}
func.func @compare(%a: tensor<33xi16>, %b: tensor<33xi16>, %m: tensor<33xi1>) -> (tensor<33xi16>, tensor<33xi1>) {
  %0 = loom.compare "lt" %a, %b : (tensor<33xi16>, tensor<33xi16>) -> tensor<33xi1>
  %1 = loom.and %0, %m : tensor<33xi1>
  %2 = loom.select %1, %a, %b : (tensor<33xi1>, tensor<33xi16>, tensor<33xi16>) -> tensor<33xi16>
  return %2, %1 : tensor<33xi16>, tensor<33xi1>
}
func.func @fused(%a: tensor<1000xf32>, %b: tensor<1000xf32>, %h: tensor<9xf16>) -> (tensor<1000xf32>, tensor<9xf16>) {
  %0 = loom.mul_add %a, %b, %a : tensor<1000xf32>
  %1 = loom.mul_add %h, %h, %h : tensor<9xf16>
  return %0, %1 : tensor<1000xf32>, tensor<9xf16>
}
