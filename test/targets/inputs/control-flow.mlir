func.func @main(%n: tensor<i64>, %a: tensor<4xf32>) -> tensor<4xf32> {
  %s = loom.constant(2.0 : f32) : tensor<4xf32>
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<4xf32>):
    %y = loom.mul %x, %s : tensor<4xf32>
    loom.yield %y : tensor<4xf32>
  } : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
