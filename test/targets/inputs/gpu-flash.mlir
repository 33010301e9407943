module attributes {loom.processors = 128 : i64} {
  // Two tiles of queries and four of keys, of which two are skipped.
  func.func @causal(%q: tensor<1x1x256x64xbf16>, %k: tensor<1x1x256x64xbf16>, %v: tensor<1x1x256x64xbf16>, %g: tensor<1x1x256x64xbf16>, %d: tensor<1x1x256xf32>) -> (tensor<1x1x256x64xbf16>, tensor<1x1x256xf32>, tensor<1x1x256x64xbf16>, tensor<1x1x256x64xbf16>, tensor<1x1x256x64xbf16>) {
    %s = loom.constant(0.125000 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s causal = true empty = "zero" : (tensor<1x1x256x64xbf16>, tensor<1x1x256x64xbf16>, tensor<1x1x256x64xbf16>, tensor<f32>) -> (tensor<1x1x256x64xbf16>, tensor<1x1x256xf32>)
    %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = true : (tensor<1x1x256x64xbf16>, tensor<1x1x256x64xbf16>, tensor<1x1x256x64xbf16>, tensor<1x1x256x64xbf16>, tensor<1x1x256xf32>, tensor<1x1x256xf32>, tensor<f32>) -> (tensor<1x1x256x64xbf16>, tensor<1x1x256x64xbf16>, tensor<1x1x256x64xbf16>)
    return %o#0, %o#1, %r#0, %r#1, %r#2 : tensor<1x1x256x64xbf16>, tensor<1x1x256xf32>, tensor<1x1x256x64xbf16>, tensor<1x1x256x64xbf16>, tensor<1x1x256x64xbf16>
  }

  // Heads of 128 columns as a transformer has them: (batch, rows, heads, columns) in memory. Heads of q share those of k and v.
  func.func @wide(%q: tensor<1x2x128x128xbf16> {loom.strides = array<i64: 32768, 128, 256, 1>}, %k: tensor<1x1x128x128xbf16> {loom.strides = array<i64: 16384, 128, 128, 1>}, %v: tensor<1x1x128x128xbf16> {loom.strides = array<i64: 16384, 128, 128, 1>}, %g: tensor<1x2x128x128xbf16> {loom.strides = array<i64: 32768, 128, 256, 1>}, %d: tensor<1x2x128xf32>) -> (tensor<1x2x128x128xbf16>, tensor<1x2x128xf32>, tensor<1x2x128x128xbf16>, tensor<1x1x128x128xbf16>, tensor<1x1x128x128xbf16>) {
    %s = loom.constant(0.088388 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x2x128x128xbf16>, tensor<1x1x128x128xbf16>, tensor<1x1x128x128xbf16>, tensor<f32>) -> (tensor<1x2x128x128xbf16>, tensor<1x2x128xf32>)
    %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = false : (tensor<1x2x128x128xbf16>, tensor<1x2x128x128xbf16>, tensor<1x1x128x128xbf16>, tensor<1x1x128x128xbf16>, tensor<1x2x128xf32>, tensor<1x2x128xf32>, tensor<f32>) -> (tensor<1x2x128x128xbf16>, tensor<1x1x128x128xbf16>, tensor<1x1x128x128xbf16>)
    return %o#0, %o#1, %r#0, %r#1, %r#2 : tensor<1x2x128x128xbf16>, tensor<1x2x128xf32>, tensor<1x2x128x128xbf16>, tensor<1x1x128x128xbf16>, tensor<1x1x128x128xbf16>
  }

  // Ends of every side within a tile; a mask for each query and key, and columns that are no multiple of 16.
  func.func @ragged(%q: tensor<1x2x70x40xf16>, %k: tensor<1x1x133x40xf16>, %v: tensor<1x1x133x90xf16>, %m: tensor<1x2x70x133xf32>, %g: tensor<1x2x70x90xf16>, %d: tensor<1x2x70xf32>) -> (tensor<1x2x70x90xf16>, tensor<1x2x70xf32>, tensor<1x2x70x40xf16>, tensor<1x1x133x40xf16>, tensor<1x1x133x90xf16>) {
    %s = loom.constant(0.158114 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s, %m causal = false empty = "zero" : (tensor<1x2x70x40xf16>, tensor<1x1x133x40xf16>, tensor<1x1x133x90xf16>, tensor<f32>, tensor<1x2x70x133xf32>) -> (tensor<1x2x70x90xf16>, tensor<1x2x70xf32>)
    %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s, %m causal = false : (tensor<1x2x70x90xf16>, tensor<1x2x70x40xf16>, tensor<1x1x133x40xf16>, tensor<1x1x133x90xf16>, tensor<1x2x70xf32>, tensor<1x2x70xf32>, tensor<f32>, tensor<1x2x70x133xf32>) -> (tensor<1x2x70x40xf16>, tensor<1x1x133x40xf16>, tensor<1x1x133x90xf16>)
    return %o#0, %o#1, %r#0, %r#1, %r#2 : tensor<1x2x70x90xf16>, tensor<1x2x70xf32>, tensor<1x2x70x40xf16>, tensor<1x1x133x40xf16>, tensor<1x1x133x90xf16>
  }

  // Three heads of q use one of k and v; causal, and more keys than queries; 96 columns.
  func.func @groups(%q: tensor<1x3x65x96xbf16>, %k: tensor<1x1x100x96xbf16>, %v: tensor<1x1x100x96xbf16>, %g: tensor<1x3x65x96xbf16>, %d: tensor<1x3x65xf32>) -> (tensor<1x3x65x96xbf16>, tensor<1x3x65xf32>, tensor<1x3x65x96xbf16>, tensor<1x1x100x96xbf16>, tensor<1x1x100x96xbf16>) {
    %s = loom.constant(0.102062 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s causal = true empty = "zero" : (tensor<1x3x65x96xbf16>, tensor<1x1x100x96xbf16>, tensor<1x1x100x96xbf16>, tensor<f32>) -> (tensor<1x3x65x96xbf16>, tensor<1x3x65xf32>)
    %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = true : (tensor<1x3x65x96xbf16>, tensor<1x3x65x96xbf16>, tensor<1x1x100x96xbf16>, tensor<1x1x100x96xbf16>, tensor<1x3x65xf32>, tensor<1x3x65xf32>, tensor<f32>) -> (tensor<1x3x65x96xbf16>, tensor<1x1x100x96xbf16>, tensor<1x1x100x96xbf16>)
    return %o#0, %o#1, %r#0, %r#1, %r#2 : tensor<1x3x65x96xbf16>, tensor<1x3x65xf32>, tensor<1x3x65x96xbf16>, tensor<1x1x100x96xbf16>, tensor<1x1x100x96xbf16>
  }

  // A mask of bools that is the same for all queries; the scale is not known.
  func.func @bools(%q: tensor<1x2x40x32xf16>, %k: tensor<1x2x64x32xf16>, %v: tensor<1x2x64x16xf16>, %m: tensor<1x1x1x64xi1>, %g: tensor<1x2x40x16xf16>, %d: tensor<1x2x40xf32>, %s: tensor<f32>) -> (tensor<1x2x40x16xf16>, tensor<1x2x40xf32>, tensor<1x2x40x32xf16>, tensor<1x2x64x32xf16>, tensor<1x2x64x16xf16>) {
    %o:2 = loom.attention %q, %k, %v, %s, %m causal = false empty = "zero" : (tensor<1x2x40x32xf16>, tensor<1x2x64x32xf16>, tensor<1x2x64x16xf16>, tensor<f32>, tensor<1x1x1x64xi1>) -> (tensor<1x2x40x16xf16>, tensor<1x2x40xf32>)
    %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s, %m causal = false : (tensor<1x2x40x16xf16>, tensor<1x2x40x32xf16>, tensor<1x2x64x32xf16>, tensor<1x2x64x16xf16>, tensor<1x2x40xf32>, tensor<1x2x40xf32>, tensor<f32>, tensor<1x1x1x64xi1>) -> (tensor<1x2x40x32xf16>, tensor<1x2x64x32xf16>, tensor<1x2x64x16xf16>)
    return %o#0, %o#1, %r#0, %r#1, %r#2 : tensor<1x2x40x16xf16>, tensor<1x2x40xf32>, tensor<1x2x40x32xf16>, tensor<1x2x64x32xf16>, tensor<1x2x64x16xf16>
  }

  // Columns that no piece of 4 bytes divides: single elements.
  func.func @odd(%q: tensor<1x1x33x17xbf16>, %k: tensor<1x1x50x17xbf16>, %v: tensor<1x1x50x19xbf16>, %g: tensor<1x1x33x19xbf16>, %d: tensor<1x1x33xf32>) -> (tensor<1x1x33x19xbf16>, tensor<1x1x33xf32>, tensor<1x1x33x17xbf16>, tensor<1x1x50x17xbf16>, tensor<1x1x50x19xbf16>) {
    %s = loom.constant(0.242536 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x1x33x17xbf16>, tensor<1x1x50x17xbf16>, tensor<1x1x50x19xbf16>, tensor<f32>) -> (tensor<1x1x33x19xbf16>, tensor<1x1x33xf32>)
    %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = false : (tensor<1x1x33x19xbf16>, tensor<1x1x33x17xbf16>, tensor<1x1x50x17xbf16>, tensor<1x1x50x19xbf16>, tensor<1x1x33xf32>, tensor<1x1x33xf32>, tensor<f32>) -> (tensor<1x1x33x17xbf16>, tensor<1x1x50x17xbf16>, tensor<1x1x50x19xbf16>)
    return %o#0, %o#1, %r#0, %r#1, %r#2 : tensor<1x1x33x19xbf16>, tensor<1x1x33xf32>, tensor<1x1x33x17xbf16>, tensor<1x1x50x17xbf16>, tensor<1x1x50x19xbf16>
  }

  // Rows that lie next to each other in memory.
  func.func @turned(%q: tensor<1x1x64x32xbf16> {loom.strides = array<i64: 2048, 2048, 1, 64>}, %k: tensor<1x1x64x32xbf16> {loom.strides = array<i64: 2048, 2048, 1, 64>}, %v: tensor<1x1x64x32xbf16> {loom.strides = array<i64: 2048, 2048, 1, 64>}, %g: tensor<1x1x64x32xbf16> {loom.strides = array<i64: 2048, 2048, 1, 64>}, %d: tensor<1x1x64xf32>) -> (tensor<1x1x64x32xbf16>, tensor<1x1x64xf32>, tensor<1x1x64x32xbf16>, tensor<1x1x64x32xbf16>, tensor<1x1x64x32xbf16>) {
    %s = loom.constant(0.176777 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x1x64x32xbf16>, tensor<1x1x64x32xbf16>, tensor<1x1x64x32xbf16>, tensor<f32>) -> (tensor<1x1x64x32xbf16>, tensor<1x1x64xf32>)
    %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = false : (tensor<1x1x64x32xbf16>, tensor<1x1x64x32xbf16>, tensor<1x1x64x32xbf16>, tensor<1x1x64x32xbf16>, tensor<1x1x64xf32>, tensor<1x1x64xf32>, tensor<f32>) -> (tensor<1x1x64x32xbf16>, tensor<1x1x64x32xbf16>, tensor<1x1x64x32xbf16>)
    return %o#0, %o#1, %r#0, %r#1, %r#2 : tensor<1x1x64x32xbf16>, tensor<1x1x64xf32>, tensor<1x1x64x32xbf16>, tensor<1x1x64x32xbf16>, tensor<1x1x64x32xbf16>
  }

  // One query of each of several heads, as in generating text: the keys have parts, and a tile of them is divided among warps.
  func.func @few(%q: tensor<2x4x1x64xbf16>, %k: tensor<2x2x700x64xbf16>, %v: tensor<2x2x700x64xbf16>) -> (tensor<2x4x1x64xbf16>, tensor<2x4x1xf32>) {
    %s = loom.constant(0.125000 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<2x4x1x64xbf16>, tensor<2x2x700x64xbf16>, tensor<2x2x700x64xbf16>, tensor<f32>) -> (tensor<2x4x1x64xbf16>, tensor<2x4x1xf32>)
    return %o#0, %o#1 : tensor<2x4x1x64xbf16>, tensor<2x4x1xf32>
  }

  // Few blocks: the keys have parts.
  func.func @parts(%q: tensor<1x1x100x32xf16>, %k: tensor<1x1x1024x32xf16>, %v: tensor<1x1x1024x32xf16>) -> (tensor<1x1x100x32xf16>, tensor<1x1x100xf32>) {
    %s = loom.constant(0.176777 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s causal = true empty = "zero" : (tensor<1x1x100x32xf16>, tensor<1x1x1024x32xf16>, tensor<1x1x1024x32xf16>, tensor<f32>) -> (tensor<1x1x100x32xf16>, tensor<1x1x100xf32>)
    return %o#0, %o#1 : tensor<1x1x100x32xf16>, tensor<1x1x100xf32>
  }

  // Only the logarithms are read, and only the gradient of v.
  func.func @line(%q: tensor<1x1x64x32xbf16>, %k: tensor<1x1x64x32xbf16>, %v: tensor<1x1x64x32xbf16>, %g: tensor<1x1x64x32xbf16>, %d: tensor<1x1x64xf32>) -> (tensor<1x1x64xf32>, tensor<1x1x64x32xbf16>) {
    %s = loom.constant(0.176777 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x1x64x32xbf16>, tensor<1x1x64x32xbf16>, tensor<1x1x64x32xbf16>, tensor<f32>) -> (tensor<1x1x64x32xbf16>, tensor<1x1x64xf32>)
    %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = false : (tensor<1x1x64x32xbf16>, tensor<1x1x64x32xbf16>, tensor<1x1x64x32xbf16>, tensor<1x1x64x32xbf16>, tensor<1x1x64xf32>, tensor<1x1x64xf32>, tensor<f32>) -> (tensor<1x1x64x32xbf16>, tensor<1x1x64x32xbf16>, tensor<1x1x64x32xbf16>)
    return %o#1, %r#2 : tensor<1x1x64xf32>, tensor<1x1x64x32xbf16>
  }

  // Only the gradient of k.
  func.func @keys(%q: tensor<1x1x64x128xbf16>, %k: tensor<1x1x64x128xbf16>, %v: tensor<1x1x64x128xbf16>, %g: tensor<1x1x64x128xbf16>, %d: tensor<1x1x64xf32>) -> (tensor<1x1x64x128xbf16>) {
    %s = loom.constant(0.088388 : f32) : tensor<f32>
    %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x1x64x128xbf16>, tensor<1x1x64x128xbf16>, tensor<1x1x64x128xbf16>, tensor<f32>) -> (tensor<1x1x64x128xbf16>, tensor<1x1x64xf32>)
    %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = false : (tensor<1x1x64x128xbf16>, tensor<1x1x64x128xbf16>, tensor<1x1x64x128xbf16>, tensor<1x1x64x128xbf16>, tensor<1x1x64xf32>, tensor<1x1x64xf32>, tensor<f32>) -> (tensor<1x1x64x128xbf16>, tensor<1x1x64x128xbf16>, tensor<1x1x64x128xbf16>)
    return %r#1 : tensor<1x1x64x128xbf16>
  }
}
