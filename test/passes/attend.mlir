// A softmax between two products becomes an attention, unless something else reads what is in between.
// RUN: %loom-opt --loom-attend --canonicalize --split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @masked(
// CHECK-SAME: %[[Q:.*]]: tensor<2x4x64x16xf32>, %[[K:.*]]: tensor<2x4x64x16xf32>, %[[V:.*]]: tensor<2x4x64x16xf32>, %[[M:.*]]: tensor<64x64xf32>
// CHECK: %[[S:.*]] = loom.constant(1.250000e-01 : f32) : tensor<f32>
// CHECK: %[[M4:.*]] = loom.reshape %[[M]] : (tensor<64x64xf32>) -> tensor<1x1x64x64xf32>
// CHECK: %[[R:.*]], %{{.*}} = loom.attention %[[Q]], %[[K]], %[[V]], %[[S]], %[[M4]] causal = false empty = "nan"
// CHECK-NEXT: return %[[R]]
func.func @masked(%q: tensor<2x4x64x16xf32>, %k: tensor<2x4x64x16xf32>, %v: tensor<2x4x64x16xf32>, %m: tensor<64x64xf32>) -> tensor<2x4x64x16xf32> {
  %0 = loom.constant(0.125 : f32) : tensor<2x4x64x64xf32>
  %1 = loom.dot_general %q, %k batch = [0, 1] x [0, 1] contract = [3] x [3] : (tensor<2x4x64x16xf32>, tensor<2x4x64x16xf32>) -> tensor<2x4x64x64xf32>
  %2 = loom.mul %1, %0 : tensor<2x4x64x64xf32>
  %3 = loom.broadcast %m dims = [2, 3] : (tensor<64x64xf32>) -> tensor<2x4x64x64xf32>
  %4 = loom.add %2, %3 : tensor<2x4x64x64xf32>
  %5 = loom.reduce "max" %4 axes = [3] : (tensor<2x4x64x64xf32>) -> tensor<2x4x64xf32>
  %6 = loom.broadcast %5 dims = [0, 1, 2] : (tensor<2x4x64xf32>) -> tensor<2x4x64x64xf32>
  %7 = loom.sub %4, %6 : tensor<2x4x64x64xf32>
  %8 = loom.exp %7 : tensor<2x4x64x64xf32>
  %9 = loom.reduce "sum" %8 axes = [3] : (tensor<2x4x64x64xf32>) -> tensor<2x4x64xf32>
  %10 = loom.broadcast %9 dims = [0, 1, 2] : (tensor<2x4x64xf32>) -> tensor<2x4x64x64xf32>
  %11 = loom.div %8, %10 : tensor<2x4x64x64xf32>
  %12 = loom.dot_general %11, %v batch = [0, 1] x [0, 1] contract = [3] x [2] : (tensor<2x4x64x64xf32>, tensor<2x4x64x16xf32>) -> tensor<2x4x64x16xf32>
  return %12 : tensor<2x4x64x16xf32>
}

// -----

