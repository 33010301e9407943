// Kernels with a dot_general that have no code are refused.
// RUN: %loom-opt %s --loom-schedule --split-input-file --verify-diagnostics

module {
  loom.kernel @complex {
  ^bb0(%a: tensor<3x4xcomplex<f32>>, %b: tensor<4x5xcomplex<f32>>):
    // expected-error @+1 {{cannot lower 'loom.dot_general': no arithmetic for this element type}}
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<3x4xcomplex<f32>>, tensor<4x5xcomplex<f32>>) -> tensor<3x5xcomplex<f32>>
    loom.yield %0 : tensor<3x5xcomplex<f32>>
  } {strides = [array<i64: 4, 1>, array<i64: 5, 1>, array<i64: 5, 1>], scalars = array<i64>, inplace = array<i64: -1>}
}
