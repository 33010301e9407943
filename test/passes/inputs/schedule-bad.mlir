module {
  loom.kernel @shapes {
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<3xf32>):
    %0 = loom.add %a, %a : tensor<4x4xf32>
    %1 = loom.add %b, %b : tensor<3xf32>
    loom.yield %0, %1 : tensor<4x4xf32>, tensor<3xf32>
  } {strides = [array<i64: 4, 1>, array<i64: 1>, array<i64: 4, 1>, array<i64: 1>], scalars = array<i64>,
     inplace = array<i64: -1, -1>}
}

// -----

module {
  loom.kernel @sorted {
  ^bb0(%a: tensor<4xf32>):
    %0 = loom.assume_shape %a : (tensor<4xf32>) -> tensor<4xf32>
    loom.yield %0 : tensor<4xf32>
  } {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}
}
