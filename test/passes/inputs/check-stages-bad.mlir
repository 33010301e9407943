func.func @outside(%a: tensor<2xf32>, %i: tensor<1xi64> {loom.values = dense<5> : tensor<1xi64>}) -> tensor<1xf32> {
  %0 = loom.gather "raise" %a, %i axis = 0 : (tensor<2xf32>, tensor<1xi64>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
// -----
func.func @hosted(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = loom.host_call "f" (%a) effects = "" slot = 0 : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
func.func @endless(%a: tensor<i64>) -> tensor<i64> {
  %c = loom.constant(true) : tensor<i1>
  %0 = loom.while init(%a) {
  ^bb0(%x: tensor<i64>):
    loom.yield %c : tensor<i1>
  } do {
  ^bb0(%x: tensor<i64>):
    %y = loom.neg %x : tensor<i64>
    loom.yield %y : tensor<i64>
  } : (tensor<i64>) -> tensor<i64>
  return %0 : tensor<i64>
}
// -----
module {}
