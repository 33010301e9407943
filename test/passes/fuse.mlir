// RUN: %loom-opt %s --loom-simplify --loom-fuse --split-input-file | FileCheck %s

// A chain is one group; the constant is made inside.
// CHECK-LABEL: func.func @chain
// CHECK: loom.fusion(%arg0, %arg1)
// CHECK-COUNT-1: loom.constant
// CHECK: loom.yield
// CHECK-NOT: loom.fusion
func.func @chain(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %c = loom.constant(1.0 : f32) : tensor<8xf32>
  %0 = loom.mul %a, %b : tensor<8xf32>
  %1 = loom.add %0, %c : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// Softmax is one group.
// CHECK-LABEL: func.func @softmax
// CHECK: loom.fusion(%arg0)
// CHECK: loom.reduce "max"
// CHECK: loom.reduce "sum"
// CHECK: loom.div
// CHECK-NOT: loom.fusion
func.func @softmax(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %m = loom.reduce "max" %x axes = [1] : (tensor<64x128xf32>) -> tensor<64xf32>
  %mr = loom.reshape %m : (tensor<64xf32>) -> tensor<64x1xf32>
  %mb = loom.broadcast %mr dims = [0, 1] : (tensor<64x1xf32>) -> tensor<64x128xf32>
  %d = loom.sub %x, %mb : tensor<64x128xf32>
  %e = loom.exp %d : tensor<64x128xf32>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<64x128xf32>) -> tensor<64xf32>
  %sb = loom.broadcast %s dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %r = loom.div %e, %sb : tensor<64x128xf32>
  return %r : tensor<64x128xf32>
}

// -----

// The same over columns of a large array is not: a column does not stay in the cache.
// CHECK-LABEL: func.func @columns
// CHECK: loom.fusion
// CHECK: loom.reduce "max"
// CHECK-NOT: loom.sub
// CHECK: loom.fusion
// CHECK: loom.sub
func.func @columns(%x: tensor<4096x128xf32>) -> tensor<4096x128xf32> {
  %m = loom.reduce "max" %x axes = [0] : (tensor<4096x128xf32>) -> tensor<128xf32>
  %mb = loom.broadcast %m dims = [1] : (tensor<128xf32>) -> tensor<4096x128xf32>
  %d = loom.sub %x, %mb : tensor<4096x128xf32>
  return %d : tensor<4096x128xf32>
}

// -----

// A product takes what comes before it, when nobody else reads that, and what follows it.
// CHECK-LABEL: func.func @dot
// CHECK: loom.fusion(%arg0, %arg1, %arg2)
// CHECK: loom.exp
// CHECK: loom.dot_general
// CHECK: loom.tanh
// CHECK-NOT: loom.fusion
func.func @dot(%a: tensor<16x8xf32>, %b: tensor<8x4xf32>, %c: tensor<4xf32>) -> tensor<16x4xf32> {
  %n = loom.exp %a : tensor<16x8xf32>
  %0 = loom.dot_general %n, %b batch = [] x [] contract = [1] x [0] : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %1 = loom.broadcast %c dims = [1] : (tensor<4xf32>) -> tensor<16x4xf32>
  %2 = loom.add %0, %1 : tensor<16x4xf32>
  %3 = loom.tanh %2 : tensor<16x4xf32>
  return %3 : tensor<16x4xf32>
}

// -----

// An update of most of an array is computed on the way; one of few elements, or a small part of a large concatenation,
// is not, because it would be computed for all.
// CHECK-LABEL: func.func @moves
// CHECK: loom.fusion(%arg1, %arg0)
// CHECK: loom.exp
// CHECK: loom.update_slice
// CHECK: loom.fusion(%arg2)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: loom.exp
// CHECK-NEXT: loom.yield
// CHECK: loom.fusion
// CHECK: loom.update_slice
// CHECK-NOT: loom.fusion
func.func @moves(%a: tensor<512x512xf32>, %b: tensor<510x510xf32>, %c: tensor<2x512xf32>, %d: tensor<256x512xf32>)
    -> (tensor<512x512xf32>, tensor<256x512xf32>) {
  %0 = loom.exp %b : tensor<510x510xf32>
  %1 = loom.update_slice %a, %0 starts = [1, 1] steps = [1, 1] : (tensor<512x512xf32>, tensor<510x510xf32>) -> tensor<512x512xf32>
  %2 = loom.exp %c : tensor<2x512xf32>
  %3 = loom.update_slice %d, %2 starts = [0, 0] steps = [1, 1] : (tensor<256x512xf32>, tensor<2x512xf32>) -> tensor<256x512xf32>
  return %1, %3 : tensor<512x512xf32>, tensor<256x512xf32>
}

// -----

