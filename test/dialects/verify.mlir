// Every rule refuses what it must, at the op, and says why.
// RUN: %loom-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{element type complex64 is not supported by this op}}
  %0 = loom.abs %a : tensor<4xcomplex<f32>>
  return
}

// -----

func.func @f(%a: tensor<4xi1>) {
  // expected-error@+1 {{element type bool is not supported by this op}}
  %0 = loom.neg %a : tensor<4xi1>
  return
}

// -----

func.func @f(%a: tensor<4xi1>) {
  // expected-error@+1 {{element type bool is not supported by this op}}
  %0 = loom.sign %a : tensor<4xi1>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{element type float32 is not supported by this op}}
  %0 = loom.not %a : tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{element type complex64 is not supported by this op}}
  %0 = loom.ceil %a : tensor<4xcomplex<f32>>
  return
}

// -----

func.func @f(%a: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{element type complex64 is not supported by this op}}
  %0 = loom.floor %a : tensor<4xcomplex<f32>>
  return
}

// -----

func.func @f(%a: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{element type complex64 is not supported by this op}}
  %0 = loom.trunc %a : tensor<4xcomplex<f32>>
  return
}

// -----

func.func @f(%a: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{element type complex64 is not supported by this op}}
  %0 = loom.round_even %a : tensor<4xcomplex<f32>>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.sqrt %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.rsqrt %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.cbrt %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.exp %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.exp2 %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.expm1 %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.log %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.log2 %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.log10 %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.log1p %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.sin %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.cos %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.tan %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.asin %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.acos %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.atan %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.sinh %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.cosh %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.tanh %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.asinh %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.acosh %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.atanh %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.erf %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.logistic %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{element type float32 is not supported by this op}}
  %0 = loom.popcount %a : tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xcomplex<f32>>) {
  // expected-error@+2 {{element type complex64 is not supported by this op}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.signbit %a : (tensor<4xcomplex<f32>>) -> tensor<4xi1>
  return
}

// -----

func.func @f(%a: tensor<4xi1>) {
  // expected-error@+1 {{element type bool is not supported by this op}}
  %0 = loom.sub %a, %a : tensor<4xi1>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.div %a, %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xi1>) {
  // expected-error@+1 {{element type bool is not supported by this op}}
  %0 = loom.floor_div %a, %a : tensor<4xi1>
  return
}

// -----

func.func @f(%a: tensor<4xi1>) {
  // expected-error@+1 {{element type bool is not supported by this op}}
  %0 = loom.rem %a, %a : tensor<4xi1>
  return
}

// -----

func.func @f(%a: tensor<4xi1>) {
  // expected-error@+1 {{element type bool is not supported by this op}}
  %0 = loom.fmod %a, %a : tensor<4xi1>
  return
}

// -----

func.func @f(%a: tensor<4xi1>) {
  // expected-error@+1 {{element type bool is not supported by this op}}
  %0 = loom.pow %a, %a : tensor<4xi1>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.atan2 %a, %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.hypot %a, %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{element type complex64 is not supported by this op}}
  %0 = loom.max %a, %a : tensor<4xcomplex<f32>>
  return
}

// -----

func.func @f(%a: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{element type complex64 is not supported by this op}}
  %0 = loom.min %a, %a : tensor<4xcomplex<f32>>
  return
}

// -----

func.func @f(%a: tensor<4xi32>) {
  // expected-error@+1 {{element type int32 is not supported by this op}}
  %0 = loom.mul_add %a, %a, %a : tensor<4xi32>
  return
}

// -----

func.func @f(%a: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{element type complex64 is not supported by this op}}
  %0 = loom.fmax %a, %a : tensor<4xcomplex<f32>>
  return
}

// -----

