// Softmax over the rows of a 256x64 array.
func.func @normalize(%x: tensor<256x64xf32>) -> tensor<256x64xf32> {
  %max = loom.reduce "max" %x axes = [1] : (tensor<256x64xf32>) -> tensor<256xf32>
  %peak = loom.broadcast %max dims = [0] : (tensor<256xf32>) -> tensor<256x64xf32>
  %shifted = loom.sub %x, %peak : tensor<256x64xf32>
  %exp = loom.exp %shifted : tensor<256x64xf32>
  %sum = loom.reduce "sum" %exp axes = [1] : (tensor<256x64xf32>) -> tensor<256xf32>
  %total = loom.broadcast %sum dims = [0] : (tensor<256xf32>) -> tensor<256x64xf32>
  %y = loom.div %exp, %total : tensor<256x64xf32>
  return %y : tensor<256x64xf32>
}