// Updates of one array one after another are one group, unless one reads the others' result elsewhere.
// CHECK-LABEL: func.func @updates
// CHECK-COUNT-1: loom.fusion
// CHECK: loom.update_slice
// CHECK-NEXT: loom.update_slice
// CHECK: loom.fusion
// CHECK: loom.slice
// CHECK: loom.update_slice
// CHECK-NOT: loom.fusion
func.func @updates(%a: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<8x8xf32> {
  %r = loom.reshape %b : (tensor<8xf32>) -> tensor<1x8xf32>
  %0 = loom.update_slice %a, %r starts = [1, 0] steps = [1, 1] : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
  %1 = loom.update_slice %0, %r starts = [3, 0] steps = [1, 1] : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
  %s = loom.slice %1 starts = [0, 0] sizes = [4, 8] steps = [1, 1] : (tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = loom.update_slice %1, %s starts = [4, 0] steps = [1, 1] : (tensor<8x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// The library computes every element, and warns of those that are then left out: log is computed whole. Integers raise
// nothing. Where zeros stand for elements that do not exist, log would raise what the library does not.
// CHECK-LABEL: func.func @partial
// CHECK: loom.fusion(%arg0)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: loom.log
// CHECK-NEXT: loom.yield
// CHECK: loom.fusion(%arg1)
// CHECK: loom.mul
// CHECK: loom.slice
// CHECK-NOT: loom.log
// CHECK: return
func.func @partial(%a: tensor<512x512xf32>, %b: tensor<256x256xi32>, %z: tensor<f32>)
    -> (tensor<510x512xf32>, tensor<9x256xi32>, tensor<514x512xf32>) {
  %0 = loom.log %a : tensor<512x512xf32>
  %1 = loom.slice %0 starts = [1, 0] sizes = [510, 512] steps = [1, 1] : (tensor<512x512xf32>) -> tensor<510x512xf32>
  %2 = loom.neg %1 : tensor<510x512xf32>
  %3 = loom.mul %b, %b : tensor<256x256xi32>
  %4 = loom.slice %3 starts = [1, 0] sizes = [9, 256] steps = [1, 1] : (tensor<256x256xi32>) -> tensor<9x256xi32>
  %5 = loom.neg %4 : tensor<9x256xi32>
  %6 = loom.pad %0, %z low = [1, 0] high = [1, 0] : (tensor<512x512xf32>, tensor<f32>) -> tensor<514x512xf32>
  return %2, %5, %6 : tensor<510x512xf32>, tensor<9x256xi32>, tensor<514x512xf32>
}

// -----

// No cycle: the sum over columns lies on a path from the product to the last op, so these are three groups.
// CHECK-LABEL: func.func @cycle
// CHECK-COUNT-3: loom.fusion
// CHECK-NOT: loom.fusion
func.func @cycle(%a: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>) {
  %0 = loom.exp %a : tensor<512x512xf32>
  %1 = loom.reduce "sum" %0 axes = [0] : (tensor<512x512xf32>) -> tensor<512xf32>
  %2 = loom.broadcast %1 dims = [1] : (tensor<512xf32>) -> tensor<512x512xf32>
  %3 = loom.div %0, %2 : tensor<512x512xf32>
  return %0, %3 : tensor<512x512xf32>, tensor<512x512xf32>
}

// -----

// Siblings that read the same array become one group with two results.
// CHECK-LABEL: func.func @siblings
// CHECK: loom.fusion(%arg0)
// CHECK: loom.yield %{{.*}}, %{{.*}} : tensor<512xf32>, tensor<512xf32>
// CHECK-NOT: loom.fusion
func.func @siblings(%a: tensor<512x512xf32>) -> (tensor<512xf32>, tensor<512xf32>) {
  %0 = loom.reduce "max" %a axes = [0] : (tensor<512x512xf32>) -> tensor<512xf32>
  %1 = loom.reduce "min" %a axes = [0] : (tensor<512x512xf32>) -> tensor<512xf32>
  return %0, %1 : tensor<512xf32>, tensor<512xf32>
}

// -----

// A cheap op is computed again by two readers that cannot be one group; exp is not.
// CHECK-LABEL: func.func @again
// CHECK: loom.fusion(%arg0)
// CHECK: loom.neg
// CHECK: loom.reduce
// CHECK: loom.fusion(%arg0)
// CHECK: loom.neg
// CHECK: loom.reduce
// CHECK-NOT: loom.fusion
func.func @again(%a: tensor<512x512xf32>) -> (tensor<512xf32>, tensor<512xf32>) {
  %n = loom.neg %a : tensor<512x512xf32>
  %0 = loom.reduce "max" %n axes = [0] : (tensor<512x512xf32>) -> tensor<512xf32>
  %1 = loom.reduce "max" %n axes = [1] : (tensor<512x512xf32>) -> tensor<512xf32>
  return %0, %1 : tensor<512xf32>, tensor<512xf32>
}

// -----

// CHECK-LABEL: func.func @once
// CHECK-COUNT-1: loom.exp
// CHECK-NOT: loom.exp
func.func @once(%a: tensor<512x512xf32>) -> (tensor<512xf32>, tensor<512xf32>) {
  %n = loom.exp %a : tensor<512x512xf32>
  %0 = loom.reduce "max" %n axes = [0] : (tensor<512x512xf32>) -> tensor<512xf32>
  %1 = loom.reduce "max" %n axes = [1] : (tensor<512x512xf32>) -> tensor<512xf32>
  return %0, %1 : tensor<512xf32>, tensor<512xf32>
}

// -----

// So is a loop of integer divisions, and the one division of an op that is given a cost of its own.
// CHECK-LABEL: func.func @once_as_costly
// CHECK-COUNT-1: loom.gcd
// CHECK-NOT: loom.gcd
// CHECK-COUNT-1: loom.rsqrt
// CHECK-NOT: loom.rsqrt
func.func @once_as_costly(%a: tensor<512x512xi32>, %b: tensor<512x512xf32>)
    -> (tensor<512xi32>, tensor<512xi32>, tensor<512xf32>, tensor<512xf32>) {
  %n = loom.gcd %a, %a : tensor<512x512xi32>
  %0 = loom.reduce "max" %n axes = [0] : (tensor<512x512xi32>) -> tensor<512xi32>
  %1 = loom.reduce "max" %n axes = [1] : (tensor<512x512xi32>) -> tensor<512xi32>
  %r = loom.rsqrt %b : tensor<512x512xf32>
  %2 = loom.reduce "max" %r axes = [0] : (tensor<512x512xf32>) -> tensor<512xf32>
  %3 = loom.reduce "max" %r axes = [1] : (tensor<512x512xf32>) -> tensor<512xf32>
  return %0, %1, %2, %3 : tensor<512xi32>, tensor<512xi32>, tensor<512xf32>, tensor<512xf32>
}

// -----

// Inputs and values returned twice are copied; a reshape of a result is its buffer.
// CHECK-LABEL: func.func @returned
// CHECK: %[[F:.*]]:3 = loom.fusion
// CHECK: loom.copy
// CHECK: %[[R:.*]] = loom.reshape %[[F]]#
// CHECK: return
func.func @returned(%a: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<16xf32>, tensor<4x4xf32>) {
  %0 = loom.neg %a : tensor<4x4xf32>
  %1 = loom.reshape %0 : (tensor<4x4xf32>) -> tensor<16xf32>
  return %a, %1, %0 : tensor<4x4xf32>, tensor<16xf32>, tensor<4x4xf32>
}

// -----

// Host calls stay, in order, with the groups they need before them.
// CHECK-LABEL: func.func @host
// CHECK: %[[F:.*]] = loom.fusion
// CHECK: %[[H:.*]] = loom.host_call "first"(%[[F]])
// CHECK: loom.host_call "second"(%[[H]])
// CHECK: loom.fusion
func.func @host(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = loom.neg %a : tensor<4x4xf32>
  %1 = loom.host_call "first"(%0) effects = "raises" slot = 0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = loom.host_call "second"(%1) effects = "raises" slot = 1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = loom.add %1, %2 : tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// -----

// A scan takes in what comes before and after it; what is costly only when lanes run beside the scan.
// CHECK-LABEL: func.func @scan_columns
// CHECK: %[[F:.*]]:2 = loom.fusion
// CHECK: loom.exp
// CHECK: loom.scan
// CHECK: loom.exp
// CHECK-NOT: loom.fusion
// CHECK: return %[[F]]#
func.func @scan_columns(%a: tensor<40x30xf32>) -> (tensor<40x30xf32>, tensor<40x30xf32>) {
  %0 = loom.exp %a : tensor<40x30xf32>
  %1 = loom.scan "sum" %0 axis = 0 : tensor<40x30xf32>
  %2 = loom.exp %1 : tensor<40x30xf32>
  return %1, %2 : tensor<40x30xf32>, tensor<40x30xf32>
}

// -----

// CHECK-LABEL: func.func @scan_rows
// CHECK: loom.fusion
// CHECK: loom.exp
// CHECK: loom.fusion
// CHECK: loom.scan
// CHECK-NEXT: loom.neg
func.func @scan_rows(%a: tensor<40x30xf32>) -> tensor<40x30xf32> {
  %0 = loom.exp %a : tensor<40x30xf32>
  %1 = loom.scan "sum" %0 axis = 1 : tensor<40x30xf32>
  %2 = loom.neg %1 : tensor<40x30xf32>
  return %2 : tensor<40x30xf32>
}

// -----

// A scan that is read elsewhere than where it is made goes through memory.
// CHECK-LABEL: func.func @scan_reversed
// CHECK: loom.scan
// CHECK: loom.fusion
// CHECK: loom.slice
func.func @scan_reversed(%a: tensor<40x30xf32>) -> tensor<40x30xf32> {
  %0 = loom.scan "sum" %a axis = 0 : tensor<40x30xf32>
  %1 = loom.slice %0 starts = [39, 0] sizes = [40, 30] steps = [-1, 1] : (tensor<40x30xf32>) -> tensor<40x30xf32>
  %2 = loom.add %0, %1 : tensor<40x30xf32>
  return %2 : tensor<40x30xf32>
}

// -----

// What reads the product stands after the group of %1, %5 and %9 in the module, but that group also waits for %3: merging %3's
// group with one that depends on it would make each need the other.
// CHECK-LABEL: func.func @no_cycle
// CHECK: %[[A:.*]]:2 = loom.fusion(%arg0)
// CHECK: loom.tanh
// CHECK-NEXT: loom.add
// CHECK: %[[B:.*]]:3 = loom.fusion(%arg1, %[[A]]#0)
// CHECK: loom.exp
// CHECK: loom.reduce
// CHECK: %[[C:.*]] = loom.fusion(%[[B]]#0)
// CHECK: loom.dot_general
// CHECK: loom.fusion(%[[C]])
// CHECK: loom.reduce
func.func @no_cycle(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>) {
  %1 = loom.add %b, %b : tensor<64x64xf32>
  %2 = loom.dot_general %1, %1 batch = [] x [] contract = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = loom.tanh %a : tensor<64x64xf32>
  %5 = loom.exp %1 : tensor<64x64xf32>
  %8 = loom.reduce "sum" %5 axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %4 = loom.transpose %3 perm = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %9 = loom.add %5, %4 : tensor<64x64xf32>
  %12 = loom.reduce "sum" %2 axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %13 = loom.add %a, %3 : tensor<64x64xf32>
  return %13, %8, %9, %12 : tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>
}

// -----

// Products that are added up: each is added by the product behind it, so that no more than two are there at once.
// CHECK-LABEL: func.func @sum_of_products
// CHECK: %[[A:.*]] = loom.fusion(%arg0, %arg1)
// CHECK-NOT: loom.add
// CHECK: %[[B:.*]] = loom.fusion({{.*}}%[[A]]{{.*}})
// CHECK: loom.dot_general
// CHECK: loom.add
// CHECK: loom.fusion({{.*}}%[[B]]{{.*}})
// CHECK: loom.dot_general
// CHECK: loom.add
func.func @sum_of_products(%a: tensor<16x8xf32>, %b: tensor<8x4xf32>, %c: tensor<16x8xf32>, %d: tensor<8x4xf32>,
                           %e: tensor<16x8xf32>, %f: tensor<8x4xf32>) -> tensor<16x4xf32> {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %1 = loom.dot_general %c, %d batch = [] x [] contract = [1] x [0] : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %2 = loom.add %0, %1 : tensor<16x4xf32>
  %3 = loom.dot_general %e, %f batch = [] x [] contract = [1] x [0] : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %4 = loom.add %2, %3 : tensor<16x4xf32>
  return %4 : tensor<16x4xf32>
}

// -----

// The product is stored for the sum of its columns, so that what else is computed of it is left to the sums of rows: one array
// between the kernels, where the gradient of a layer norm would store one for each of its pointwise ops.
// CHECK-LABEL: func.func @stored_anyway
// CHECK: %[[P:.*]] = loom.fusion(%arg0, %arg1)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: loom.dot_general
// CHECK-NEXT: loom.yield
// CHECK: loom.fusion({{.*}}%[[P]]{{.*}})
// CHECK: loom.reduce "sum" {{.*}} axes = [1]
// CHECK: loom.reduce "sum" {{.*}} axes = [1]
// CHECK: loom.yield %{{[0-9]+}} : tensor<300x64xf32>
func.func @stored_anyway(%a: tensor<300x8xf32>, %b: tensor<8x64xf32>, %x: tensor<300x64xf32>, %g: tensor<64xf32>) -> (tensor<300x64xf32>, tensor<64xf32>) {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<300x8xf32>, tensor<8x64xf32>) -> tensor<300x64xf32>
  %1 = loom.broadcast %g dims = [1] : (tensor<64xf32>) -> tensor<300x64xf32>
  %2 = loom.mul %0, %1 : tensor<300x64xf32>
  %3 = loom.reduce "sum" %2 axes = [1] : (tensor<300x64xf32>) -> tensor<300xf32>
  %4 = loom.mul %2, %x : tensor<300x64xf32>
  %5 = loom.reduce "sum" %4 axes = [1] : (tensor<300x64xf32>) -> tensor<300xf32>
  %6 = loom.broadcast %3 dims = [0] : (tensor<300xf32>) -> tensor<300x64xf32>
  %7 = loom.broadcast %5 dims = [0] : (tensor<300xf32>) -> tensor<300x64xf32>
  %8 = loom.mul %x, %7 : tensor<300x64xf32>
  %9 = loom.sub %2, %6 : tensor<300x64xf32>
  %10 = loom.sub %9, %8 : tensor<300x64xf32>
  %11 = loom.reduce "sum" %0 axes = [0] : (tensor<300x64xf32>) -> tensor<64xf32>
  return %10, %11 : tensor<300x64xf32>, tensor<64xf32>
}

// What checks its indices is computed, though nobody reads it; what clips them is not.
// CHECK-LABEL: @unread_checks(
// CHECK-NOT: "clip"
// CHECK-DAG: loom.gather "raise"
// CHECK-DAG: loom.scatter "set"
// CHECK: return
func.func @unread_checks(%a: tensor<6xf64>, %i: tensor<1xi64>, %u: tensor<1xf64>) -> tensor<6xf64> {
  %0 = loom.gather "raise" %a, %i axis = 0 : (tensor<6xf64>, tensor<1xi64>) -> tensor<1xf64>
  %1 = loom.scatter "set" %a, %i, %u axis = 0 : (tensor<6xf64>, tensor<1xi64>, tensor<1xf64>) -> tensor<6xf64>
  %2 = loom.gather "clip" %a, %i axis = 0 : (tensor<6xf64>, tensor<1xi64>) -> tensor<1xf64>
  %3 = loom.add %a, %a : tensor<6xf64>
  return %3 : tensor<6xf64>
}

// -----

// Many operands: sixteen are put together at a time. Parts that are alike are one.
// CHECK-LABEL: func.func @wide
// CHECK: %[[PART:.*]] = loom.fusion(%arg0)
// CHECK: loom.yield {{.*}} : tensor<128xf32>
// CHECK: loom.concatenate
// CHECK: loom.fusion(
// CHECK-SAME: %[[PART]]
// CHECK: loom.yield {{.*}} : tensor<320xf32>
func.func @wide(%a: tensor<8xf32>) -> tensor<320xf32> {
  %0 = loom.concatenate %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a, %a axis = 0 : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<320xf32>
  return %0 : tensor<320xf32>
}

// -----

// CHECK-LABEL: func.func @wide_of_many
// CHECK: loom.fusion
// CHECK: loom.yield {{.*}}tensor<128xf32>
// CHECK: loom.yield {{.*}}tensor<272xf32>
func.func @wide_of_many(%a0: tensor<8xf32>, %a1: tensor<8xf32>, %a2: tensor<8xf32>, %a3: tensor<8xf32>, %a4: tensor<8xf32>, %a5: tensor<8xf32>, %a6: tensor<8xf32>, %a7: tensor<8xf32>, %a8: tensor<8xf32>, %a9: tensor<8xf32>, %a10: tensor<8xf32>, %a11: tensor<8xf32>, %a12: tensor<8xf32>, %a13: tensor<8xf32>, %a14: tensor<8xf32>, %a15: tensor<8xf32>, %a16: tensor<8xf32>, %a17: tensor<8xf32>, %a18: tensor<8xf32>, %a19: tensor<8xf32>, %a20: tensor<8xf32>, %a21: tensor<8xf32>, %a22: tensor<8xf32>, %a23: tensor<8xf32>, %a24: tensor<8xf32>, %a25: tensor<8xf32>, %a26: tensor<8xf32>, %a27: tensor<8xf32>, %a28: tensor<8xf32>, %a29: tensor<8xf32>, %a30: tensor<8xf32>, %a31: tensor<8xf32>, %a32: tensor<8xf32>, %a33: tensor<8xf32>) -> tensor<272xf32> {
  %0 = loom.concatenate %a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11, %a12, %a13, %a14, %a15, %a16, %a17, %a18, %a19, %a20, %a21, %a22, %a23, %a24, %a25, %a26, %a27, %a28, %a29, %a30, %a31, %a32, %a33 axis = 0 : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<272xf32>
  return %0 : tensor<272xf32>
}

// -----

// Ten reductions in turn would want more loops than a kernel has variables for.
// CHECK-LABEL: func.func @in_turn
// CHECK-COUNT-8: loom.reduce
// CHECK: loom.yield
// CHECK: loom.fusion
// CHECK-COUNT-2: loom.reduce
// CHECK: loom.yield
func.func @in_turn(%v0: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %m0 = loom.reduce "max" %v0 axes = [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
  %b0 = loom.broadcast %m0 dims = [] : (tensor<f32>) -> tensor<4x4xf32>
  %v1 = loom.sub %v0, %b0 : tensor<4x4xf32>
  %m1 = loom.reduce "max" %v1 axes = [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
  %b1 = loom.broadcast %m1 dims = [] : (tensor<f32>) -> tensor<4x4xf32>
  %v2 = loom.sub %v1, %b1 : tensor<4x4xf32>
  %m2 = loom.reduce "max" %v2 axes = [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
  %b2 = loom.broadcast %m2 dims = [] : (tensor<f32>) -> tensor<4x4xf32>
  %v3 = loom.sub %v2, %b2 : tensor<4x4xf32>
  %m3 = loom.reduce "max" %v3 axes = [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
  %b3 = loom.broadcast %m3 dims = [] : (tensor<f32>) -> tensor<4x4xf32>
  %v4 = loom.sub %v3, %b3 : tensor<4x4xf32>
  %m4 = loom.reduce "max" %v4 axes = [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
  %b4 = loom.broadcast %m4 dims = [] : (tensor<f32>) -> tensor<4x4xf32>
  %v5 = loom.sub %v4, %b4 : tensor<4x4xf32>
  %m5 = loom.reduce "max" %v5 axes = [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
  %b5 = loom.broadcast %m5 dims = [] : (tensor<f32>) -> tensor<4x4xf32>
  %v6 = loom.sub %v5, %b5 : tensor<4x4xf32>
  %m6 = loom.reduce "max" %v6 axes = [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
  %b6 = loom.broadcast %m6 dims = [] : (tensor<f32>) -> tensor<4x4xf32>
  %v7 = loom.sub %v6, %b6 : tensor<4x4xf32>
  %m7 = loom.reduce "max" %v7 axes = [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
  %b7 = loom.broadcast %m7 dims = [] : (tensor<f32>) -> tensor<4x4xf32>
  %v8 = loom.sub %v7, %b7 : tensor<4x4xf32>
  %m8 = loom.reduce "max" %v8 axes = [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
  %b8 = loom.broadcast %m8 dims = [] : (tensor<f32>) -> tensor<4x4xf32>
  %v9 = loom.sub %v8, %b8 : tensor<4x4xf32>
  %m9 = loom.reduce "max" %v9 axes = [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
  %b9 = loom.broadcast %m9 dims = [] : (tensor<f32>) -> tensor<4x4xf32>
  %v10 = loom.sub %v9, %b9 : tensor<4x4xf32>
  return %v10 : tensor<4x4xf32>
}

// -----

// What has a size that a host call tells comes behind that call, also where it reads nothing of it: the
// other scalar, which a call before that one reads, has a group of its own.
// CHECK-LABEL: func.func @main
// CHECK: loom.fusion
// CHECK: loom.mul
// CHECK-NOT: loom.reduce
// CHECK: loom.host_call "first"
// CHECK: loom.host_call "second"
// CHECK: loom.fusion
// CHECK: loom.reduce "or"
#size = affine_map<()[s0] -> (s0)>
module attributes {loom.exprs = array<i64: 1, 0, 0, 0>, loom.symbols = array<i64: 0, 1099511627776, 1, 4099>} {
func.func @main(%k: tensor<f64>, %m: tensor<10xi1>, %a: tensor<10xf64>) -> (tensor<?xf64, #size>, tensor<f64>, tensor<i1>) {
  %0 = loom.mul %k, %k : tensor<f64>
  %1 = loom.host_call "first"(%0) effects = "raises" slot = 0 : (tensor<f64>) -> tensor<f64>
  %2:2 = loom.host_call "second"(%a, %m) effects = "raises sizes" slot = 1 : (tensor<10xf64>, tensor<10xi1>) -> (tensor<?xf64, #size>, tensor<i64>)
  %3 = loom.broadcast %k dims = [] : (tensor<f64>) -> tensor<?xf64, #size>
  %a1 = loom.broadcast %0 dims = [] : (tensor<f64>) -> tensor<?xf64, #size>
  %4 = loom.compare "lt" %3, %a1 : (tensor<?xf64, #size>, tensor<?xf64, #size>) -> tensor<?xi1, #size>
  %5 = loom.reduce "or" %4 axes = [0] : (tensor<?xi1, #size>) -> tensor<i1>
  return %2#0, %1, %5 : tensor<?xf64, #size>, tensor<f64>, tensor<i1>
}
}

// -----

// What a scatter applies is computed on the way, elements that it gathers as well; its indices are where each stands for a
// wide update.
// CHECK-LABEL: func.func @scatter_of_rows
// CHECK-COUNT-2: loom.fusion
// CHECK: loom.gather
// CHECK-NEXT: loom.mul
// CHECK: loom.scatter
// CHECK-NOT: loom.fusion
func.func @scatter_of_rows(%z: tensor<50x64xf32>, %x: tensor<50x64xf32>, %i: tensor<200xi64>, %k: tensor<200xi64>) -> tensor<50x64xf32> {
  %0 = loom.gather "raise" %x, %i axis = 0 : (tensor<50x64xf32>, tensor<200xi64>) -> tensor<200x64xf32>
  %1 = loom.mul %0, %0 : tensor<200x64xf32>
  %2 = loom.add %k, %k : tensor<200xi64>
  %3 = loom.scatter "add" %z, %2, %1 axis = 0 : (tensor<50x64xf32>, tensor<200xi64>, tensor<200x64xf32>) -> tensor<50x64xf32>
  return %3 : tensor<50x64xf32>
}

// -----

// Every chunk looks at all indices: those of single elements are computed before.
// CHECK-LABEL: func.func @scatter_of_elements
// CHECK: loom.fusion
// CHECK: loom.rem
// CHECK: loom.fusion
// CHECK: loom.mul
// CHECK: loom.scatter
func.func @scatter_of_elements(%z: tensor<50xf32>, %v: tensor<200xf32>, %k: tensor<200xi64>, %n: tensor<200xi64>) -> tensor<50xf32> {
  %0 = loom.exp %z : tensor<50xf32>
  %1 = loom.mul %v, %v : tensor<200xf32>
  %2 = loom.rem %k, %n : tensor<200xi64>
  %3 = loom.scatter "add" %0, %2, %1 axis = 0 : (tensor<50xf32>, tensor<200xi64>, tensor<200xf32>) -> tensor<50xf32>
  return %3 : tensor<50xf32>
}

// -----

// Nothing that is read elsewhere as well is computed twice, and what is gathered from lies in memory.
// CHECK-LABEL: func.func @scatter_of_shared
// CHECK: loom.fusion
// CHECK: loom.exp
// CHECK: loom.fusion
// CHECK: loom.gather
// CHECK: loom.fusion
// CHECK-NOT: loom.gather
// CHECK: loom.scatter
func.func @scatter_of_shared(%z: tensor<50x64xf32>, %x: tensor<50x64xf32>, %i: tensor<200xi64>) -> (tensor<50x64xf32>, tensor<200x64xf32>) {
  %0 = loom.exp %x : tensor<50x64xf32>
  %1 = loom.gather "raise" %0, %i axis = 0 : (tensor<50x64xf32>, tensor<200xi64>) -> tensor<200x64xf32>
  %2 = loom.scatter "add" %z, %i, %1 axis = 0 : (tensor<50x64xf32>, tensor<200xi64>, tensor<200x64xf32>) -> tensor<50x64xf32>
  return %2, %1 : tensor<50x64xf32>, tensor<200x64xf32>
}

// -----

// What is gathered from is computed before, not for each element that is gathered.
// CHECK-LABEL: func.func @scatter_of_computed
// CHECK: loom.fusion
// CHECK: loom.exp
// CHECK: loom.fusion
// CHECK-NOT: loom.exp
// CHECK: loom.gather
// CHECK: loom.scatter
func.func @scatter_of_computed(%x: tensor<50x64xf32>, %i: tensor<200xi64>) -> tensor<50x64xf32> {
  %z = loom.constant(0.000000e+00 : f32) : tensor<50x64xf32>
  %0 = loom.exp %x : tensor<50x64xf32>
  %1 = loom.gather "raise" %0, %i axis = 0 : (tensor<50x64xf32>, tensor<200xi64>) -> tensor<200x64xf32>
  %2 = loom.scatter "add" %z, %i, %1 axis = 0 : (tensor<50x64xf32>, tensor<200xi64>, tensor<200x64xf32>) -> tensor<50x64xf32>
  return %2 : tensor<50x64xf32>
}

// -----

// A host call gets where its operands begin: an argument stands for its transpose that lies in C order, and for its first
// rows. Columns are copied.
// CHECK-LABEL: func.func @host_views
// CHECK-COUNT-1: loom.copy
// CHECK: loom.host_call "torch"(%arg0, %arg1, %{{.*}})
func.func @host_views(%a: tensor<4x3xf32> {loom.strides = array<i64: 1, 4>}, %b: tensor<4x3xf32>) -> tensor<4xf32> {
  %0 = loom.transpose %a perm = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = loom.slice %b starts = [0, 0] sizes = [2, 3] steps = [1, 1] : (tensor<4x3xf32>) -> tensor<2x3xf32>
  %2 = loom.slice %b starts = [0, 0] sizes = [4, 2] steps = [1, 1] : (tensor<4x3xf32>) -> tensor<4x2xf32>
  %3 = loom.host_call "torch" (%0, %1, %2) effects = "pure raises" slot = 0 : (tensor<3x4xf32>, tensor<2x3xf32>, tensor<4x2xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// What is computed of the result of a short row would be computed without lanes: it has a kernel of its own, whose lanes are the rows.
// CHECK-LABEL: func.func @short_rows
// CHECK: loom.fusion
// CHECK: loom.reduce "sum"
// CHECK: loom.yield
// CHECK: loom.fusion
// CHECK-NEXT: ^bb0
// CHECK-NEXT: loom.log
// CHECK-NEXT: loom.yield
func.func @short_rows(%x: tensor<5000x30xf64>) -> tensor<5000xf64> {
  %0 = loom.mul %x, %x : tensor<5000x30xf64>
  %1 = loom.reduce "sum" %0 axes = [1] : (tensor<5000x30xf64>) -> tensor<5000xf64>
  %2 = loom.log %1 : tensor<5000xf64>
  return %2 : tensor<5000xf64>
}

// -----

// Beside a long row it does not matter; nor in few rows; nor what is cheap.
// CHECK-LABEL: func.func @long_rows
// CHECK: loom.fusion
// CHECK-NOT: loom.fusion
// CHECK-LABEL: func.func @few_rows
// CHECK: loom.fusion
// CHECK-NOT: loom.fusion
// CHECK-LABEL: func.func @cheap_tail
// CHECK: loom.fusion
// CHECK-NOT: loom.fusion
func.func @long_rows(%x: tensor<5000x3000xf64>) -> tensor<5000xf64> {
  %0 = loom.mul %x, %x : tensor<5000x3000xf64>
  %1 = loom.reduce "sum" %0 axes = [1] : (tensor<5000x3000xf64>) -> tensor<5000xf64>
  %2 = loom.log %1 : tensor<5000xf64>
  return %2 : tensor<5000xf64>
}
func.func @few_rows(%x: tensor<50x30xf64>) -> tensor<50xf64> {
  %0 = loom.mul %x, %x : tensor<50x30xf64>
  %1 = loom.reduce "sum" %0 axes = [1] : (tensor<50x30xf64>) -> tensor<50xf64>
  %2 = loom.log %1 : tensor<50xf64>
  return %2 : tensor<50xf64>
}
func.func @cheap_tail(%x: tensor<5000x30xf64>) -> tensor<5000xf64> {
  %0 = loom.mul %x, %x : tensor<5000x30xf64>
  %1 = loom.reduce "sum" %0 axes = [1] : (tensor<5000x30xf64>) -> tensor<5000xf64>
  %2 = loom.sqrt %1 : tensor<5000xf64>
  return %2 : tensor<5000xf64>
}

// -----

// A row that needs its own result is read once: both are in one kernel.
// CHECK-LABEL: func.func @goes_back
// CHECK: loom.fusion
// CHECK-NOT: loom.fusion
func.func @goes_back(%x: tensor<5000x30xf64>) -> tensor<5000x30xf64> {
  %0 = loom.exp %x : tensor<5000x30xf64>
  %1 = loom.reduce "sum" %0 axes = [1] : (tensor<5000x30xf64>) -> tensor<5000xf64>
  %2 = loom.log %1 : tensor<5000xf64>
  %3 = loom.neg %2 : tensor<5000xf64>
  %4 = loom.broadcast %3 dims = [0] : (tensor<5000xf64>) -> tensor<5000x30xf64>
  %5 = loom.add %x, %4 : tensor<5000x30xf64>
  return %5 : tensor<5000x30xf64>
}

// -----

// Arrays that are put together along one axis, and then along another, are read where they lie: nothing but the whole is
// stored. A part that something else reads, too, is stored.
// CHECK-LABEL: func.func @pieces
// CHECK: loom.fusion
// CHECK: loom.concatenate
// CHECK: loom.concatenate
// CHECK: %[[ALL:.*]] = loom.concatenate
// CHECK: loom.yield %[[ALL]] : tensor<5x14xf32>
// CHECK: return
func.func @pieces(%a: tensor<3x4xf32>, %b: tensor<3x10xf32>, %c: tensor<2x7xf32>) -> tensor<5x14xf32> {
  %0 = loom.concatenate %a, %b axis = 1 : (tensor<3x4xf32>, tensor<3x10xf32>) -> tensor<3x14xf32>
  %1 = loom.concatenate %c, %c axis = 1 : (tensor<2x7xf32>, tensor<2x7xf32>) -> tensor<2x14xf32>
  %2 = loom.concatenate %0, %1 axis = 0 : (tensor<3x14xf32>, tensor<2x14xf32>) -> tensor<5x14xf32>
  return %2 : tensor<5x14xf32>
}

// -----

// CHECK-LABEL: func.func @pieces_read
// CHECK: %[[PART:.*]] = loom.fusion
// CHECK: loom.yield {{.*}} : tensor<3x14xf32>
// CHECK: %[[ALL:.*]] = loom.fusion(%[[PART]]
// CHECK: loom.yield {{.*}} : tensor<5x14xf32>
// CHECK: return %[[PART]], %[[ALL]]
func.func @pieces_read(%a: tensor<3x4xf32>, %b: tensor<3x10xf32>, %c: tensor<2x14xf32>) -> (tensor<3x14xf32>, tensor<5x14xf32>) {
  %0 = loom.concatenate %a, %b axis = 1 : (tensor<3x4xf32>, tensor<3x10xf32>) -> tensor<3x14xf32>
  %1 = loom.concatenate %0, %c axis = 0 : (tensor<3x14xf32>, tensor<2x14xf32>) -> tensor<5x14xf32>
  return %0, %1 : tensor<3x14xf32>, tensor<5x14xf32>
}
