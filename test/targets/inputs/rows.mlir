// Rows of a table, each from the one before it, written in place; the index of the row is a symbol: s0, and s0 + 1.
module attributes {loom.exprs = array<i64: 1, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 1>, loom.symbols = array<i64: 0, 37, 1, 0>} {
  func.func @rows(%table: tensor<40x8xf64>, %n: tensor<i64>, %times: tensor<i64>) -> tensor<40x8xf64> {
    %half = loom.constant(5.0e-01 : f64) : tensor<1x8xf64>
    %0 = loom.for %times init(%table) {
    ^bb0(%t: tensor<i64>, %b: tensor<40x8xf64>):
      %1 = loom.for %n init(%b) symbol = 0 {
      ^bb0(%i: tensor<i64>, %a: tensor<40x8xf64>):
        %2 = loom.slice %a starts = [-9223372036854775808, 0] sizes = [1, 8] steps = [1, 1] : (tensor<40x8xf64>) -> tensor<1x8xf64>
        %3 = loom.mul %2, %half : tensor<1x8xf64>
        %4 = loom.update_slice %a, %3 starts = [-9223372036854775806, 0] steps = [1, 1] : (tensor<40x8xf64>, tensor<1x8xf64>) -> tensor<40x8xf64>
        loom.yield %4 : tensor<40x8xf64>
      } : (tensor<i64>, tensor<40x8xf64>) -> tensor<40x8xf64>
      loom.yield %1 : tensor<40x8xf64>
    } : (tensor<i64>, tensor<40x8xf64>) -> tensor<40x8xf64>
    return %0 : tensor<40x8xf64>
  }
}
