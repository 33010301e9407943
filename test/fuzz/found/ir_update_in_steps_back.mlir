// Updates in negative steps, of a domain that is read at an index that is no affine form; complex division rounds in float32.

// plan 0
func.func @f23(%a1: tensor<17x4xi8>, %v0: tensor<17x4xi8>, %v9: tensor<4x12x1xi8>) -> (tensor<4x17x4xi8>) {
  %v1 = loom.gather "clip" %a1, %v0 axis = 1 : (tensor<17x4xi8>, tensor<17x4xi8>) -> tensor<17x17x4xi8>
  %v7 = loom.dot_general %v0, %v1 batch = [] x [] contract = [0] x [1] : (tensor<17x4xi8>, tensor<17x17x4xi8>) -> tensor<4x17x4xi8>
  %v10 = loom.update_slice %v7, %v9 starts = [0, 0, 1] steps = [1, 1, -2] : (tensor<4x17x4xi8>, tensor<4x12x1xi8>) -> tensor<4x17x4xi8>
  return %v10 : tensor<4x17x4xi8>
}
func.func @h(%a0: tensor<4x4xcomplex<f32>>) -> (tensor<4x4xcomplex<f64>>) {
  %v0 = loom.div %a0, %a0 : tensor<4x4xcomplex<f32>>
  %v1 = loom.convert %v0 : (tensor<4x4xcomplex<f32>>) -> tensor<4x4xcomplex<f64>>
  return %v1 : tensor<4x4xcomplex<f64>>
}
