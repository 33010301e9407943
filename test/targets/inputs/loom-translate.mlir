func.func @blend(%x: tensor<8x64xf32> loc("weights"), %y: tensor<8x64xf32>, %n: tensor<i64>) -> (tensor<8x64xf32>, tensor<8xf32>) {
  %0 = loom.mul %x, %y : tensor<8x64xf32>
  %1 = loom.reduce "sum" %0 axes = [1] : (tensor<8x64xf32>) -> tensor<8xf32>
  %2 = loom.for %n init(%0) {
  ^bb0(%i: tensor<i64>, %a: tensor<8x64xf32>):
    %3 = loom.tanh %a : tensor<8x64xf32>
    loom.yield %3 : tensor<8x64xf32>
  } : (tensor<i64>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %2, %1 : tensor<8x64xf32>, tensor<8xf32>
}
