// Heads of the usual widths, whose buffers may not be aligned.
module attributes {loom.processors = 1 : i64} {
  // Two blocks of a multiprocessor have place for it.
  func.func @narrow(%q: tensor<1x1x128x64xbf16>, %k: tensor<1x1x128x64xbf16>, %v: tensor<1x1x128x64xbf16>, %g: tensor<1x1x128x64xbf16>, %d: tensor<1x1x128xf32>) -> (tensor<1x1x128x64xbf16>, tensor<1x1x128xf32>, tensor<1x1x128x64xbf16>, tensor<1x1x128x64xbf16>, tensor<1x1x128x64xbf16>) {
    %s = loom.constant(0.125000 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s causal = true empty = "zero" : (tensor<1x1x128x64xbf16>, tensor<1x1x128x64xbf16>, tensor<1x1x128x64xbf16>, tensor<f32>) -> (tensor<1x1x128x64xbf16>, tensor<1x1x128xf32>)
    %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = true : (tensor<1x1x128x64xbf16>, tensor<1x1x128x64xbf16>, tensor<1x1x128x64xbf16>, tensor<1x1x128x64xbf16>, tensor<1x1x128xf32>, tensor<1x1x128xf32>, tensor<f32>) -> (tensor<1x1x128x64xbf16>, tensor<1x1x128x64xbf16>, tensor<1x1x128x64xbf16>)
    return %o#0, %o#1, %r#0, %r#1, %r#2 : tensor<1x1x128x64xbf16>, tensor<1x1x128xf32>, tensor<1x1x128x64xbf16>, tensor<1x1x128x64xbf16>, tensor<1x1x128x64xbf16>
  }
  // The gradients of keys have a stage each.
  func.func @wide(%q: tensor<1x2x128x128xf16>, %k: tensor<1x1x64x128xf16>, %v: tensor<1x1x64x128xf16>, %g: tensor<1x2x128x128xf16>, %d: tensor<1x2x128xf32>) -> (tensor<1x2x128x128xf16>, tensor<1x2x128xf32>, tensor<1x2x128x128xf16>, tensor<1x1x64x128xf16>, tensor<1x1x64x128xf16>) {
    %s = loom.constant(0.088388 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x2x128x128xf16>, tensor<1x1x64x128xf16>, tensor<1x1x64x128xf16>, tensor<f32>) -> (tensor<1x2x128x128xf16>, tensor<1x2x128xf32>)
    %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = false : (tensor<1x2x128x128xf16>, tensor<1x2x128x128xf16>, tensor<1x1x64x128xf16>, tensor<1x1x64x128xf16>, tensor<1x2x128xf32>, tensor<1x2x128xf32>, tensor<f32>) -> (tensor<1x2x128x128xf16>, tensor<1x1x64x128xf16>, tensor<1x1x64x128xf16>)
    return %o#0, %o#1, %r#0, %r#1, %r#2 : tensor<1x2x128x128xf16>, tensor<1x2x128xf32>, tensor<1x2x128x128xf16>, tensor<1x1x64x128xf16>, tensor<1x1x64x128xf16>
  }
  // One query: four warps share a tile of keys.
  func.func @text(%q: tensor<1x1x1x128xbf16>, %k: tensor<1x1x256x128xbf16>, %v: tensor<1x1x256x128xbf16>) -> (tensor<1x1x1x128xbf16>, tensor<1x1x1xf32>) {
    %s = loom.constant(0.088388 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x1x1x128xbf16>, tensor<1x1x256x128xbf16>, tensor<1x1x256x128xbf16>, tensor<f32>) -> (tensor<1x1x1x128xbf16>, tensor<1x1x1xf32>)
    return %o#0, %o#1 : tensor<1x1x1x128xbf16>, tensor<1x1x1xf32>
  }
}
