// Two tiles of queries by two of keys, of which one is skipped.
func.func @causal(%q: tensor<1x2x128x64xf32>, %k: tensor<1x2x128x64xf32>, %v: tensor<1x2x128x64xf32>, %g: tensor<1x2x128x64xf32>, %d: tensor<1x2x128xf32>) -> (tensor<1x2x128x64xf32>, tensor<1x2x128xf32>, tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>) {
  %s = loom.constant(0.125 : f32) : tensor<f32>
  %o:2 = loom.attention %q, %k, %v, %s causal = true empty = "zero" : (tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>, tensor<f32>) -> (tensor<1x2x128x64xf32>, tensor<1x2x128xf32>)
  %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = true : (tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>, tensor<1x2x128xf32>, tensor<1x2x128xf32>, tensor<f32>) -> (tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>)
  return %o#0, %o#1, %r#0, %r#1, %r#2 : tensor<1x2x128x64xf32>, tensor<1x2x128xf32>, tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>
}

// Ends of every side within a tile; a mask for each query and key.
func.func @ragged(%q: tensor<2x2x70x40xf32>, %k: tensor<2x1x133x40xf32>, %v: tensor<2x1x133x90xf32>, %m: tensor<1x2x70x133xf32>, %g: tensor<2x2x70x90xf32>, %d: tensor<2x2x70xf32>) -> (tensor<2x2x70x90xf32>, tensor<2x2x70xf32>, tensor<2x2x70x40xf32>, tensor<2x1x133x40xf32>, tensor<2x1x133x90xf32>) {
  %s = loom.constant(0.158114 : f32) : tensor<f32>
  %o:2 = loom.attention %q, %k, %v, %s, %m causal = false empty = "zero" : (tensor<2x2x70x40xf32>, tensor<2x1x133x40xf32>, tensor<2x1x133x90xf32>, tensor<f32>, tensor<1x2x70x133xf32>) -> (tensor<2x2x70x90xf32>, tensor<2x2x70xf32>)
  %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s, %m causal = false : (tensor<2x2x70x90xf32>, tensor<2x2x70x40xf32>, tensor<2x1x133x40xf32>, tensor<2x1x133x90xf32>, tensor<2x2x70xf32>, tensor<2x2x70xf32>, tensor<f32>, tensor<1x2x70x133xf32>) -> (tensor<2x2x70x40xf32>, tensor<2x1x133x40xf32>, tensor<2x1x133x90xf32>)
  return %o#0, %o#1, %r#0, %r#1, %r#2 : tensor<2x2x70x90xf32>, tensor<2x2x70xf32>, tensor<2x2x70x40xf32>, tensor<2x1x133x40xf32>, tensor<2x1x133x90xf32>
}

// Three heads of q use one of k and v; causal, and more keys than queries.
func.func @groups(%q: tensor<1x6x65x16xf32>, %k: tensor<1x2x100x16xf32>, %v: tensor<1x2x100x16xf32>, %g: tensor<1x6x65x16xf32>, %d: tensor<1x6x65xf32>) -> (tensor<1x6x65x16xf32>, tensor<1x6x65xf32>, tensor<1x6x65x16xf32>, tensor<1x2x100x16xf32>, tensor<1x2x100x16xf32>) {
  %s = loom.constant(0.25 : f32) : tensor<f32>
  %o:2 = loom.attention %q, %k, %v, %s causal = true empty = "zero" : (tensor<1x6x65x16xf32>, tensor<1x2x100x16xf32>, tensor<1x2x100x16xf32>, tensor<f32>) -> (tensor<1x6x65x16xf32>, tensor<1x6x65xf32>)
  %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = true : (tensor<1x6x65x16xf32>, tensor<1x6x65x16xf32>, tensor<1x2x100x16xf32>, tensor<1x2x100x16xf32>, tensor<1x6x65xf32>, tensor<1x6x65xf32>, tensor<f32>) -> (tensor<1x6x65x16xf32>, tensor<1x2x100x16xf32>, tensor<1x2x100x16xf32>)
  return %o#0, %o#1, %r#0, %r#1, %r#2 : tensor<1x6x65x16xf32>, tensor<1x6x65xf32>, tensor<1x6x65x16xf32>, tensor<1x2x100x16xf32>, tensor<1x2x100x16xf32>
}

