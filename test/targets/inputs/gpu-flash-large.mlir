// Sizes of a transformer; two blocks of a multiprocessor have place for it.
func.func @main(%q: tensor<4x16x1024x64xbf16>, %k: tensor<4x16x1024x64xbf16>, %v: tensor<4x16x1024x64xbf16>) -> tensor<4x16x1024x64xbf16> {
  %s = loom.constant(0.125 : f32) : tensor<f32>
  %o:2 = loom.attention %q, %k, %v, %s causal = true empty = "zero" : (tensor<4x16x1024x64xbf16>, tensor<4x16x1024x64xbf16>, tensor<4x16x1024x64xbf16>, tensor<f32>) -> (tensor<4x16x1024x64xbf16>, tensor<4x16x1024xf32>)
  return %o#0 : tensor<4x16x1024x64xbf16>
}