func.func @f(%a: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{element type complex64 is not supported by this op}}
  %0 = loom.fmin %a, %a : tensor<4xcomplex<f32>>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{element type float32 is not supported by this op}}
  %0 = loom.and %a, %a : tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{element type float32 is not supported by this op}}
  %0 = loom.or %a, %a : tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{element type float32 is not supported by this op}}
  %0 = loom.xor %a, %a : tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{element type float32 is not supported by this op}}
  %0 = loom.shl %a, %a : tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{element type float32 is not supported by this op}}
  %0 = loom.shr %a, %a : tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.copysign %a, %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xui16>) {
  // expected-error@+1 {{element type uint16 is not supported by this op}}
  %0 = loom.nextafter %a, %a : tensor<4xui16>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{element type float32 is not supported by this op}}
  %0 = loom.gcd %a, %a : tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<5xf32>) {
  // expected-error@+1 {{requires the same type for all operands and results}}
  %0 = "loom.add"(%a, %b) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+1 {{requires the same type for all operands and results}}
  %0 = "loom.copy"(%a) : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<4x8xi1>' are incompatible with return type(s) of operation 'tensor<4x8xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.is_nan %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+2 {{unknown direction "less"}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.compare "less" %a, %a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+2 {{the condition is float32, not bool}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.select %a, %a, %a : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %p: tensor<4x8xi1>, %b: tensor<4x8xf64>) {
  // expected-error@+2 {{element types float32 and float64 differ}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.select %p, %a, %b : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf64>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+1 {{all non-scalar operands/results must have the same shape and base type}}
  %0 = "loom.convert"(%a) : (tensor<4x8xf32>) -> tensor<8x4xf64>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+1 {{float32 and float64 differ in width}}
  %0 = loom.bitcast %a : (tensor<4x8xf32>) -> tensor<4x8xf64>
  return
}

// -----

func.func @f(%p: tensor<4xi1>) {
  // expected-error@+1 {{bool has the bits of uint8 alone}}
  %0 = loom.bitcast %p : (tensor<4xi1>) -> tensor<4xi8>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{attribute 'value' is missing or of the wrong type}}
  %0 = loom.constant(1 : i32) : tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{attribute 'value' is missing or of the wrong type}}
  %0 = loom.constant(1.0 : f64) : tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{attribute 'value' is missing or of the wrong type}}
  %0 = loom.constant([1.0 : f32]) : tensor<4xcomplex<f32>>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{axis 1 is outside a rank of 1}}
  %0 = loom.iota {axis = 1 : i64} : tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{element type bool is not supported by this op}}
  %0 = loom.iota {axis = 0 : i64} : tensor<4xi1>
  return
}

// -----

