//--- single.mlir
module attributes {loom.target = "sim", loom.check} {
  func.func @single(%x: tensor<5003xf32>, %y: tensor<5003xf32>) -> tensor<5003xf32> {
    %0 = loom.mul %x, %y : tensor<5003xf32>
    %1 = loom.add %0, %y : tensor<5003xf32>
    return %1 : tensor<5003xf32>
  }
}
