// What folds, and what must not: a fold changes no bit and hides no floating-point exception.
// RUN: %loom-opt --canonicalize %s | FileCheck %s

// CHECK-LABEL: func.func @constants
func.func @constants() -> (tensor<2xf32>, tensor<2xi8>, tensor<2xi1>, tensor<2xi32>, tensor<3xf64>, tensor<i64>) {
  // CHECK-DAG: %[[F:.*]] = loom.constant(3.750000e+00 : f32) : tensor<2xf32>
  %a = loom.constant(1.5 : f32) : tensor<2xf32>
  %b = loom.constant(2.5 : f32) : tensor<2xf32>
  %0 = loom.mul %a, %b : tensor<2xf32>
  // Integers wrap.
  // CHECK-DAG: %[[I:.*]] = loom.constant(-56 : i8) : tensor<2xi8>
  %c = loom.constant(100 : i8) : tensor<2xi8>
  %1 = loom.add %c, %c : tensor<2xi8>
  // CHECK-DAG: %[[T:.*]] = loom.constant(true) : tensor<2xi1>
  %2 = loom.compare "lt" %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  // CHECK-DAG: %[[V:.*]] = loom.constant(1 : i32) : tensor<2xi32>
  %3 = loom.convert %a : (tensor<2xf32>) -> tensor<2xi32>
  // CHECK-DAG: %[[D:.*]] = loom.constant(1.500000e+00 : f64) : tensor<3xf64>
  %s = loom.constant(1.5 : f64) : tensor<f64>
  %4 = loom.broadcast %s dims = [] : (tensor<f64>) -> tensor<3xf64>
  // CHECK-DAG: %[[N:.*]] = loom.constant(2 : i64) : tensor<i64>
  %5 = loom.size %a axis = 0 : (tensor<2xf32>) -> tensor<i64>
  // CHECK: return %[[F]], %[[I]], %[[T]], %[[V]], %[[D]], %[[N]]
  return %0, %1, %2, %3, %4, %5 : tensor<2xf32>, tensor<2xi8>, tensor<2xi1>, tensor<2xi32>, tensor<3xf64>, tensor<i64>
}

// Overflow, division by zero and invalid operations are the kernel's to report.
// CHECK-LABEL: func.func @raising
func.func @raising() -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<i32>) {
  %big = loom.constant(3.0e38 : f32) : tensor<f32>
  %zero = loom.constant(0.0 : f32) : tensor<f32>
  %minus = loom.constant(-1.0 : f32) : tensor<f32>
  %one = loom.constant(7 : i32) : tensor<i32>
  %none = loom.constant(0 : i32) : tensor<i32>
  %negative = loom.constant(-2 : i32) : tensor<i32>
  // CHECK: loom.add
  %0 = loom.add %big, %big : tensor<f32>
  // CHECK: loom.div
  %1 = loom.div %big, %zero : tensor<f32>
  // CHECK: loom.sqrt
  %2 = loom.sqrt %minus : tensor<f32>
  // CHECK: loom.floor_div
  %3 = loom.floor_div %one, %none : tensor<i32>
  // CHECK: loom.convert
  %4 = loom.convert %big : (tensor<f32>) -> tensor<i32>
  // Its kernel's bits are its own.
  // CHECK: loom.exp
  %5 = loom.exp %minus : tensor<f32>
  // CHECK: loom.pow
  %6 = loom.pow %one, %negative : tensor<i32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<i32>
}

