// Every op parses, verifies, prints and parses again, in the readable and in the generic form.
// RUN: %loom-opt %s | %loom-opt | FileCheck %s
// RUN: %loom-opt --mlir-print-op-generic %s | %loom-opt | FileCheck %s
// RUN: %loom-opt --emit-bytecode %s | %loom-opt | FileCheck %s

// CHECK-LABEL: func.func @unary
func.func @unary(%f: tensor<4x8xf32>, %i: tensor<4x8xi32>) {
  // CHECK: loom.abs %{{.*}} : tensor<4x8xf32>
  loom.abs %f : tensor<4x8xf32>
  // CHECK: loom.neg %{{.*}} : tensor<4x8xf32>
  loom.neg %f : tensor<4x8xf32>
  // CHECK: loom.sign %{{.*}} : tensor<4x8xf32>
  loom.sign %f : tensor<4x8xf32>
  // CHECK: loom.not %{{.*}} : tensor<4x8xi32>
  loom.not %i : tensor<4x8xi32>
  // CHECK: loom.ceil %{{.*}} : tensor<4x8xf32>
  loom.ceil %f : tensor<4x8xf32>
  // CHECK: loom.floor %{{.*}} : tensor<4x8xf32>
  loom.floor %f : tensor<4x8xf32>
  // CHECK: loom.trunc %{{.*}} : tensor<4x8xf32>
  loom.trunc %f : tensor<4x8xf32>
  // CHECK: loom.round_even %{{.*}} : tensor<4x8xf32>
  loom.round_even %f : tensor<4x8xf32>
  // CHECK: loom.sqrt %{{.*}} : tensor<4x8xf32>
  loom.sqrt %f : tensor<4x8xf32>
  // CHECK: loom.rsqrt %{{.*}} : tensor<4x8xf32>
  loom.rsqrt %f : tensor<4x8xf32>
  // CHECK: loom.cbrt %{{.*}} : tensor<4x8xf32>
  loom.cbrt %f : tensor<4x8xf32>
  // CHECK: loom.exp %{{.*}} : tensor<4x8xf32>
  loom.exp %f : tensor<4x8xf32>
  // CHECK: loom.exp2 %{{.*}} : tensor<4x8xf32>
  loom.exp2 %f : tensor<4x8xf32>
  // CHECK: loom.expm1 %{{.*}} : tensor<4x8xf32>
  loom.expm1 %f : tensor<4x8xf32>
  // CHECK: loom.log %{{.*}} : tensor<4x8xf32>
  loom.log %f : tensor<4x8xf32>
  // CHECK: loom.log2 %{{.*}} : tensor<4x8xf32>
  loom.log2 %f : tensor<4x8xf32>
  // CHECK: loom.log10 %{{.*}} : tensor<4x8xf32>
  loom.log10 %f : tensor<4x8xf32>
  // CHECK: loom.log1p %{{.*}} : tensor<4x8xf32>
  loom.log1p %f : tensor<4x8xf32>
  // CHECK: loom.sin %{{.*}} : tensor<4x8xf32>
  loom.sin %f : tensor<4x8xf32>
  // CHECK: loom.cos %{{.*}} : tensor<4x8xf32>
  loom.cos %f : tensor<4x8xf32>
  // CHECK: loom.tan %{{.*}} : tensor<4x8xf32>
  loom.tan %f : tensor<4x8xf32>
  // CHECK: loom.asin %{{.*}} : tensor<4x8xf32>
  loom.asin %f : tensor<4x8xf32>
  // CHECK: loom.acos %{{.*}} : tensor<4x8xf32>
  loom.acos %f : tensor<4x8xf32>
  // CHECK: loom.atan %{{.*}} : tensor<4x8xf32>
  loom.atan %f : tensor<4x8xf32>
  // CHECK: loom.sinh %{{.*}} : tensor<4x8xf32>
  loom.sinh %f : tensor<4x8xf32>
  // CHECK: loom.cosh %{{.*}} : tensor<4x8xf32>
  loom.cosh %f : tensor<4x8xf32>
  // CHECK: loom.tanh %{{.*}} : tensor<4x8xf32>
  loom.tanh %f : tensor<4x8xf32>
  // CHECK: loom.asinh %{{.*}} : tensor<4x8xf32>
  loom.asinh %f : tensor<4x8xf32>
  // CHECK: loom.acosh %{{.*}} : tensor<4x8xf32>
  loom.acosh %f : tensor<4x8xf32>
  // CHECK: loom.atanh %{{.*}} : tensor<4x8xf32>
  loom.atanh %f : tensor<4x8xf32>
  // CHECK: loom.erf %{{.*}} : tensor<4x8xf32>
  loom.erf %f : tensor<4x8xf32>
  // CHECK: loom.logistic %{{.*}} : tensor<4x8xf32>
  loom.logistic %f : tensor<4x8xf32>
  // CHECK: loom.popcount %{{.*}} : tensor<4x8xi32>
  loom.popcount %i : tensor<4x8xi32>
  return
}