// A mask of bools that is the same for all queries: some have no key.
func.func @bools(%q: tensor<2x2x40x8xf32>, %k: tensor<2x2x5x8xf32>, %v: tensor<2x2x5x24xf32>, %m: tensor<2x1x1x5xi1>) -> (tensor<2x2x40x24xf32>, tensor<2x2x40xf32>) {
  %s = loom.constant(0.353553 : f32) : tensor<f32>
  %o:2 = loom.attention %q, %k, %v, %s, %m causal = false empty = "zero" : (tensor<2x2x40x8xf32>, tensor<2x2x5x8xf32>, tensor<2x2x5x24xf32>, tensor<f32>, tensor<2x1x1x5xi1>) -> (tensor<2x2x40x24xf32>, tensor<2x2x40xf32>)
  return %o#0, %o#1 : tensor<2x2x40x24xf32>, tensor<2x2x40xf32>
}

// All scores of a query may be -inf: 0 / 0.
func.func @nothing(%q: tensor<1x2x33x8xf32>, %k: tensor<1x2x2x8xf32>, %v: tensor<1x2x2x8xf32>, %m: tensor<1x2x33x2xi1>) -> (tensor<1x2x33x8xf32>, tensor<1x2x33xf32>) {
  %s = loom.constant(0.353553 : f32) : tensor<f32>
  %o:2 = loom.attention %q, %k, %v, %s, %m causal = false empty = "nan" : (tensor<1x2x33x8xf32>, tensor<1x2x2x8xf32>, tensor<1x2x2x8xf32>, tensor<f32>, tensor<1x2x33x2xi1>) -> (tensor<1x2x33x8xf32>, tensor<1x2x33xf32>)
  return %o#0, %o#1 : tensor<1x2x33x8xf32>, tensor<1x2x33xf32>
}

// Heads of half floats as a transformer has them: (batch, rows, heads, columns) in memory.
func.func @halves(%q: tensor<1x2x96x128xbf16> {loom.strides = array<i64: 24576, 128, 256, 1>}, %k: tensor<1x2x96x128xbf16> {loom.strides = array<i64: 24576, 128, 256, 1>}, %v: tensor<1x2x96x128xbf16> {loom.strides = array<i64: 24576, 128, 256, 1>}, %g: tensor<1x2x96x128xbf16> {loom.strides = array<i64: 24576, 128, 256, 1>}, %d: tensor<1x2x96xf32>) -> (tensor<1x2x96x128xbf16>, tensor<1x2x96xf32>, tensor<1x2x96x128xbf16>, tensor<1x2x96x128xbf16>, tensor<1x2x96x128xbf16>) {
  %s = loom.constant(0.088388 : f32) : tensor<f32>
  %o:2 = loom.attention %q, %k, %v, %s causal = true empty = "zero" : (tensor<1x2x96x128xbf16>, tensor<1x2x96x128xbf16>, tensor<1x2x96x128xbf16>, tensor<f32>) -> (tensor<1x2x96x128xbf16>, tensor<1x2x96xf32>)
  %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = true : (tensor<1x2x96x128xbf16>, tensor<1x2x96x128xbf16>, tensor<1x2x96x128xbf16>, tensor<1x2x96x128xbf16>, tensor<1x2x96xf32>, tensor<1x2x96xf32>, tensor<f32>) -> (tensor<1x2x96x128xbf16>, tensor<1x2x96x128xbf16>, tensor<1x2x96x128xbf16>)
  return %o#0, %o#1, %r#0, %r#1, %r#2 : tensor<1x2x96x128xbf16>, tensor<1x2x96xf32>, tensor<1x2x96x128xbf16>, tensor<1x2x96x128xbf16>, tensor<1x2x96x128xbf16>
}