// CHECK-LABEL: func.func @identities
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<2xf32>, %[[I:[a-z0-9]+]]: tensor<2xi32>
func.func @identities(%a: tensor<2xf32>, %i: tensor<2xi32>, %p: tensor<2xi1>, %r: tensor<2xi1>) -> (tensor<2xf32>, tensor<2xi32>, tensor<2xi1>, tensor<2xf32>, tensor<2xi32>) {
  %one = loom.constant(1.0 : f32) : tensor<2xf32>
  %minus_zero = loom.constant(-0.0 : f32) : tensor<2xf32>
  %zero = loom.constant(0.0 : f32) : tensor<2xf32>
  %0 = loom.mul %one, %a : tensor<2xf32>
  %1 = loom.add %0, %minus_zero : tensor<2xf32>
  %2 = loom.sub %1, %zero : tensor<2xf32>
  %3 = loom.div %2, %one : tensor<2xf32>
  %4 = loom.max %3, %3 : tensor<2xf32>
  %5 = loom.neg %4 : tensor<2xf32>
  %6 = loom.neg %5 : tensor<2xf32>
  %n = loom.constant(0 : i32) : tensor<2xi32>
  %7 = loom.add %i, %n : tensor<2xi32>
  %8 = loom.shl %7, %n : tensor<2xi32>
  %9 = loom.or %8, %8 : tensor<2xi32>
  %true = loom.constant(true) : tensor<2xi1>
  %q = loom.xor %p, %r : tensor<2xi1>
  %and = loom.and %q, %true : tensor<2xi1>
  %or = loom.or %and, %and : tensor<2xi1>
  %not = loom.not %or : tensor<2xi1>
  %10 = loom.not %not : tensor<2xi1>
  %11 = loom.select %true, %a, %zero : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: %[[Z:.*]] = loom.constant(0 : i32)
  // CHECK-NEXT: %[[Q:.*]] = loom.xor
  %12 = loom.sub %i, %i : tensor<2xi32>
  // CHECK-NEXT: return %[[A]], %[[I]], %[[Q]], %[[A]], %[[Z]]
  return %6, %9, %10, %11, %12 : tensor<2xf32>, tensor<2xi32>, tensor<2xi1>, tensor<2xf32>, tensor<2xi32>
}

// A bool that comes from memory may be any byte, of which arithmetic makes 0 or 1.
// CHECK-LABEL: func.func @bytes_of_bools
func.func @bytes_of_bools(%p: tensor<2xi1>) -> (tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<2xi1>) {
  %true = loom.constant(true) : tensor<2xi1>
  // CHECK: loom.and
  %0 = loom.and %p, %true : tensor<2xi1>
  // CHECK: loom.or
  %1 = loom.or %p, %p : tensor<2xi1>
  // CHECK: loom.not
  %n = loom.not %p : tensor<2xi1>
  // CHECK: loom.not
  %2 = loom.not %n : tensor<2xi1>
  // CHECK: loom.abs
  %3 = loom.abs %p : tensor<2xi1>
  return %0, %1, %2, %3 : tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<2xi1>
}

// What is computed is 0 or 1, so that the arithmetic on it goes; what moves a byte, or leaves bools as they are, is not.
// CHECK-LABEL: func.func @truths
func.func @truths(%x: tensor<2xf32>, %p: tensor<2xi1>) -> (tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<2xi1>) {
  %false = loom.constant(false) : tensor<2xi1>
  // CHECK: %[[N:.*]] = loom.is_nan
  %nan = loom.is_nan %x : (tensor<2xf32>) -> tensor<2xi1>
  %0 = loom.or %nan, %false : tensor<2xi1>
  // CHECK-NEXT: %[[L:.*]] = loom.compare
  %less = loom.compare "lt" %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %not = loom.not %less : tensor<2xi1>
  %1 = loom.not %not : tensor<2xi1>
  // CHECK-NEXT: %[[C:.*]] = loom.copy
  %copy = loom.copy %p : tensor<2xi1>
  // CHECK-NEXT: %[[O:.*]] = loom.or %[[C]]
  %2 = loom.or %copy, %false : tensor<2xi1>
  // CHECK-NEXT: %[[F:.*]] = loom.floor
  %floor = loom.floor %p : tensor<2xi1>
  // CHECK-NEXT: %[[R:.*]] = loom.or %[[F]]
  %3 = loom.or %floor, %false : tensor<2xi1>
  // CHECK-NEXT: return %[[N]], %[[L]], %[[O]], %[[R]]
  return %0, %1, %2, %3 : tensor<2xi1>, tensor<2xi1>, tensor<2xi1>, tensor<2xi1>
}

