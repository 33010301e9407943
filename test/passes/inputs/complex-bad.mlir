func.func @function(%a: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = loom.sin %a : tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// -----

func.func @reduction(%a: tensor<4xcomplex<f32>>) -> tensor<complex<f32>> {
  %0 = loom.reduce "prod" %a axes = [0] : (tensor<4xcomplex<f32>>) -> tensor<complex<f32>>
  return %0 : tensor<complex<f32>>
}

// -----

func.func @order(%a: tensor<4xcomplex<f32>>) -> tensor<4xi1> {
  %0 = loom.compare "lt" %a, %a : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

func.func @scatter(%a: tensor<8xcomplex<f32>>, %i: tensor<3xi64>, %u: tensor<3xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
  %0 = loom.scatter "mul" %a, %i, %u axis = 0 : (tensor<8xcomplex<f32>>, tensor<3xi64>, tensor<3xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return %0 : tensor<8xcomplex<f32>>
}