// The weights are a result as well.
// CHECK-LABEL: func.func @weights
// CHECK-NOT: loom.attention
func.func @weights(%q: tensor<64x16xf32>, %v: tensor<64x16xf32>) -> (tensor<64x16xf32>, tensor<64x64xf32>) {
  %1 = loom.dot_general %q, %q batch = [] x [] contract = [1] x [1] : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x64xf32>
  %5 = loom.reduce "max" %1 axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %6 = loom.broadcast %5 dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %7 = loom.sub %1, %6 : tensor<64x64xf32>
  %8 = loom.exp %7 : tensor<64x64xf32>
  %9 = loom.reduce "sum" %8 axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %10 = loom.broadcast %9 dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %11 = loom.div %8, %10 : tensor<64x64xf32>
  %12 = loom.dot_general %11, %v batch = [] x [] contract = [1] x [0] : (tensor<64x64xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  return %12, %11 : tensor<64x16xf32>, tensor<64x64xf32>
}

// -----

// A softmax over queries is none over keys.
// CHECK-LABEL: func.func @columns
// CHECK-NOT: loom.attention
func.func @columns(%q: tensor<64x16xf32>, %v: tensor<64x16xf32>) -> tensor<64x16xf32> {
  %1 = loom.dot_general %q, %q batch = [] x [] contract = [1] x [1] : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x64xf32>
  %5 = loom.reduce "max" %1 axes = [0] : (tensor<64x64xf32>) -> tensor<64xf32>
  %6 = loom.broadcast %5 dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
  %7 = loom.sub %1, %6 : tensor<64x64xf32>
  %8 = loom.exp %7 : tensor<64x64xf32>
  %9 = loom.reduce "sum" %8 axes = [0] : (tensor<64x64xf32>) -> tensor<64xf32>
  %10 = loom.broadcast %9 dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
  %11 = loom.div %8, %10 : tensor<64x64xf32>
  %12 = loom.dot_general %11, %v batch = [] x [] contract = [1] x [0] : (tensor<64x64xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  return %12 : tensor<64x16xf32>
}

// -----

// Heads of k and v that were repeated are read once.
// CHECK-LABEL: func.func @repeated(
// CHECK-SAME: %[[Q:.*]]: tensor<1x4x20x8xf32>, %[[K:.*]]: tensor<1x2x20x8xf32>
// CHECK: loom.attention %[[Q]], %[[K]], %[[K]],
// CHECK-SAME: (tensor<1x4x20x8xf32>, tensor<1x2x20x8xf32>, tensor<1x2x20x8xf32>, tensor<f32>)
func.func @repeated(%q: tensor<1x4x20x8xf32>, %k: tensor<1x2x20x8xf32>, %s: tensor<f32>) -> tensor<1x4x20x8xf32> {
  %0 = loom.broadcast %k dims = [0, 1, 3, 4] : (tensor<1x2x20x8xf32>) -> tensor<1x2x2x20x8xf32>
  %1 = loom.reshape %0 : (tensor<1x2x2x20x8xf32>) -> tensor<1x4x20x8xf32>
  %o, %lse = loom.attention %q, %1, %1, %s causal = true empty = "zero" : (tensor<1x4x20x8xf32>, tensor<1x4x20x8xf32>, tensor<1x4x20x8xf32>, tensor<f32>) -> (tensor<1x4x20x8xf32>, tensor<1x4x20xf32>)
  return %o : tensor<1x4x20x8xf32>
}

// -----

// Scores divided by a number are multiplied by one over it; a bool that chooses between scores and -inf is a mask.
// CHECK-LABEL: func.func @chosen(
// CHECK-SAME: %[[Q:.*]]: tensor<64x16xf32>, %[[K:.*]]: tensor<64x16xf32>, %[[V:.*]]: tensor<64x16xf32>, %[[C:.*]]: tensor<64x64xi1>
// CHECK: %[[S:.*]] = loom.constant(2.500000e-01 : f32) : tensor<f32>
// CHECK-NOT: loom.not
// CHECK: %[[M:.*]] = loom.reshape %[[C]] : (tensor<64x64xi1>) -> tensor<1x1x64x64xi1>
// CHECK: loom.attention {{.*}}, %[[S]], %[[M]] causal = false empty = "nan"
func.func @chosen(%q: tensor<64x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x16xf32>, %c: tensor<64x64xi1>) -> tensor<64x16xf32> {
  %1 = loom.dot_general %q, %k batch = [] x [] contract = [1] x [1] : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x64xf32>
  %s = loom.constant(4.0 : f32) : tensor<64x64xf32>
  %low = loom.constant(0xFF800000 : f32) : tensor<64x64xf32>
  %2 = loom.div %1, %s : tensor<64x64xf32>
  %4 = loom.select %c, %2, %low : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = loom.reduce "max" %4 axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %6 = loom.broadcast %5 dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %7 = loom.sub %4, %6 : tensor<64x64xf32>
  %8 = loom.exp %7 : tensor<64x64xf32>
  %9 = loom.reduce "sum" %8 axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %10 = loom.broadcast %9 dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %11 = loom.div %8, %10 : tensor<64x64xf32>
  %12 = loom.dot_general %11, %v batch = [] x [] contract = [1] x [0] : (tensor<64x64xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  return %12 : tensor<64x16xf32>
}

// -----

// Where the bool says what is hidden, the mask is its opposite.
// CHECK-LABEL: func.func @hidden(
// CHECK: loom.not
// CHECK: loom.attention
func.func @hidden(%q: tensor<64x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x16xf32>, %c: tensor<64x64xi1>) -> tensor<64x16xf32> {
  %1 = loom.dot_general %q, %k batch = [] x [] contract = [1] x [1] : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x64xf32>
  %low = loom.constant(0xFF800000 : f32) : tensor<64x64xf32>
  %4 = loom.select %c, %low, %1 : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = loom.reduce "max" %4 axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %6 = loom.broadcast %5 dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %7 = loom.sub %4, %6 : tensor<64x64xf32>
  %8 = loom.exp %7 : tensor<64x64xf32>
  %9 = loom.reduce "sum" %8 axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %10 = loom.broadcast %9 dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %11 = loom.div %8, %10 : tensor<64x64xf32>
  %12 = loom.dot_general %11, %v batch = [] x [] contract = [1] x [0] : (tensor<64x64xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  return %12 : tensor<64x16xf32>
}

// -----

// What is chosen instead is no -inf: such a key has a share.
// CHECK-LABEL: func.func @replaced(
// CHECK-NOT: loom.attention
func.func @replaced(%q: tensor<64x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x16xf32>, %c: tensor<64x64xi1>) -> tensor<64x16xf32> {
  %1 = loom.dot_general %q, %k batch = [] x [] contract = [1] x [1] : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x64xf32>
  %low = loom.constant(-1.0e9 : f32) : tensor<64x64xf32>
  %4 = loom.select %c, %1, %low : (tensor<64x64xi1>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = loom.reduce "max" %4 axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %6 = loom.broadcast %5 dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %7 = loom.sub %4, %6 : tensor<64x64xf32>
  %8 = loom.exp %7 : tensor<64x64xf32>
  %9 = loom.reduce "sum" %8 axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %10 = loom.broadcast %9 dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %11 = loom.div %8, %10 : tensor<64x64xf32>
  %12 = loom.dot_general %11, %v batch = [] x [] contract = [1] x [0] : (tensor<64x64xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  return %12 : tensor<64x16xf32>
}

// -----

// The scores are read by something else, so that they have to be made.
// CHECK-LABEL: func.func @scores(
// CHECK-NOT: loom.attention
func.func @scores(%q: tensor<64x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x16xf32>) -> (tensor<64x16xf32>, tensor<64x64xf32>) {
  %1 = loom.dot_general %q, %k batch = [] x [] contract = [1] x [1] : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x64xf32>
  %5 = loom.reduce "max" %1 axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %6 = loom.broadcast %5 dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %7 = loom.sub %1, %6 : tensor<64x64xf32>
  %8 = loom.exp %7 : tensor<64x64xf32>
  %9 = loom.reduce "sum" %8 axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %10 = loom.broadcast %9 dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %11 = loom.div %8, %10 : tensor<64x64xf32>
  %12 = loom.dot_general %11, %v batch = [] x [] contract = [1] x [0] : (tensor<64x64xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  %n = loom.neg %1 : tensor<64x64xf32>
  return %12, %n : tensor<64x16xf32>, tensor<64x64xf32>
}

// -----

// What is subtracted is the maximum of other numbers: no softmax of these.
// CHECK-LABEL: func.func @shifted(
// CHECK-NOT: loom.attention
func.func @shifted(%q: tensor<64x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x16xf32>, %o: tensor<64x64xf32>) -> tensor<64x16xf32> {
  %1 = loom.dot_general %q, %k batch = [] x [] contract = [1] x [1] : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x64xf32>
  %5 = loom.reduce "max" %o axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %6 = loom.broadcast %5 dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %7 = loom.sub %1, %6 : tensor<64x64xf32>
  %8 = loom.exp %7 : tensor<64x64xf32>
  %9 = loom.reduce "sum" %8 axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %10 = loom.broadcast %9 dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %11 = loom.div %8, %10 : tensor<64x64xf32>
  %12 = loom.dot_general %11, %v batch = [] x [] contract = [1] x [0] : (tensor<64x64xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  return %12 : tensor<64x16xf32>
}

// -----

// Few keys: the scores fit the cache, and the products fuse with what is around them.
// CHECK-LABEL: func.func @few(
// CHECK-NOT: loom.attention
func.func @few(%q: tensor<64x16xf32>, %k: tensor<8x16xf32>, %v: tensor<8x16xf32>) -> tensor<64x16xf32> {
  %1 = loom.dot_general %q, %k batch = [] x [] contract = [1] x [1] : (tensor<64x16xf32>, tensor<8x16xf32>) -> tensor<64x8xf32>
  %5 = loom.reduce "max" %1 axes = [1] : (tensor<64x8xf32>) -> tensor<64xf32>
  %6 = loom.broadcast %5 dims = [0] : (tensor<64xf32>) -> tensor<64x8xf32>
  %7 = loom.sub %1, %6 : tensor<64x8xf32>
  %8 = loom.exp %7 : tensor<64x8xf32>
  %9 = loom.reduce "sum" %8 axes = [1] : (tensor<64x8xf32>) -> tensor<64xf32>
  %10 = loom.broadcast %9 dims = [0] : (tensor<64xf32>) -> tensor<64x8xf32>
  %11 = loom.div %8, %10 : tensor<64x8xf32>
  %12 = loom.dot_general %11, %v batch = [] x [] contract = [1] x [0] : (tensor<64x8xf32>, tensor<8x16xf32>) -> tensor<64x16xf32>
  return %12 : tensor<64x16xf32>
}

// -----

// A head wider than the kernels take.
// CHECK-LABEL: func.func @wide(
// CHECK-NOT: loom.attention
func.func @wide(%q: tensor<64x520xf32>, %k: tensor<64x520xf32>, %v: tensor<64x520xf32>) -> tensor<64x520xf32> {
  %1 = loom.dot_general %q, %k batch = [] x [] contract = [1] x [1] : (tensor<64x520xf32>, tensor<64x520xf32>) -> tensor<64x64xf32>
  %5 = loom.reduce "max" %1 axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %6 = loom.broadcast %5 dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %7 = loom.sub %1, %6 : tensor<64x64xf32>
  %8 = loom.exp %7 : tensor<64x64xf32>
  %9 = loom.reduce "sum" %8 axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %10 = loom.broadcast %9 dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %11 = loom.div %8, %10 : tensor<64x64xf32>
  %12 = loom.dot_general %11, %v batch = [] x [] contract = [1] x [0] : (tensor<64x64xf32>, tensor<64x520xf32>) -> tensor<64x520xf32>
  return %12 : tensor<64x520xf32>
}

// -----

// Heads that are repeated in turn, not each one several times, are not those that a query head would read.
// CHECK-LABEL: func.func @in_turn(
// CHECK: loom.broadcast
// CHECK: loom.attention {{.*}} : (tensor<1x4x20x8xf32>, tensor<1x4x20x8xf32>, tensor<1x4x20x8xf32>, tensor<f32>)
func.func @in_turn(%q: tensor<1x4x20x8xf32>, %k: tensor<1x2x20x8xf32>, %s: tensor<f32>) -> tensor<1x4x20x8xf32> {
  %0 = loom.broadcast %k dims = [0, 2, 3, 4] : (tensor<1x2x20x8xf32>) -> tensor<1x2x2x20x8xf32>
  %1 = loom.reshape %0 : (tensor<1x2x2x20x8xf32>) -> tensor<1x4x20x8xf32>
  %o, %lse = loom.attention %q, %1, %1, %s causal = true empty = "zero" : (tensor<1x4x20x8xf32>, tensor<1x4x20x8xf32>, tensor<1x4x20x8xf32>, tensor<f32>) -> (tensor<1x4x20x8xf32>, tensor<1x4x20xf32>)
  return %o : tensor<1x4x20x8xf32>
}
