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