// CHECK-LABEL: func.func @predicates
func.func @predicates(%f: tensor<4x8xf32>) {
  // CHECK: loom.is_nan %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xi1>
  loom.is_nan %f : (tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK: loom.is_inf %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xi1>
  loom.is_inf %f : (tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK: loom.is_finite %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xi1>
  loom.is_finite %f : (tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK: loom.signbit %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xi1>
  loom.signbit %f : (tensor<4x8xf32>) -> tensor<4x8xi1>
  return
}

// CHECK-LABEL: func.func @binary
func.func @binary(%f: tensor<4x8xf32>, %i: tensor<4x8xi32>) {
  // CHECK: loom.add %{{.*}}, %{{.*}} : tensor<4x8xf32>
  loom.add %f, %f : tensor<4x8xf32>
  // CHECK: loom.sub %{{.*}}, %{{.*}} : tensor<4x8xf32>
  loom.sub %f, %f : tensor<4x8xf32>
  // CHECK: loom.mul %{{.*}}, %{{.*}} : tensor<4x8xf32>
  loom.mul %f, %f : tensor<4x8xf32>
  // CHECK: loom.div %{{.*}}, %{{.*}} : tensor<4x8xf32>
  loom.div %f, %f : tensor<4x8xf32>
  // CHECK: loom.floor_div %{{.*}}, %{{.*}} : tensor<4x8xf32>
  loom.floor_div %f, %f : tensor<4x8xf32>
  // CHECK: loom.rem %{{.*}}, %{{.*}} : tensor<4x8xf32>
  loom.rem %f, %f : tensor<4x8xf32>
  // CHECK: loom.fmod %{{.*}}, %{{.*}} : tensor<4x8xf32>
  loom.fmod %f, %f : tensor<4x8xf32>
  // CHECK: loom.pow %{{.*}}, %{{.*}} : tensor<4x8xf32>
  loom.pow %f, %f : tensor<4x8xf32>
  // CHECK: loom.atan2 %{{.*}}, %{{.*}} : tensor<4x8xf32>
  loom.atan2 %f, %f : tensor<4x8xf32>
  // CHECK: loom.hypot %{{.*}}, %{{.*}} : tensor<4x8xf32>
  loom.hypot %f, %f : tensor<4x8xf32>
  // CHECK: loom.max %{{.*}}, %{{.*}} : tensor<4x8xf32>
  loom.max %f, %f : tensor<4x8xf32>
  // CHECK: loom.min %{{.*}}, %{{.*}} : tensor<4x8xf32>
  loom.min %f, %f : tensor<4x8xf32>
  // CHECK: loom.fmax %{{.*}}, %{{.*}} : tensor<4x8xf32>
  loom.fmax %f, %f : tensor<4x8xf32>
  // CHECK: loom.fmin %{{.*}}, %{{.*}} : tensor<4x8xf32>
  loom.fmin %f, %f : tensor<4x8xf32>
  // CHECK: loom.mul_add %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8xf32>
  loom.mul_add %f, %f, %f : tensor<4x8xf32>
  // CHECK: loom.and %{{.*}}, %{{.*}} : tensor<4x8xi32>
  loom.and %i, %i : tensor<4x8xi32>
  // CHECK: loom.or %{{.*}}, %{{.*}} : tensor<4x8xi32>
  loom.or %i, %i : tensor<4x8xi32>
  // CHECK: loom.xor %{{.*}}, %{{.*}} : tensor<4x8xi32>
  loom.xor %i, %i : tensor<4x8xi32>
  // CHECK: loom.shl %{{.*}}, %{{.*}} : tensor<4x8xi32>
  loom.shl %i, %i : tensor<4x8xi32>
  // CHECK: loom.shr %{{.*}}, %{{.*}} : tensor<4x8xi32>
  loom.shr %i, %i : tensor<4x8xi32>
  // CHECK: loom.copysign %{{.*}}, %{{.*}} : tensor<4x8xf32>
  loom.copysign %f, %f : tensor<4x8xf32>
  // CHECK: loom.nextafter %{{.*}}, %{{.*}} : tensor<4x8xf32>
  loom.nextafter %f, %f : tensor<4x8xf32>
  // CHECK: loom.gcd %{{.*}}, %{{.*}} : tensor<4x8xi32>
  loom.gcd %i, %i : tensor<4x8xi32>
  return
}

// CHECK-LABEL: func.func @others
func.func @others(%f: tensor<4x8xf32>, %p: tensor<4x8xi1>, %k: tensor<2xui64>, %u: tensor<2x2xf32>, %s: tensor<f32>,
                  %x: tensor<3xi64>, %g: tensor<3x8xf32>, %image: tensor<1x2x8xf32>, %filter: tensor<3x2x3xf32>) {
  // CHECK: loom.select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %select_82 = loom.select %p, %f, %f : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: loom.compare "lt" %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %compare_66 = loom.compare "lt" %f, %f : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK: loom.convert %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xui8>
  %convert_41 = loom.convert %f : (tensor<4x8xf32>) -> tensor<4x8xui8>
  // CHECK: loom.bitcast %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xi32>
  %bitcast_41 = loom.bitcast %f : (tensor<4x8xf32>) -> tensor<4x8xi32>
  // CHECK: loom.constant(true) : tensor<i1>
  %constant_19 = loom.constant(true) : tensor<i1>
  // CHECK: loom.constant(-1 : i8) : tensor<2xi8>
  %constant_24 = loom.constant(-1 : i8) : tensor<2xi8>
  // CHECK: loom.constant(255 : ui8) : tensor<2xui8>
  %constant_27 = loom.constant(255 : ui8) : tensor<2xui8>
  // CHECK: loom.constant(0x7FC00000 : f32) : tensor<2xf32>
  %constant_34 = loom.constant(0x7FC00000 : f32) : tensor<2xf32>
  // CHECK: loom.constant([1.000000e+00 : f32, -2.000000e+00 : f32]) : tensor<2xcomplex<f32>>
  %constant_68 = loom.constant([1.000000e+00 : f32, -2.000000e+00 : f32]) : tensor<2xcomplex<f32>>
  // CHECK: loom.iota {axis = 1 : i64} : tensor<4x8xf32>
  %iota_34 = loom.iota {axis = 1 : i64} : tensor<4x8xf32>
  // CHECK: loom.random "uniform" %{{.*}}, %{{.*}} : (tensor<2xui64>, tensor<2xui64>) -> tensor<4x8xf32>
  %random_70 = loom.random "uniform" %k, %k : (tensor<2xui64>, tensor<2xui64>) -> tensor<4x8xf32>
  // CHECK: loom.broadcast %{{.*}} dims = [1, 2] : (tensor<4x8xf32>) -> tensor<3x4x8xf32>
  %broadcast_57 = loom.broadcast %f dims = [1, 2] : (tensor<4x8xf32>) -> tensor<3x4x8xf32>
  // CHECK: loom.reshape %{{.*}} : (tensor<4x8xf32>) -> tensor<32xf32>
  %reshape_40 = loom.reshape %f : (tensor<4x8xf32>) -> tensor<32xf32>
  // CHECK: loom.transpose %{{.*}} perm = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %transpose_55 = loom.transpose %f perm = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK: loom.slice %{{.*}} starts = [3, 0] sizes = [4, 2] steps = [-1, 3] : (tensor<4x8xf32>) -> tensor<4x2xf32>
  %slice_88 = loom.slice %f starts = [3, 0] sizes = [4, 2] steps = [-1, 3] : (tensor<4x8xf32>) -> tensor<4x2xf32>
  // CHECK: loom.copy %{{.*}} : tensor<4x8xf32>
  %copy_20 = loom.copy %f : tensor<4x8xf32>
  // CHECK: loom.update_slice %{{.*}}, %{{.*}} starts = [0, 1] steps = [2, 1] : (tensor<4x8xf32>, tensor<2x2xf32>) -> tensor<4x8xf32>
  %update_slice_93 = loom.update_slice %f, %u starts = [0, 1] steps = [2, 1] : (tensor<4x8xf32>, tensor<2x2xf32>) -> tensor<4x8xf32>
  // CHECK: loom.concatenate %{{.*}}, %{{.*}} axis = 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %concatenate_71 = loom.concatenate %f, %f axis = 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  // CHECK: loom.pad %{{.*}}, %{{.*}} low = [0, 1] high = [2, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<6x9xf32>
  %pad_85 = loom.pad %f, %s low = [0, 1] high = [2, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<6x9xf32>
  // CHECK: loom.gather "clip" %{{.*}}, %{{.*}} axis = 0 : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
  %gather_76 = loom.gather "clip" %f, %x axis = 0 : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
  // CHECK: loom.scatter "add" %{{.*}}, %{{.*}}, %{{.*}} axis = 0 : (tensor<4x8xf32>, tensor<3xi64>, tensor<3x8xf32>) -> tensor<4x8xf32>
  %scatter_96 = loom.scatter "add" %f, %x, %g axis = 0 : (tensor<4x8xf32>, tensor<3xi64>, tensor<3x8xf32>) -> tensor<4x8xf32>
  // CHECK: loom.sort %{{.*}} axis = 1 {indices = true} : (tensor<4x8xf32>) -> tensor<4x8xi64>
  %sort_67 = loom.sort %f axis = 1 {indices = true} : (tensor<4x8xf32>) -> tensor<4x8xi64>
  // CHECK: loom.reduce "argmax" %{{.*}} axes = [1] : (tensor<4x8xf32>) -> tensor<4xi64>
  %reduce_59 = loom.reduce "argmax" %f axes = [1] : (tensor<4x8xf32>) -> tensor<4xi64>
  // CHECK: loom.scan "sum" %{{.*}} axis = 0 : tensor<4x8xf32>
  %scan_35 = loom.scan "sum" %f axis = 0 : tensor<4x8xf32>
  // CHECK: loom.dot_general %{{.*}}, %{{.*}} batch = [] x [] contract = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %dot_general_99 = loom.dot_general %f, %f batch = [] x [] contract = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  // CHECK: loom.windows %{{.*}} sizes = [2, 3] strides = [1, 2] dilation = [1, 1] : (tensor<4x8xf32>) -> tensor<3x3x2x3xf32>
  %windows_1 = loom.windows %f sizes = [2, 3] strides = [1, 2] dilation = [1, 1] : (tensor<4x8xf32>) -> tensor<3x3x2x3xf32>
  // CHECK: loom.convolution %{{.*}}, %{{.*}} strides = [2] padding = [1, 1] dilation = [1] groups = 1 : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x4xf32>
  %convolution_134 = loom.convolution %image, %filter strides = [2] padding = [1, 1] dilation = [1] groups = 1 : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x4xf32>
  // CHECK: loom.convolution_gradient %{{.*}}, %{{.*}} strides = [2] padding = [1, 1] dilation = [1] window = [3] groups = 1 : (tensor<1x2x8xf32>, tensor<1x3x4xf32>) -> tensor<3x2x3xf32>
  %convolution_gradient_1 = loom.convolution_gradient %image, %convolution_134 strides = [2] padding = [1, 1] dilation = [1] window = [3] groups = 1 : (tensor<1x2x8xf32>, tensor<1x3x4xf32>) -> tensor<3x2x3xf32>
  // CHECK: loom.convolution_input %{{.*}}, %{{.*}} strides = [2] padding = [1, 1] dilation = [1] sizes = [8] : (tensor<1x3x4xf32>, tensor<3x1x3xf32>) -> tensor<1x3x8xf32>
  %own = loom.slice %filter starts = [0, 0, 0] sizes = [3, 1, 3] steps = [1, 1, 1] : (tensor<3x2x3xf32>) -> tensor<3x1x3xf32>
  %convolution_input_1 = loom.convolution_input %convolution_134, %own strides = [2] padding = [1, 1] dilation = [1] sizes = [8] : (tensor<1x3x4xf32>, tensor<3x1x3xf32>) -> tensor<1x3x8xf32>
  // CHECK: loom.assume_shape %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %assume_shape_41 = loom.assume_shape %f : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: loom.size %{{.*}} axis = 1 : (tensor<4x8xf32>) -> tensor<i64>
  %size_46 = loom.size %f axis = 1 : (tensor<4x8xf32>) -> tensor<i64>
  // CHECK: loom.host_call "sort"(%{{.*}}) effects = "reads raises" slot = 2 : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
  %host_call:2 = loom.host_call "sort"(%f) effects = "reads raises" slot = 2 : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
  return
}

// CHECK-LABEL: func.func @regions
func.func @regions(%n: tensor<i64>, %a: tensor<4xf32>, %c: tensor<i1>) {
  // CHECK: loom.for %{{.*}} init(%{{.*}})
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<4xf32>):
    %y = loom.neg %x : tensor<4xf32>
    // CHECK: loom.yield %{{.*}} : tensor<4xf32>
    loom.yield %y : tensor<4xf32>
  } : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: loom.while init(%{{.*}})
  %1 = loom.while init(%a) {
  ^bb0(%x: tensor<4xf32>):
    %t = loom.constant(false) : tensor<i1>
    loom.yield %t : tensor<i1>
  // CHECK: } do {
  } do {
  ^bb0(%x: tensor<4xf32>):
    loom.yield %x : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: loom.if %{{.*}}(%{{.*}})
  %2 = loom.if %c (%a) {
  ^bb0(%x: tensor<4xf32>):
    loom.yield %x : tensor<4xf32>
  // CHECK: } else {
  } else {
  ^bb0(%x: tensor<4xf32>):
    %y = loom.abs %x : tensor<4xf32>
    loom.yield %y : tensor<4xf32>
  } : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: loom.fusion(%{{.*}})
  %3 = loom.fusion(%a) {
  ^bb0(%x: tensor<4xf32>):
    loom.yield %x : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %s = loom.constant(2.0 : f32) : tensor<f32>
  // CHECK: loom.apply @k(%{{.*}}, %{{.*}}) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = loom.apply @k (%a, %s) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// CHECK: loom.kernel @k
loom.kernel @k {
^bb0(%x: tensor<4xf32>, %s: tensor<f32>):
  %b = loom.broadcast %s dims = [] : (tensor<f32>) -> tensor<4xf32>
  %y = loom.mul %x, %b : tensor<4xf32>
  loom.yield %y : tensor<4xf32>
} {strides = [array<i64: 1>, array<i64>, array<i64: 1>], scalars = array<i64: 1>, inplace = array<i64: -1>}

// CHECK: loom.plan @main
loom.plan @main {
^bb0(%in: memref<4xf32>, %s: tensor<f32>, %out: memref<4xf32>):
  // CHECK: loom.buffer offset = 64 : memref<4xf32>
  %t = loom.buffer offset = 64 : memref<4xf32>
  // CHECK: loom.launch @k stage = 0 chunks = 1(%{{.*}}, %{{.*}}) scalars(%{{.*}})
  loom.launch @k stage = 0 chunks = 1 (%in, %t) scalars(%s) {scratch = 0 : i64, fp = 15 : i64} : (memref<4xf32>, memref<4xf32>, tensor<f32>) -> ()
  // CHECK: loom.call_host "f" slot = 0 reads = 1(%{{.*}}, %{{.*}})
  loom.call_host "f" slot = 0 reads = 1 (%in, %t) : (memref<4xf32>, memref<4xf32>) -> ()
  // CHECK: loom.launch @k stage = 0 chunks = 1(%{{.*}}) scalars() {{.*}} : (memref<4xf32>) -> ()
  loom.launch @k stage = 0 chunks = 1 (%in) scalars() {scratch = 0 : i64, fp = 15 : i64} : (memref<4xf32>) -> ()
  // CHECK: loom.call_host "g" slot = 1 reads = 0() : () -> ()
  loom.call_host "g" slot = 1 reads = 0 () : () -> ()
  // CHECK: loom.copy_buffer %{{.*}} to %{{.*}} : memref<4xf32>, memref<4xf32>
  loom.copy_buffer %t to %out : memref<4xf32>, memref<4xf32>
  // CHECK: loom.trim_arena offset = 64 bytes = 16
  loom.trim_arena offset = 64 bytes = 16
} {inputs = 2 : i64, consts = array<i64>, arena = 128 : i64}