// x + 0.0 turns -0.0 into 0.0; x - x is NaN for an infinity; x * 0 likewise; x == x is false for NaN.
// CHECK-LABEL: func.func @no_identities
func.func @no_identities(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xi1>) {
  %zero = loom.constant(0.0 : f32) : tensor<2xf32>
  // CHECK: loom.add
  %0 = loom.add %a, %zero : tensor<2xf32>
  // CHECK: loom.sub
  %1 = loom.sub %a, %a : tensor<2xf32>
  // CHECK: loom.mul
  %2 = loom.mul %a, %zero : tensor<2xf32>
  // CHECK: loom.compare
  %3 = loom.compare "eq" %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xi1>
}

// CHECK-LABEL: func.func @views
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<4x6xf32>
func.func @views(%a: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<24xf32>, tensor<2x1xf32>, tensor<4x3x6xf32>, tensor<4x6xf32>) {
  %t = loom.transpose %a perm = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %0 = loom.transpose %t perm = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  // CHECK: %[[R:.*]] = loom.reshape %[[A]] : (tensor<4x6xf32>) -> tensor<24xf32>
  %r = loom.reshape %a : (tensor<4x6xf32>) -> tensor<8x3xf32>
  %1 = loom.reshape %r : (tensor<8x3xf32>) -> tensor<24xf32>
  // Rows 3, 2, 1 and of these 2; columns 1, 3, 5 and of these 5.
  // CHECK: %[[S:.*]] = loom.slice %[[A]] starts = [3, 5] sizes = [2, 1] steps = [-2, -4]
  %s = loom.slice %a starts = [3, 1] sizes = [3, 3] steps = [-1, 2] : (tensor<4x6xf32>) -> tensor<3x3xf32>
  %2 = loom.slice %s starts = [0, 2] sizes = [2, 1] steps = [2, -2] : (tensor<3x3xf32>) -> tensor<2x1xf32>
  // CHECK: %[[B:.*]] = loom.broadcast %[[A]] dims = [0, 2]
  %b = loom.broadcast %a dims = [1, 2] : (tensor<4x6xf32>) -> tensor<1x4x6xf32>
  %c = loom.reshape %b : (tensor<1x4x6xf32>) -> tensor<4x6xf32>
  %d = loom.broadcast %a dims = [0, 1] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = loom.broadcast %d dims = [0, 2] : (tensor<4x6xf32>) -> tensor<4x3x6xf32>
  %4 = loom.slice %a starts = [0, 0] sizes = [4, 6] steps = [1, 1] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: return %[[A]], %[[R]], %[[S]], %[[B]], %[[A]]
  return %0, %1, %2, %3, %4 : tensor<4x6xf32>, tensor<24xf32>, tensor<2x1xf32>, tensor<4x3x6xf32>, tensor<4x6xf32>
}

// What a select leaves out is computed all the same where that may raise an exception.
// CHECK-LABEL: func.func @left_out
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<2xf32>
func.func @left_out(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %true = loom.constant(true) : tensor<2xi1>
  // CHECK: %[[Q:.*]] = loom.div %[[A]], %[[A]]
  %q = loom.div %a, %a : tensor<2xf32>
  // CHECK: %[[S:.*]] = loom.select {{.*}}, %[[A]], %[[Q]]
  %0 = loom.select %true, %a, %q : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %n = loom.neg %a : tensor<2xf32>
  %1 = loom.select %true, %a, %n : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: %[[W:.*]] = loom.floor %[[Q]]
  %w = loom.floor %q : tensor<2xf32>
  // CHECK: %[[T:.*]] = loom.select {{.*}}, %[[A]], %[[W]]
  %2 = loom.select %true, %a, %w : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: return %[[S]], %[[A]], %[[T]]
  return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
