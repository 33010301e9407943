// Attention of heads with more than 128 columns: forward by instructions on matrices of NVIDIA, and otherwise by multiply-adds.
// All 256 columns.
func.func @wide(%q: tensor<1x2x130x256xbf16>, %k: tensor<1x1x70x256xbf16>, %v: tensor<1x1x70x256xbf16>) -> (tensor<1x2x130x256xbf16>, tensor<1x2x130xf32>) {
  %s = loom.constant(0.0625 : f32) : tensor<f32>
  %o:2 = loom.attention %q, %k, %v, %s causal = true empty = "zero" : (tensor<1x2x130x256xbf16>, tensor<1x1x70x256xbf16>, tensor<1x1x70x256xbf16>, tensor<f32>) -> (tensor<1x2x130x256xbf16>, tensor<1x2x130xf32>)
  return %o#0, %o#1 : tensor<1x2x130x256xbf16>, tensor<1x2x130xf32>
}
// q and k have more columns than v.
func.func @latent(%q: tensor<1x1x128x192xf16>, %k: tensor<1x1x96x192xf16>, %v: tensor<1x1x96x128xf16>) -> (tensor<1x1x128x128xf16>, tensor<1x1x128xf32>) {
  %s = loom.constant(0.0625 : f32) : tensor<f32>
  %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x1x128x192xf16>, tensor<1x1x96x192xf16>, tensor<1x1x96x128xf16>, tensor<f32>) -> (tensor<1x1x128x128xf16>, tensor<1x1x128xf32>)
  return %o#0, %o#1 : tensor<1x1x128x128xf16>, tensor<1x1x128xf32>
}
// Few queries: two warps share a tile of keys, and the keys have parts.
func.func @token(%q: tensor<1x2x1x256xbf16>, %k: tensor<1x2x600x256xbf16>, %v: tensor<1x2x600x256xbf16>) -> (tensor<1x2x1x256xbf16>, tensor<1x2x1xf32>) {
  %s = loom.constant(0.0625 : f32) : tensor<f32>
  %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x2x1x256xbf16>, tensor<1x2x600x256xbf16>, tensor<1x2x600x256xbf16>, tensor<f32>) -> (tensor<1x2x1x256xbf16>, tensor<1x2x1xf32>)
  return %o#0, %o#1 : tensor<1x2x1x256xbf16>, tensor<1x2x1xf32>
}
