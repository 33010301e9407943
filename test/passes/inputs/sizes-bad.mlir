// Sizes that are not as assumed, of an array that is read, of one that nobody reads, and of one that is to be empty.
func.func @read(%a: tensor<?xf32, affine_map<()[s0] -> (s0)>>) -> tensor<4xf32> {
  %0 = loom.assume_shape %a : (tensor<?xf32, affine_map<()[s0] -> (s0)>>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @unread(%a: tensor<?xf32, affine_map<()[s0] -> (s0)>>) -> tensor<?xf32, affine_map<()[s0] -> (s0)>> {
  %0 = loom.assume_shape %a : (tensor<?xf32, affine_map<()[s0] -> (s0)>>) -> tensor<2xf32>
  return %a : tensor<?xf32, affine_map<()[s0] -> (s0)>>
}

// -----

func.func @empty(%a: tensor<?x5xcomplex<f32>, affine_map<()[s0] -> (s0, 5)>>) -> tensor<0x5xcomplex<f32>> {
  %0 = loom.assume_shape %a : (tensor<?x5xcomplex<f32>, affine_map<()[s0] -> (s0, 5)>>) -> tensor<0x5xcomplex<f32>>
  return %0 : tensor<0x5xcomplex<f32>>
}
