// Symbolic sizes: expressions over symbols are the tensor type's encoding, and the shape rules compute with them.
// RUN: %loom-opt %s --split-input-file --verify-diagnostics | FileCheck %s
// RUN: %loom-opt %s --split-input-file --verify-diagnostics --canonicalize | FileCheck %s

#n4 = affine_map<()[s0] -> (s0, 4)>
#n8 = affine_map<()[s0] -> (s0 * 2, 4)>
#flat = affine_map<()[s0] -> (s0 * 8)>
#n = affine_map<()[s0] -> (s0)>
#padded = affine_map<()[s0] -> (s0 + 3)>
#outer = affine_map<()[s0, s1] -> (s0, s1)>
#m = affine_map<()[s0, s1] -> (s1)>
// CHECK-LABEL: func.func @sizes
func.func @sizes(%a: tensor<?x4xf32, #n4>, %v: tensor<?xf32, #n>, %w: tensor<?xf32, #m>, %z: tensor<f32>)
    -> (tensor<?xf32, #flat>, tensor<?xf32, #n>, tensor<?xf32, #padded>, tensor<?x?xf32, #outer>, tensor<i64>, tensor<?x2xf32, affine_map<()[s0] -> (s0, 2)>>) {
  %0 = loom.concatenate %a, %a axis = 0 : (tensor<?x4xf32, #n4>, tensor<?x4xf32, #n4>) -> tensor<?x4xf32, #n8>
  // CHECK: loom.reshape
  %1 = loom.reshape %0 : (tensor<?x4xf32, #n8>) -> tensor<?xf32, #flat>
  %2 = loom.reduce "sum" %a axes = [1] : (tensor<?x4xf32, #n4>) -> tensor<?xf32, #n>
  %3 = loom.add %2, %v : tensor<?xf32, #n>
  %4 = loom.pad %3, %z low = [1] high = [2] : (tensor<?xf32, #n>, tensor<f32>) -> tensor<?xf32, #padded>
  %5 = loom.dot_general %v, %w batch = [] x [] contract = [] x [] : (tensor<?xf32, #n>, tensor<?xf32, #m>) -> tensor<?x?xf32, #outer>
  // A size that is not known stays an op.
  // CHECK: loom.size
  %6 = loom.size %a axis = 0 : (tensor<?x4xf32, #n4>) -> tensor<i64>
  %7 = loom.slice %a starts = [0, 2] sizes = [-1, 2] steps = [1, 1] : (tensor<?x4xf32, #n4>) -> tensor<?x2xf32, affine_map<()[s0] -> (s0, 2)>>
  return %1, %3, %4, %5, %6, %7 : tensor<?xf32, #flat>, tensor<?xf32, #n>, tensor<?xf32, #padded>, tensor<?x?xf32, #outer>, tensor<i64>, tensor<?x2xf32, affine_map<()[s0] -> (s0, 2)>>
}

// -----

// Two expressions that are equal as polynomials are one size.
// CHECK-LABEL: func.func @canonical
func.func @canonical(%a: tensor<?xf32, affine_map<()[s0] -> (s0 * 2 + s0 + 6)>>) -> tensor<?x3xf32, affine_map<()[s0] -> (s0 + 2, 3)>> {
  %0 = loom.reshape %a : (tensor<?xf32, affine_map<()[s0] -> (s0 * 2 + s0 + 6)>>) -> tensor<?x3xf32, affine_map<()[s0] -> (s0 + 2, 3)>>
  return %0 : tensor<?x3xf32, affine_map<()[s0] -> (s0 + 2, 3)>>
}

// -----

func.func @two_symbols(%a: tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>) {
  // expected-error@+2 {{sizes of contracted dimensions 1 and 0 differ}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.dot_general %a, %a batch = [] x [] contract = [1] x [0] : (tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>, tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>) -> tensor<4x8xf32>
  return
}

// -----

func.func @too_small(%a: tensor<?xf32, affine_map<()[s0] -> (s0)>>) {
  // expected-error@+2 {{dimension 0 has a symbolic size that may be too small}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.slice %a starts = [0] sizes = [2] steps = [1] : (tensor<?xf32, affine_map<()[s0] -> (s0)>>) -> tensor<2xf32>
  return
}

// -----

func.func @other_elements(%a: tensor<?xf32, affine_map<()[s0] -> (s0 * 3)>>) {
  // expected-error@+1 {{the number of elements differs}}
  %0 = loom.reshape %a : (tensor<?xf32, affine_map<()[s0] -> (s0 * 3)>>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
  return
}
