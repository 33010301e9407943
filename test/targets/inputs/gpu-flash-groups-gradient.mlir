// Gradients of attention by instructions of warpgroups: own rows in registers, tiles of 64 rows of the other side.
module attributes {loom.matrix = "wgmma"} {
  // Two tiles of the own side, four of the other one; heads of q share those of k and v.
  func.func @causal(%g: tensor<1x2x192x64xbf16>, %q: tensor<1x2x192x64xbf16>, %k: tensor<1x1x192x64xbf16>, %v: tensor<1x1x192x64xbf16>, %d: tensor<1x2x192xf32>) -> (tensor<1x2x192x64xbf16>, tensor<1x1x192x64xbf16>, tensor<1x1x192x64xbf16>) {
    %s = loom.constant(0.125000 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s causal = true empty = "zero" : (tensor<1x2x192x64xbf16>, tensor<1x1x192x64xbf16>, tensor<1x1x192x64xbf16>, tensor<f32>) -> (tensor<1x2x192x64xbf16>, tensor<1x2x192xf32>)
    %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = true : (tensor<1x2x192x64xbf16>, tensor<1x2x192x64xbf16>, tensor<1x1x192x64xbf16>, tensor<1x1x192x64xbf16>, tensor<1x2x192xf32>, tensor<1x2x192xf32>, tensor<f32>) -> (tensor<1x2x192x64xbf16>, tensor<1x1x192x64xbf16>, tensor<1x1x192x64xbf16>)
    return %r#0, %r#1, %r#2 : tensor<1x2x192x64xbf16>, tensor<1x1x192x64xbf16>, tensor<1x1x192x64xbf16>
  }
  // Columns in two parts: k and v have stages of their own.
  func.func @wide(%g: tensor<1x1x128x128xbf16>, %q: tensor<1x1x128x128xbf16>, %k: tensor<1x1x80x128xbf16>, %v: tensor<1x1x80x128xbf16>, %d: tensor<1x1x128xf32>) -> (tensor<1x1x128x128xbf16>, tensor<1x1x80x128xbf16>, tensor<1x1x80x128xbf16>) {
    %s = loom.constant(0.125000 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x1x128x128xbf16>, tensor<1x1x80x128xbf16>, tensor<1x1x80x128xbf16>, tensor<f32>) -> (tensor<1x1x128x128xbf16>, tensor<1x1x128xf32>)
    %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = false : (tensor<1x1x128x128xbf16>, tensor<1x1x128x128xbf16>, tensor<1x1x80x128xbf16>, tensor<1x1x80x128xbf16>, tensor<1x1x128xf32>, tensor<1x1x128xf32>, tensor<f32>) -> (tensor<1x1x128x128xbf16>, tensor<1x1x80x128xbf16>, tensor<1x1x80x128xbf16>)
    return %r#0, %r#1, %r#2 : tensor<1x1x128x128xbf16>, tensor<1x1x80x128xbf16>, tensor<1x1x80x128xbf16>
  }
  // Ends within a tile, and columns that are no multiple of 16.
  func.func @ragged(%g: tensor<1x1x70x120xf16>, %q: tensor<1x1x70x56xf16>, %k: tensor<1x1x133x56xf16>, %v: tensor<1x1x133x120xf16>, %d: tensor<1x1x70xf32>) -> (tensor<1x1x70x56xf16>, tensor<1x1x133x56xf16>, tensor<1x1x133x120xf16>) {
    %s = loom.constant(0.125000 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x1x70x56xf16>, tensor<1x1x133x56xf16>, tensor<1x1x133x120xf16>, tensor<f32>) -> (tensor<1x1x70x120xf16>, tensor<1x1x70xf32>)
    %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = false : (tensor<1x1x70x120xf16>, tensor<1x1x70x56xf16>, tensor<1x1x133x56xf16>, tensor<1x1x133x120xf16>, tensor<1x1x70xf32>, tensor<1x1x70xf32>, tensor<f32>) -> (tensor<1x1x70x56xf16>, tensor<1x1x133x56xf16>, tensor<1x1x133x120xf16>)
    return %r#0, %r#1, %r#2 : tensor<1x1x70x56xf16>, tensor<1x1x133x56xf16>, tensor<1x1x133x120xf16>
  }
}
