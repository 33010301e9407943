loom.kernel @k {
^bb0(%x: tensor<8xf32>, %i: tensor<3xi64>, %u: tensor<3xf32>):
  %0 = loom.scatter "set" %x, %i, %u axis = 0 : (tensor<8xf32>, tensor<3xi64>, tensor<3xf32>) -> tensor<8xf32>
  loom.yield %0 : tensor<8xf32>
} {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

module attributes {loom.target = "nvptx"} {
loom.kernel @k {
^bb0(%q: tensor<1x1x8x520xf32>, %s: tensor<f32>):
  %0, %1 = loom.attention %q, %q, %q, %s causal = false empty = "nan" : (tensor<1x1x8x520xf32>, tensor<1x1x8x520xf32>, tensor<1x1x8x520xf32>, tensor<f32>) -> (tensor<1x1x8x520xf32>, tensor<1x1x8xf32>)
  loom.yield %0, %1 : tensor<1x1x8x520xf32>, tensor<1x1x8xf32>
} {strides = [array<i64: 4160, 4160, 520, 1>, array<i64>, array<i64: 4160, 4160, 520, 1>, array<i64: 8, 8, 1>], scalars = array<i64>, inplace = array<i64: -1, -1>}
}

// -----

loom.kernel @k {
^bb0(%x: tensor<8xcomplex<f32>>):
  %0 = loom.add %x, %x : tensor<8xcomplex<f32>>
  loom.yield %0 : tensor<8xcomplex<f32>>
} {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

loom.kernel @k {
^bb0(%x: tensor<1x1x2x2x2x2xf32>, %w: tensor<1x1x1x1x1x1xf32>):
  %0 = loom.convolution %x, %w strides = [1, 1, 1, 1] padding = [0, 0, 0, 0, 0, 0, 0, 0] dilation = [1, 1, 1, 1] groups = 1 : (tensor<1x1x2x2x2x2xf32>, tensor<1x1x1x1x1x1xf32>) -> tensor<1x1x2x2x2x2xf32>
  loom.yield %0 : tensor<1x1x2x2x2x2xf32>
} {strides = [array<i64: 16, 16, 8, 4, 2, 1>, array<i64: 1, 1, 1, 1, 1, 1>, array<i64: 16, 16, 8, 4, 2, 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

loom.kernel @k {
^bb0(%x: tensor<8xf32>):
  %0 = loom.sort %x axis = 0 {indices = false} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = loom.neg %0 : tensor<8xf32>
  loom.yield %1 : tensor<8xf32>
} {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

loom.kernel @k {
^bb0(%x: tensor<1x1x2x2x2x2xf32>, %g: tensor<1x1x2x2x2x2xf32>):
  %0 = loom.convolution_gradient %x, %g strides = [1, 1, 1, 1] padding = [0, 0, 0, 0, 0, 0, 0, 0] dilation = [1, 1, 1, 1] window = [1, 1, 1, 1] groups = 1 : (tensor<1x1x2x2x2x2xf32>, tensor<1x1x2x2x2x2xf32>) -> tensor<1x1x1x1x1x1xf32>
  loom.yield %0 : tensor<1x1x1x1x1x1xf32>
} {strides = [array<i64: 64, 64, 8, 4, 2, 1>, array<i64: 64, 64, 8, 4, 2, 1>, array<i64: 1, 1, 1, 1, 1, 1>], scalars = array<i64>, inplace = array<i64: -1>}