func.func @f(%k: tensor<2xui64>) {
  // expected-error@+1 {{unknown kind "dice"}}
  %0 = loom.random "dice" %k, %k : (tensor<2xui64>, tensor<2xui64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%k: tensor<2xui64>) {
  // expected-error@+1 {{"bits" gives no float32}}
  %0 = loom.random "bits" %k, %k : (tensor<2xui64>, tensor<2xui64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%k: tensor<3xui64>) {
  // expected-error@+1 {{key and counter are uint64 arrays of size 2}}
  %0 = loom.random "bits" %k, %k : (tensor<3xui64>, tensor<3xui64>) -> tensor<4xui32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+1 {{operand dimension 1 does not broadcast to result dimension 1}}
  %0 = loom.broadcast %a dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x9xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+1 {{dims must rise}}
  %0 = loom.broadcast %a dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+1 {{'dims' has 1 entries where the rank is 2}}
  %0 = loom.broadcast %a dims = [0] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+1 {{axis 5 is outside a rank of 2}}
  %0 = loom.broadcast %a dims = [0, 5] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+1 {{the number of elements differs}}
  %0 = loom.reshape %a : (tensor<4x8xf32>) -> tensor<33xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+1 {{changes the element type}}
  %0 = loom.reshape %a : (tensor<4x8xf32>) -> tensor<32xi32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+2 {{axis 1 is listed twice}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.transpose %a perm = [1, 1] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+2 {{dimension 1 is sliced out of bounds}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.slice %a starts = [0, 0] sizes = [4, 9] steps = [1, 1] : (tensor<4x8xf32>) -> tensor<4x9xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+2 {{dimension 1 is sliced out of bounds}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.slice %a starts = [0, 0] sizes = [4, 2] steps = [1, -1] : (tensor<4x8xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+2 {{the step of dimension 1 is 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.slice %a starts = [0, 0] sizes = [4, 2] steps = [1, 0] : (tensor<4x8xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+2 {{dimension 1 is sliced out of bounds}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.slice %a starts = [0, 9223372036854775807] sizes = [4, 2] steps = [1, 9223372036854775807] : (tensor<4x8xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %u: tensor<5x8xf32>) {
  // expected-error@+2 {{dimension 0 is sliced out of bounds}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.update_slice %a, %u starts = [0, 0] steps = [1, 1] : (tensor<4x8xf32>, tensor<5x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %u: tensor<4xf32>) {
  // expected-error@+2 {{the update has another rank}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.update_slice %a, %u starts = [0, 0] steps = [1, 1] : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %u: tensor<4x7xf32>) {
  // expected-error@+2 {{operands: sizes differ in dimension 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.concatenate %a, %u axis = 0 : (tensor<4x8xf32>, tensor<4x7xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+2 {{axis 2 is outside a rank of 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.concatenate %a axis = 2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f() {
  // expected-error@+2 {{needs an operand}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "loom.concatenate"() <{axis = 0 : i64}> : () -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %s: tensor<f32>) {
  // expected-error@+2 {{padding of dimension 1 is negative}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.pad %a, %s low = [0, -1] high = [0, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %s: tensor<f64>) {
  // expected-error@+2 {{the value is not a 0-d array of the operand's element type}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.pad %a, %s low = [0, 0] high = [0, 0] : (tensor<4x8xf32>, tensor<f64>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %x: tensor<3xi64>) {
  // expected-error@+2 {{unknown mode "maybe"}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.gather "maybe" %a, %x axis = 0 : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+2 {{indices are float32, not integers}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.gather "clip" %a, %a axis = 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8x8xf32>
  return
}

// -----

func.func @f(%e: tensor<0xf32>, %x: tensor<3xi64>) {
  // expected-error@+2 {{takes from an empty dimension}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.gather "clip" %e, %x axis = 0 : (tensor<0xf32>, tensor<3xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %x: tensor<3xi64>) {
  // expected-error@+2 {{updates are not of the type that a gather would give}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.scatter "set" %a, %x, %a axis = 0 : (tensor<4x8xf32>, tensor<3xi64>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %x: tensor<3x7xi64>, %u: tensor<3x7xf32>) {
  // expected-error@+2 {{indices and operand differ in dimension 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.scatter "set" %a, %x, %u axis = 0 : (tensor<4x8xf32>, tensor<3x7xi64>, tensor<3x7xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %x: tensor<3x8xi64>, %u: tensor<2x8xf32>) {
  // expected-error@+2 {{updates are not of the type that the indices tell}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.scatter "set" %a, %x, %u axis = 0 : (tensor<4x8xf32>, tensor<3x8xi64>, tensor<2x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+2 {{axis -1 is outside a rank of 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.sort %a axis = -1 {indices = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+2 {{unknown kind "mean"}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.reduce "mean" %a axes = [0] : (tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+2 {{element type float32 is not supported by this op}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.reduce "and" %a axes = [0] : (tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+2 {{"argmax" takes one axis}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.reduce "argmax" %a axes = [0, 1] : (tensor<4x8xf32>) -> tensor<i64>
  return
}

// -----

func.func @f(%e: tensor<0x4xf32>) {
  // expected-error@+2 {{"max" of no element}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.reduce "max" %e axes = [0] : (tensor<0x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+2 {{axis 0 is listed twice}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.reduce "sum" %a axes = [0, 0] : (tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+1 {{unknown kind "mean"}}
  %0 = loom.scan "mean" %a axis = 0 : tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+2 {{sizes of contracted dimensions 1 and 0 differ}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.dot_general %a, %a batch = [] x [] contract = [1] x [0] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+2 {{batch dimensions differ in number}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.dot_general %a, %a batch = [0] x [] contract = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+2 {{axis 1 is listed twice}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.dot_general %a, %a batch = [1] x [1] contract = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) {
  // expected-error@+2 {{spatial dimension 0: stride, padding or dilation out of range}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.convolution %x, %w strides = [0] padding = [0, 0] dilation = [1] groups = 1 : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) {
  // expected-error@+2 {{the window exceeds spatial dimension 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.convolution %x, %w strides = [1] padding = [0, 0] dilation = [9] groups = 1 : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) {
  // expected-error@+2 {{channels and groups do not agree}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.convolution %x, %w strides = [1] padding = [0, 0] dilation = [1] groups = 3 : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x8xf32>, %g: tensor<1x3x6xf32>) {
  // expected-error@+2 {{spatial dimension 0 of the gradient is not the convolution's}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.convolution_gradient %x, %g strides = [1] padding = [0, 0] dilation = [1] window = [4] groups = 1 : (tensor<1x2x8xf32>, tensor<1x3x6xf32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x8xf32>, %g: tensor<1x3x6xf32>) {
  // expected-error@+2 {{channels and groups do not agree}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.convolution_gradient %x, %g strides = [1] padding = [0, 0] dilation = [1] window = [3] groups = 2 : (tensor<1x2x8xf32>, tensor<1x3x6xf32>) -> tensor<3x1x3xf32>
  return
}

// -----

func.func @f(%x: tensor<1x2x8xf32>, %g: tensor<2x3x6xf32>) {
  // expected-error@+2 {{sizes differ in dimension 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.convolution_gradient %x, %g strides = [1] padding = [0, 0] dilation = [1] window = [3] groups = 1 : (tensor<1x2x8xf32>, tensor<2x3x6xf32>) -> tensor<3x2x3xf32>
  return
}

// -----

func.func @f(%g: tensor<1x3x6xf32>, %w: tensor<3x1x3xf32>) {
  // expected-error@+2 {{spatial dimension 0 of the gradient is not the convolution's}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.convolution_input %g, %w strides = [1] padding = [0, 0] dilation = [1] sizes = [9] : (tensor<1x3x6xf32>, tensor<3x1x3xf32>) -> tensor<1x3x9xf32>
  return
}

// -----

func.func @f(%g: tensor<1x3x6xf32>, %w: tensor<3x2x3xf32>) {
  // expected-error@+2 {{each channel needs weights of its own}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.convolution_input %g, %w strides = [1] padding = [0, 0] dilation = [1] sizes = [8] : (tensor<1x3x6xf32>, tensor<3x2x3xf32>) -> tensor<1x3x8xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+1 {{sizes differ in dimension 1}}
  %0 = loom.assume_shape %a : (tensor<4x8xf32>) -> tensor<4x7xf32>
  return
}

// -----

func.func @f(%a: tensor<4x8xf32>) {
  // expected-error@+2 {{axis 2 is outside a rank of 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = loom.size %a axis = 2 : (tensor<4x8xf32>) -> tensor<i64>
  return
}

// -----

func.func @f(%a: tensor<4xf80>) {
  // expected-error@+1 {{the type is no tensor of a loom element type, a rank up to 16 and fewer than 2^63 bytes}}
  %0 = loom.neg %a : tensor<4xf80>
  return
}

// -----

func.func @f(%a: tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>) {
  // expected-error@+1 {{the type is no tensor of a loom element type, a rank up to 16 and fewer than 2^63 bytes}}
  %0 = loom.neg %a : tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>
  return
}

// -----

func.func @f(%a: tensor<?xf32>) {
  // expected-error@+1 {{a dynamic size needs an expression: an affine map over symbols as the tensor type's encoding}}
  %0 = loom.neg %a : tensor<?xf32>
  return
}

// -----

func.func @f(%a: tensor<*xf32>) {
  // expected-error@+1 {{operand #0 must be ranked tensor of any type values}}
  %0 = "loom.neg"(%a) : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{requires attribute 'axes'}}
  %0 = "loom.reduce"(%a) <{kind = "sum"}> : (tensor<4xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%n: tensor<i32>, %a: tensor<4xf32>) {
  // expected-error@+1 {{the count is not a 0-d int64}}
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<4xf32>):
    loom.yield %x : tensor<4xf32>
  } : (tensor<i32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%n: tensor<i64>, %a: tensor<4xf32>) {
  // expected-error@+1 {{region 0 yields 0 values for 1 results}}
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<4xf32>):
    loom.yield
  } : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{the condition does not yield one 0-d bool}}
  %0 = loom.while init(%a) {
  ^bb0(%x: tensor<4xf32>):
    loom.yield %x : tensor<4xf32>
  } do {
  ^bb0(%x: tensor<4xf32>):
    loom.yield %x : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%c: tensor<i1>, %a: tensor<4xf32>) {
  // expected-error@+1 {{argument 0 of region 1 has another type than the operand}}
  %0 = loom.if %c (%a) {
  ^bb0(%x: tensor<4xf32>):
    loom.yield %x : tensor<4xf32>
  } else {
  ^bb0(%x: tensor<5xf32>):
    loom.yield %x : tensor<5xf32>
  } : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{region 0 takes 0 values where 1 are carried}}
  %0 = loom.fusion(%a) {
    %c = loom.constant(0.0 : f32) : tensor<4xf32>
    loom.yield %c : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{value 0 that region 0 yields has another type than the result}}
  %0 = loom.fusion(%a) {
  ^bb0(%x: tensor<4xf32>):
    loom.yield %x : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// expected-error@+1 {{strides does not list every operand and result}}
loom.kernel @k {
^bb0(%x: tensor<4xf32>, %s: tensor<f32>):
  loom.yield %x : tensor<4xf32>
} {strides = [array<i64: 1>], scalars = array<i64: 1>, inplace = array<i64: -1>}

// -----

// expected-error@+1 {{strides of operand or result 1 are not one i64 a dimension}}
loom.kernel @k {
^bb0(%x: tensor<4xf32>, %s: tensor<f32>):
  loom.yield %x : tensor<4xf32>
} {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64: 1>, inplace = array<i64: -1>}

// -----

// expected-error@+1 {{scalars lists 0, which is no 0-d operand}}
loom.kernel @k {
^bb0(%x: tensor<4xf32>, %s: tensor<f32>):
  loom.yield %x : tensor<4xf32>
} {strides = [array<i64: 1>, array<i64>, array<i64: 1>], scalars = array<i64: 0>, inplace = array<i64: -1>}

// -----

// expected-error@+1 {{inplace does not list every result}}
loom.kernel @k {
^bb0(%x: tensor<4xf32>, %s: tensor<f32>):
  loom.yield %x : tensor<4xf32>
} {strides = [array<i64: 1>, array<i64>, array<i64: 1>], scalars = array<i64: 1>, inplace = array<i64>}

// -----

// expected-error@+1 {{inplace lists 0, whose size is not that of result 0}}
loom.kernel @k {
^bb0(%x: tensor<4xf32>):
  %0 = loom.broadcast %x dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  loom.yield %0 : tensor<8x4xf32>
} {strides = [array<i64: 1>, array<i64: 4, 1>], scalars = array<i64>, inplace = array<i64: 0>}

// -----

// expected-error@+1 {{inplace lists 2, which is no operand}}
loom.kernel @k {
^bb0(%x: tensor<4xf32>, %s: tensor<f32>):
  loom.yield %x : tensor<4xf32>
} {strides = [array<i64: 1>, array<i64>, array<i64: 1>], scalars = array<i64: 1>, inplace = array<i64: 2>}

// -----

// expected-error@+1 {{fp is no mask of floating-point exceptions}}
loom.kernel @k {
^bb0(%x: tensor<4xf32>, %s: tensor<f32>):
  loom.yield %x : tensor<4xf32>
} {strides = [array<i64: 1>, array<i64>, array<i64: 1>], scalars = array<i64: 1>, inplace = array<i64: -1>, fp = 16 : i64}

// -----

// expected-error@+1 {{stage 1 has a negative number of chunks}}
loom.kernel @k {
^bb0(%x: tensor<4xf32>, %s: tensor<f32>):
  loom.yield %x : tensor<4xf32>
} {strides = [array<i64: 1>, array<i64>, array<i64: 1>], scalars = array<i64: 1>, inplace = array<i64: -1>, stages = array<i64: 1, -2>}

// -----

// expected-error@+1 {{scratch and slots are numbers of bytes}}
loom.kernel @k {
^bb0(%x: tensor<4xf32>, %s: tensor<f32>):
  loom.yield %x : tensor<4xf32>
} {strides = [array<i64: 1>, array<i64>, array<i64: 1>], scalars = array<i64: 1>, inplace = array<i64: -1>, scratch = -1 : i64}

// -----

// expected-error@+1 {{inputs exceeds the arguments}}
loom.plan @p {
^bb0(%in: memref<4xf32>, %out: memref<4xf32>):
} {inputs = 3 : i64, consts = array<i64>, arena = 0 : i64}

// -----

// expected-error@+1 {{argument 0 is neither a memref nor a 0-d input}}
loom.plan @p {
^bb0(%in: tensor<4xf32>, %out: memref<4xf32>):
} {inputs = 1 : i64, consts = array<i64>, arena = 0 : i64}

// -----

// expected-error@+1 {{consts lists 1, which is no input}}
loom.plan @p {
^bb0(%in: memref<4xf32>, %out: memref<4xf32>):
} {inputs = 1 : i64, consts = array<i64: 1>, arena = 0 : i64}

// -----

// expected-error@+1 {{arena is a number of bytes}}
loom.plan @p {
^bb0(%in: memref<4xf32>, %out: memref<4xf32>):
} {inputs = 1 : i64, consts = array<i64>, arena = -1 : i64}

// -----

loom.plan @p {
^bb0(%in: memref<4xf32>, %out: memref<4xf32>):
  // expected-error@+1 {{ends at byte 80, beyond the plan's arena}}
  %t = loom.buffer offset = 64 : memref<4xf32>
} {inputs = 1 : i64, consts = array<i64>, arena = 64 : i64}

// -----

loom.plan @p {
^bb0(%in: memref<4xf32>, %out: memref<4xf32>):
  // expected-error@+1 {{offset or size is out of range}}
  %t = loom.buffer offset = 0 : memref<?xf32>
} {inputs = 1 : i64, consts = array<i64>, arena = 64 : i64}

// -----

loom.plan @p {
^bb0(%in: memref<5xf32>, %out: memref<4xf32>):
  // expected-error@+1 {{source and target differ in element type or sizes}}
  loom.copy_buffer %in to %out : memref<5xf32>, memref<4xf32>
} {inputs = 1 : i64, consts = array<i64>, arena = 64 : i64}

// -----

loom.plan @p {
^bb0(%in: memref<4xf32>, %out: memref<4xf32>):
  // expected-error@+1 {{the bytes are outside of the arena}}
  loom.trim_arena offset = 32 bytes = 64
} {inputs = 1 : i64, consts = array<i64>, arena = 64 : i64}

// -----

loom.plan @p {
^bb0(%in: memref<4xf32>, %out: memref<4xf32>):
  // expected-error@+1 {{reads exceeds the buffers}}
  loom.call_host "f" slot = 0 reads = 2 (%in) : (memref<4xf32>) -> ()
} {inputs = 1 : i64, consts = array<i64>, arena = 64 : i64}

// -----

loom.plan @p {
^bb0(%in: memref<4xf32>, %out: memref<4xf32>):
  // expected-error@+1 {{stage, chunks and scratch are not negative}}
  loom.launch @k stage = -1 chunks = 1 (%in) scalars() {scratch = 0 : i64, fp = 15 : i64} : (memref<4xf32>) -> ()
} {inputs = 1 : i64, consts = array<i64>, arena = 64 : i64}

// -----

func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has other numbers of operands or results than the kernel}}
  %0 = loom.apply @k (%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
loom.kernel @k {
^bb0(%x: tensor<4xf32>):
  loom.yield %x : tensor<4xf32>
} {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

func.func @windows_too_large(%a: tensor<4x8xf32>) {
  // expected-error @+2 {{'loom.windows' op the window exceeds dimension 1}}
  // expected-error @+1 {{'loom.windows' op failed to infer returned types}}
  %0 = loom.windows %a sizes = [1, 5] strides = [1, 1] dilation = [1, 2] : (tensor<4x8xf32>) -> tensor<4x0x1x5xf32>
  return
}

// -----

func.func @windows_stride(%a: tensor<4x8xf32>) {
  // expected-error @+2 {{dimension 0: size, stride or dilation is not positive}}
  // expected-error @+1 {{'loom.windows' op failed to infer returned types}}
  %0 = loom.windows %a sizes = [2, 1] strides = [0, 1] dilation = [1, 1] : (tensor<4x8xf32>) -> tensor<4x8x2x1xf32>
  return
}

// -----

func.func @windows_rank(%a: tensor<1x1x1x1x1x1x1x1x1xf32>) {
  // expected-error @+2 {{the result's rank exceeds 16}}
  // expected-error @+1 {{'loom.windows' op failed to infer returned types}}
  %0 = loom.windows %a sizes = [1, 1, 1, 1, 1, 1, 1, 1, 1] strides = [1, 1, 1, 1, 1, 1, 1, 1, 1] dilation = [1, 1, 1, 1, 1, 1, 1, 1, 1] : (tensor<1x1x1x1x1x1x1x1x1xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @attention_sizes(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x6x8xf32>, %v: tensor<1x2x5x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{'loom.attention' op sizes of q, k and v do not agree}}
  %0, %1 = loom.attention %q, %k, %v, %s causal = false empty = "nan" : (tensor<1x2x4x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x5x8xf32>, tensor<f32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @attention_heads(%q: tensor<1x4x4x8xf32>, %k: tensor<1x3x6x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{the heads of k do not divide those of q}}
  %0, %1 = loom.attention %q, %k, %k, %s causal = false empty = "nan" : (tensor<1x4x4x8xf32>, tensor<1x3x6x8xf32>, tensor<1x3x6x8xf32>, tensor<f32>) -> (tensor<1x4x4x8xf32>, tensor<1x4x4xf32>)
  return
}

// -----

func.func @attention_mask(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x6x8xf32>, %s: tensor<f32>, %m: tensor<1x1x4x5xf32>) {
  // expected-error @+1 {{dimension 3 of the mask is not that of the scores}}
  %0, %1 = loom.attention %q, %k, %k, %s, %m causal = false empty = "nan" : (tensor<1x2x4x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<f32>, tensor<1x1x4x5xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @attention_empty(%q: tensor<1x2x4x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{unknown word "none" for empty}}
  %0, %1 = loom.attention %q, %q, %q, %s causal = false empty = "none" : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<f32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @attention_results(%q: tensor<1x2x4x8xbf16>, %s: tensor<f32>) {
  // expected-error @+1 {{result 1 differs from the inferred type}}
  %0, %1 = loom.attention %q, %q, %q, %s causal = false empty = "nan" : (tensor<1x2x4x8xbf16>, tensor<1x2x4x8xbf16>, tensor<1x2x4x8xbf16>, tensor<f32>) -> (tensor<1x2x4x8xbf16>, tensor<1x2x4xbf16>)
  return
}

// -----

func.func @attention_gradient_rows(%q: tensor<1x2x4x8xf32>, %l: tensor<1x2x5xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{logarithms and sums are not one for each query}}
  %0, %1, %2 = loom.attention_gradient %q, %q, %q, %q, %l, %l, %s causal = false : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>, tensor<f32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
  return
}

// -----

// Bytes are counted, and sizes of 0 do not help the others.
func.func @f(%a: tensor<0x4611686018427387904x2xi8>) {
  // expected-error@+1 {{fewer than 2^63 bytes}}
  %0 = loom.neg %a : tensor<0x4611686018427387904x2xi8>
  return
}

// -----

func.func @f(%a: tensor<1152921504606846976xf64>) {
  // expected-error@+1 {{fewer than 2^63 bytes}}
  %0 = loom.neg %a : tensor<1152921504606846976xf64>
  return
}

// -----

func.func @f(%a: tensor<4611686018427387904xi8>) -> tensor<4611686018427387904xi8> {
  %0 = loom.neg %a : tensor<4611686018427387904xi8>
  return %0 : tensor<4611686018427387904xi8>
}

// -----

func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{expects parent op to be one of 'loom.for, loom.while, loom.if, loom.fusion, loom.kernel'}}
  loom.yield %a : tensor<4xf32>
}

// -----

func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'loom.apply' op names @absent, which is no kernel}}
  %0 = loom.apply @absent(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @g(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'loom.apply' op names @g, which is no kernel}}
  %0 = loom.apply @g(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @f(%n: tensor<i64>, %a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'loom.control' op names @body, which is no function}}
  %0 = loom.control "for" [@body] carry = [0] (%n, %a) : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

loom.plan @main {
^bb0(%a: memref<4xf32>, %b: memref<4xf32>):
  // expected-error@+1 {{'loom.launch' op names @k, which is no kernel}}
  loom.launch @k stage = 0 chunks = 1 (%a, %b) scalars() {fp = 0 : i64, scratch = 0 : i64} : (memref<4xf32>, memref<4xf32>) -> ()
} {inputs = 1 : i64, consts = array<i64>, arena = 0 : i64}

// -----

loom.plan @main {
^bb0(%n: tensor<i64>, %a: memref<4xf32>, %b: memref<4xf32>):
  // expected-error@+1 {{'loom.run' op names @body, which is no plan}}
  loom.run "for" [@body] carry = [0] reads = 2 (%a, %a, %b) : (memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
} {inputs = 2 : i64, consts = array<i64>, arena = 0 : i64}
