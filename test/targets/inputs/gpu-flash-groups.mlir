// Attention by instructions of warpgroups: rows of q in registers, tiles of k and v of 64 columns, or of twice 64.
module attributes {loom.matrix = "wgmma"} {
  // Two tiles of queries, four of keys.
  func.func @causal(%q: tensor<1x1x256x64xbf16>, %k: tensor<1x1x256x64xbf16>, %v: tensor<1x1x256x64xbf16>) -> (tensor<1x1x256x64xbf16>, tensor<1x1x256xf32>) {
    %s = loom.constant(0.125000 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s causal = true empty = "zero" : (tensor<1x1x256x64xbf16>, tensor<1x1x256x64xbf16>, tensor<1x1x256x64xbf16>, tensor<f32>) -> (tensor<1x1x256x64xbf16>, tensor<1x1x256xf32>)
    return %o#0, %o#1 : tensor<1x1x256x64xbf16>, tensor<1x1x256xf32>
  }
  // Columns in two parts; heads of q share those of k and v.
  func.func @wide(%q: tensor<1x2x128x128xbf16>, %k: tensor<1x1x192x128xbf16>, %v: tensor<1x1x192x128xbf16>) -> (tensor<1x2x128x128xbf16>, tensor<1x2x128xf32>) {
    %s = loom.constant(0.125000 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x2x128x128xbf16>, tensor<1x1x192x128xbf16>, tensor<1x1x192x128xbf16>, tensor<f32>) -> (tensor<1x2x128x128xbf16>, tensor<1x2x128xf32>)
    return %o#0, %o#1 : tensor<1x2x128x128xbf16>, tensor<1x2x128xf32>
  }
  // Ends of every side within a tile, columns that are no multiple of 16, and k narrower than v.
  func.func @ragged(%q: tensor<1x2x70x40xf16>, %k: tensor<1x1x133x40xf16>, %v: tensor<1x1x133x120xf16>, %m: tensor<1x2x70x133xf32>) -> (tensor<1x2x70x120xf16>, tensor<1x2x70xf32>) {
    %s = loom.constant(0.125000 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s, %m causal = false empty = "zero" : (tensor<1x2x70x40xf16>, tensor<1x1x133x40xf16>, tensor<1x1x133x120xf16>, tensor<f32>, tensor<1x2x70x133xf32>) -> (tensor<1x2x70x120xf16>, tensor<1x2x70xf32>)
    return %o#0, %o#1 : tensor<1x2x70x120xf16>, tensor<1x2x70xf32>
  }
  // Warps multiply: v has too few columns.
  func.func @small(%q: tensor<1x1x64x64xbf16>, %k: tensor<1x1x64x64xbf16>, %v: tensor<1x1x64x32xbf16>) -> (tensor<1x1x64x32xbf16>, tensor<1x1x64xf32>) {
    %s = loom.constant(0.125000 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x1x64x64xbf16>, tensor<1x1x64x64xbf16>, tensor<1x1x64x32xbf16>, tensor<f32>) -> (tensor<1x1x64x32xbf16>, tensor<1x1x64xf32>)
    return %o#0, %o#1 : tensor<1x1x64x32xbf16>, tensor<1x1x64xf32>
  }
}