// A mask for each key, of half floats.
func.func @float16(%q: tensor<1x2x32x32xf16>, %k: tensor<1x1x64x32xf16>, %v: tensor<1x1x64x32xf16>, %m: tensor<1x1x1x64xf16>, %g: tensor<1x2x32x32xf16>, %d: tensor<1x2x32xf32>) -> (tensor<1x2x32x32xf16>, tensor<1x2x32xf32>, tensor<1x2x32x32xf16>, tensor<1x1x64x32xf16>, tensor<1x1x64x32xf16>) {
  %s = loom.constant(0.176777 : f32) : tensor<f32>
  %o:2 = loom.attention %q, %k, %v, %s, %m causal = false empty = "zero" : (tensor<1x2x32x32xf16>, tensor<1x1x64x32xf16>, tensor<1x1x64x32xf16>, tensor<f32>, tensor<1x1x1x64xf16>) -> (tensor<1x2x32x32xf16>, tensor<1x2x32xf32>)
  %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s, %m causal = false : (tensor<1x2x32x32xf16>, tensor<1x2x32x32xf16>, tensor<1x1x64x32xf16>, tensor<1x1x64x32xf16>, tensor<1x2x32xf32>, tensor<1x2x32xf32>, tensor<f32>, tensor<1x1x1x64xf16>) -> (tensor<1x2x32x32xf16>, tensor<1x1x64x32xf16>, tensor<1x1x64x32xf16>)
  return %o#0, %o#1, %r#0, %r#1, %r#2 : tensor<1x2x32x32xf16>, tensor<1x2x32xf32>, tensor<1x2x32x32xf16>, tensor<1x1x64x32xf16>, tensor<1x1x64x32xf16>
}

func.func @doubles(%q: tensor<1x2x50x64xf64>, %k: tensor<1x2x70x64xf64>, %v: tensor<1x2x70x64xf64>, %g: tensor<1x2x50x64xf64>, %d: tensor<1x2x50xf64>) -> (tensor<1x2x50x64xf64>, tensor<1x2x50xf64>, tensor<1x2x50x64xf64>, tensor<1x2x70x64xf64>, tensor<1x2x70x64xf64>) {
  %s = loom.constant(0.125 : f64) : tensor<f64>
  %o:2 = loom.attention %q, %k, %v, %s causal = true empty = "zero" : (tensor<1x2x50x64xf64>, tensor<1x2x70x64xf64>, tensor<1x2x70x64xf64>, tensor<f64>) -> (tensor<1x2x50x64xf64>, tensor<1x2x50xf64>)
  %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = true : (tensor<1x2x50x64xf64>, tensor<1x2x50x64xf64>, tensor<1x2x70x64xf64>, tensor<1x2x70x64xf64>, tensor<1x2x50xf64>, tensor<1x2x50xf64>, tensor<f64>) -> (tensor<1x2x50x64xf64>, tensor<1x2x70x64xf64>, tensor<1x2x70x64xf64>)
  return %o#0, %o#1, %r#0, %r#1, %r#2 : tensor<1x2x50x64xf64>, tensor<1x2x50xf64>, tensor<1x2x50x64xf64>, tensor<1x2x70x64xf64>, tensor<1x2x70x64xf64>
}

// The most columns: two own rows of a thread, one in the gradients of k and v.
func.func @wide(%q: tensor<1x1x40x512xf32>, %k: tensor<1x1x60x512xf32>, %v: tensor<1x1x60x512xf32>, %g: tensor<1x1x40x512xf32>, %d: tensor<1x1x40xf32>) -> (tensor<1x1x40x512xf32>, tensor<1x1x40xf32>, tensor<1x1x40x512xf32>, tensor<1x1x60x512xf32>, tensor<1x1x60x512xf32>) {
  %s = loom.constant(0.044194 : f32) : tensor<f32>
  %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x1x40x512xf32>, tensor<1x1x60x512xf32>, tensor<1x1x60x512xf32>, tensor<f32>) -> (tensor<1x1x40x512xf32>, tensor<1x1x40xf32>)
  %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = false : (tensor<1x1x40x512xf32>, tensor<1x1x40x512xf32>, tensor<1x1x60x512xf32>, tensor<1x1x60x512xf32>, tensor<1x1x40xf32>, tensor<1x1x40xf32>, tensor<f32>) -> (tensor<1x1x40x512xf32>, tensor<1x1x60x512xf32>, tensor<1x1x60x512xf32>)
  return %o#0, %o#1, %r#0, %r#1, %r#2 : tensor<1x1x40x512xf32>, tensor<1x1x40xf32>, tensor<1x1x40x512xf32>, tensor<1x1x60x512xf32>, tensor<1x1x60x512xf32>
}

