//--- large.mlir
module attributes {loom.matrix = "wgmma"} {
  func.func @f(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [0] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
    return %0 : tensor<4096x4096xbf16>
  }
}
//--- one.mlir
module attributes {loom.matrix = "wgmma", loom.processors = 1 : i64} {
  func.func @ring(%x: tensor<200x72xbf16>, %w: tensor<136x72xbf16>) -> tensor<200x136xbf16> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [1] : (tensor<200x72xbf16>, tensor<136x72xbf16>) -> tensor<200x136xbf16>
    return %0 : tensor<200x136xbf16>
  }
}
//--- sized.mlir
#a = affine_map<()[s0] -> (s0, 72)>
#o = affine_map<()[s0] -> (s0, 136)>
module attributes {loom.matrix = "wgmma", loom.processors = 1 : i64, loom.tf32} {
  func.func @ring(%x: tensor<?x72xf32, #a>, %w: tensor<136x72xf32>) -> tensor<?x136xf32, #o> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [1] : (tensor<?x72xf32, #a>, tensor<136x72xf32>) -> tensor<?x136xf32, #o>
    return %0 : tensor<?x136xf32, #o>
  }
}
