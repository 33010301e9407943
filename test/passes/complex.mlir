// RUN: %loom-opt --split-input-file --loom-complex --canonicalize --cse %s | FileCheck %s
// RUN: not %loom-opt --split-input-file --loom-complex %S/inputs/complex-bad.mlir 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: 'loom.sin' of complex numbers has no code
// BAD: error: 'loom.reduce' of complex numbers has no code
// BAD: error: 'loom.compare' of complex numbers has no code
// BAD: error: 'loom.scatter' of complex numbers has no code

// CHECK-LABEL: func.func @product
// CHECK-DAG: %[[AR:.*]] = loom.real %arg0
// CHECK-DAG: %[[AI:.*]] = loom.imag %arg0
// CHECK-DAG: %[[BR:.*]] = loom.real %arg1
// CHECK-DAG: %[[BI:.*]] = loom.imag %arg1
// CHECK: %[[II:.*]] = loom.mul %[[AI]], %[[BI]]
// CHECK: %[[IR:.*]] = loom.mul %[[AI]], %[[BR]]
// CHECK: %[[MINUS:.*]] = loom.neg %[[II]]
// CHECK: %[[RE:.*]] = loom.mul_add %[[AR]], %[[BR]], %[[MINUS]]
// CHECK: %[[IM:.*]] = loom.mul_add %[[AR]], %[[BI]], %[[IR]]
// CHECK: %[[Z:.*]] = loom.complex %[[RE]], %[[IM]]
// CHECK: return %[[Z]]
func.func @product(%a: tensor<4xcomplex<f32>>, %b: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = loom.mul %a, %b : tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// -----

// Single numbers are multiplied without fused multiply-adds, as NumPy's scalars are.
// CHECK-LABEL: func.func @scalars
// CHECK-COUNT-4: loom.mul {{.*}} : tensor<f64>
// CHECK-NOT: loom.mul_add
func.func @scalars(%a: tensor<complex<f64>>, %b: tensor<complex<f64>>) -> tensor<complex<f64>> {
  %0 = loom.mul %a, %b : tensor<complex<f64>>
  return %0 : tensor<complex<f64>>
}

// -----

// Parts of what was joined are the parts: no complex number is made.
// CHECK-LABEL: func.func @norm
// CHECK-NOT: loom.complex
// CHECK: loom.hypot
func.func @norm(%a: tensor<4xf64>, %b: tensor<4xf64>) -> tensor<4xf64> {
  %0 = loom.complex %a, %b : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xcomplex<f64>>
  %1 = loom.neg %0 : tensor<4xcomplex<f64>>
  %2 = loom.real %1 : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
  %3 = loom.imag %1 : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
  %4 = loom.hypot %2, %3 : tensor<4xf64>
  return %4 : tensor<4xf64>
}

// -----

// What is returned as it came, and floats, stay.
// CHECK-LABEL: func.func @untouched
// CHECK-NEXT: %[[S:.*]] = loom.add %arg1, %arg1
// CHECK-NEXT: return %arg0, %[[S]]
func.func @untouched(%a: tensor<4xcomplex<f64>>, %b: tensor<4xf64>) -> (tensor<4xcomplex<f64>>, tensor<4xf64>) {
  %0 = loom.add %b, %b : tensor<4xf64>
  return %a, %0 : tensor<4xcomplex<f64>>, tensor<4xf64>
}

// -----

// A library gets the whole numbers.
// CHECK-LABEL: func.func @host
// CHECK: %[[Z:.*]] = loom.complex
// CHECK: loom.host_call "f"(%[[Z]])
func.func @host(%a: tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>> {
  %0 = loom.add %a, %a : tensor<4xcomplex<f64>>
  %1 = loom.host_call "f"(%0) effects = "pure" slot = 0 : (tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>>
  return %1 : tensor<4xcomplex<f64>>
}

// -----

// A part that nobody reads is computed beside the other, for its flags; where they do not count, it is not.
// CHECK-LABEL: func.func @one_part
// CHECK: %[[RE:.*]] = loom.mul_add
// CHECK: %[[IM:.*]] = loom.mul_add
// CHECK: %[[BOTH:.*]] = loom.beside %[[IM]], %[[RE]]
// CHECK: return %[[BOTH]]
func.func @one_part(%a: tensor<4xcomplex<f64>>) -> tensor<4xf64> {
  %0 = loom.mul %a, %a : tensor<4xcomplex<f64>>
  %1 = loom.neg %0 : tensor<4xcomplex<f64>>
  %2 = loom.imag %0 : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
  return %2 : tensor<4xf64>
}

// -----

// CHECK-LABEL: func.func @no_flags
// CHECK-NOT: loom.beside
func.func @no_flags(%a: tensor<4xcomplex<f64>>) -> tensor<4xf64> {
  %0 = loom.neg %a : tensor<4xcomplex<f64>>
  %1 = loom.imag %0 : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
  return %1 : tensor<4xf64>
}

// -----

// Parts are written to the same places.
// CHECK-LABEL: func.func @scatter
// CHECK-DAG: %[[AR:.*]] = loom.real %arg0
// CHECK-DAG: %[[AI:.*]] = loom.imag %arg0
// CHECK-DAG: %[[UR:.*]] = loom.real %arg2
// CHECK-DAG: %[[UI:.*]] = loom.imag %arg2
// CHECK-DAG: %[[RE:.*]] = loom.scatter "add" %[[AR]], %arg1, %[[UR]] axis = 0
// CHECK-DAG: %[[IM:.*]] = loom.scatter "add" %[[AI]], %arg1, %[[UI]] axis = 0
// CHECK: loom.complex %[[RE]], %[[IM]]
func.func @scatter(%a: tensor<8xcomplex<f32>>, %i: tensor<3xi64>, %u: tensor<3xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
  %0 = loom.scatter "add" %a, %i, %u axis = 0 : (tensor<8xcomplex<f32>>, tensor<3xi64>, tensor<3xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return %0 : tensor<8xcomplex<f32>>
}