// Columns of several vectors: 240 are 15 for each thread.
func.func @odd(%q: tensor<1x1x50x112xf32>, %k: tensor<1x1x64x112xf32>, %v: tensor<1x1x64x240xf32>, %g: tensor<1x1x50x240xf32>, %d: tensor<1x1x50xf32>) -> (tensor<1x1x50x240xf32>, tensor<1x1x50xf32>, tensor<1x1x50x112xf32>, tensor<1x1x64x112xf32>, tensor<1x1x64x240xf32>) {
  %s = loom.constant(0.094491 : f32) : tensor<f32>
  %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x1x50x112xf32>, tensor<1x1x64x112xf32>, tensor<1x1x64x240xf32>, tensor<f32>) -> (tensor<1x1x50x240xf32>, tensor<1x1x50xf32>)
  %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = false : (tensor<1x1x50x240xf32>, tensor<1x1x50x112xf32>, tensor<1x1x64x112xf32>, tensor<1x1x64x240xf32>, tensor<1x1x50xf32>, tensor<1x1x50xf32>, tensor<f32>) -> (tensor<1x1x50x112xf32>, tensor<1x1x64x112xf32>, tensor<1x1x64x240xf32>)
  return %o#0, %o#1, %r#0, %r#1, %r#2 : tensor<1x1x50x240xf32>, tensor<1x1x50xf32>, tensor<1x1x50x112xf32>, tensor<1x1x64x112xf32>, tensor<1x1x64x240xf32>
}

// Rows that lie next to each other in memory.
func.func @turned(%q: tensor<1x2x64x32xf32> {loom.strides = array<i64: 4096, 2048, 1, 64>}, %k: tensor<1x2x64x32xf32> {loom.strides = array<i64: 4096, 2048, 1, 64>}, %v: tensor<1x2x64x32xf32> {loom.strides = array<i64: 4096, 2048, 1, 64>}, %g: tensor<1x2x64x32xf32> {loom.strides = array<i64: 4096, 2048, 1, 64>}, %d: tensor<1x2x64xf32>) -> (tensor<1x2x64x32xf32>, tensor<1x2x64xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>) {
  %s = loom.constant(0.176777 : f32) : tensor<f32>
  %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<f32>) -> (tensor<1x2x64x32xf32>, tensor<1x2x64xf32>)
  %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = false : (tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64xf32>, tensor<1x2x64xf32>, tensor<f32>) -> (tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>)
  return %o#0, %o#1, %r#0, %r#1, %r#2 : tensor<1x2x64x32xf32>, tensor<1x2x64xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>
}

// One query.
func.func @few(%q: tensor<2x2x1x64xf32>, %k: tensor<2x2x80x64xf32>, %v: tensor<2x2x80x64xf32>) -> (tensor<2x2x1x64xf32>, tensor<2x2x1xf32>) {
  %s = loom.constant(0.125 : f32) : tensor<f32>
  %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<2x2x1x64xf32>, tensor<2x2x80x64xf32>, tensor<2x2x80x64xf32>, tensor<f32>) -> (tensor<2x2x1x64xf32>, tensor<2x2x1xf32>)
  return %o#0, %o#1 : tensor<2x2x1x64xf32>, tensor<2x2x1xf32>
}

// Only the logarithms are read, and only the gradient of v.
func.func @line(%q: tensor<1x2x64x32xf32>, %k: tensor<1x2x64x32xf32>, %v: tensor<1x2x64x32xf32>, %g: tensor<1x2x64x32xf32>, %d: tensor<1x2x64xf32>) -> (tensor<1x2x64xf32>, tensor<1x2x64x32xf32>) {
  %s = loom.constant(0.176777 : f32) : tensor<f32>
  %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<f32>) -> (tensor<1x2x64x32xf32>, tensor<1x2x64xf32>)
  %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = false : (tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64xf32>, tensor<1x2x64xf32>, tensor<f32>) -> (tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>)
  return %o#1, %r#2 : tensor<1x2x64xf32>, tensor<1x2x64x32xf32>
}

// Only the gradient of k.
func.func @keys(%q: tensor<1x2x64x32xf32>, %k: tensor<1x2x64x32xf32>, %v: tensor<1x2x64x32xf32>, %g: tensor<1x2x64x32xf32>, %d: tensor<1x2x64xf32>) -> (tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>) {
  %s = loom.constant(0.176777 : f32) : tensor<f32>
  %o:2 = loom.attention %q, %k, %v, %s causal = false empty = "zero" : (tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<f32>) -> (tensor<1x2x64x32xf32>, tensor<1x2x64xf32>)
  %r:3 = loom.attention_gradient %g, %q, %k, %v, %o#1, %d, %s causal = false : (tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64xf32>, tensor<1x2x64xf32>, tensor<f32>) -> (tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>)
  return %o#0, %r#1 : tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>
}
