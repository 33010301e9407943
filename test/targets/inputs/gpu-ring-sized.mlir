// Products of symbolic sizes whose slabs are copied by a warp of their own: maps are made of a launch's parameters.
#a = affine_map<()[s0] -> (s0, 72)>
#o = affine_map<()[s0] -> (s0, 136)>
#h = affine_map<()[s0] -> (3, 2 * s0 + 5, 72)>
#i = affine_map<()[s0] -> (3, 2 * s0 + 5, 136)>
#t = affine_map<()[s0] -> (s0, 128)>
module attributes {loom.matrix = "wgmma", loom.processors = 1 : i64, loom.tf32} {
  func.func @rows(%x: tensor<?x72xbf16, #a>, %w: tensor<136x72xbf16>) -> tensor<?x136xbf16, #o> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [1] : (tensor<?x72xbf16, #a>, tensor<136x72xbf16>) -> tensor<?x136xbf16, #o>
    return %0 : tensor<?x136xbf16, #o>
  }
  func.func @batches(%x: tensor<3x?x72xf32, #h>, %w: tensor<136x72xf32>) -> tensor<3x?x136xf32, #i> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [2] x [1] : (tensor<3x?x72xf32, #h>, tensor<136x72xf32>) -> tensor<3x?x136xf32, #i>
    return %0 : tensor<3x?x136xf32, #i>
  }
  func.func @depth(%x: tensor<?x128xf16, #t>, %w: tensor<?x136xf16, #o>) -> tensor<128x136xf16> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [0] x [0] : (tensor<?x128xf16, #t>, tensor<?x136xf16, #o>) -> tensor<128x136xf16>
    return %0 : tensor<128x136xf16>
  }
}
