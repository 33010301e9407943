// A name that kernels need for a function of their own belongs to something else: refused, never called.
// RUN: %loom-opt %s --loom-lowered --split-input-file --verify-diagnostics

module attributes {loom.vector = 32 : i64} {
  func.func @sine(%a: tensor<1024xf64>) -> tensor<1024xf64> {
    %0 = loom.sin %a : tensor<1024xf64>
    return %0 : tensor<1024xf64>
  }
  // expected-error @+1 {{the name is needed for a function that kernels share}}
  func.func private @loom_reduce_far_f64_4(%a: tensor<1024xf64>) -> tensor<1024xf64> {
    return %a : tensor<1024xf64>
  }
}

// -----

// The table of the same reduction.
module attributes {loom.vector = 32 : i64} {
  func.func @sine(%a: tensor<1024xf64>) -> tensor<1024xf64> {
    %0 = loom.sin %a : tensor<1024xf64>
    return %0 : tensor<1024xf64>
  }
  // expected-error @+1 {{the name is needed}}
  llvm.mlir.global internal constant @loom_two_over_pi(1.0 : f64) : f64
}

// -----

module attributes {loom.vector = 32 : i64} {
  func.func @power(%a: tensor<1024xf64>, %b: tensor<1024xf64>) -> tensor<1024xf64> {
    %0 = loom.pow %a, %b : tensor<1024xf64>
    return %0 : tensor<1024xf64>
  }
  // expected-error @+1 {{the name is needed}}
  func.func private @k0_s0_pow_cases_f64_4(%a: tensor<1024xf64>) -> tensor<1024xf64> {
    return %a : tensor<1024xf64>
  }
}

// -----

module attributes {loom.vector = 32 : i64} {
  func.func @many(%a: tensor<1024xf64>) -> tensor<1024xf64> {
    %0 = loom.log %a : tensor<1024xf64>
    %1 = loom.log %0 : tensor<1024xf64>
    %2 = loom.log %1 : tensor<1024xf64>
    %3 = loom.log %2 : tensor<1024xf64>
    %4 = loom.log %3 : tensor<1024xf64>
    %5 = loom.log %4 : tensor<1024xf64>
    %6 = loom.log %5 : tensor<1024xf64>
    return %6 : tensor<1024xf64>
  }
  // expected-error @+1 {{the name is needed}}
  func.func private @k0_s0_log_f64_4(%a: tensor<1024xf64>) -> tensor<1024xf64> {
    return %a : tensor<1024xf64>
  }
}
