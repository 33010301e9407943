//--- tf32.mlir
module attributes {loom.tf32} {
  func.func @f(%x: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [1] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %0 : tensor<4096x4096xf32>
  }
}
//--- bytes.mlir
module {
  func.func @f(%x: tensor<4096x4096xi8>, %w: tensor<4096x4096xi8>) -> tensor<4096x4096xi32> {
    %a = loom.convert %x : (tensor<4096x4096xi8>) -> tensor<4096x4096xi32>
    %b = loom.convert %w : (tensor<4096x4096xi8>) -> tensor<4096x4096xi32>
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [1] : (tensor<4096x4096xi32>, tensor<4096x4096xi32>) -> tensor<4096x4096xi32>
    return %0 : tensor<4096x4096xi32>
  }
}
