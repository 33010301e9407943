// RUN: %loom-opt %s --loom-fuse --loom-outline --loom-keep --split-input-file | FileCheck %s

// A costly function of constants is a kernel of its own, computed once; so is a product of constants.
// CHECK-LABEL: func.func @costly
// CHECK: %[[SINES:.*]] = loom.apply @{{.*}}(%arg1) {loom.once}
// CHECK: loom.apply @{{.*}}(%arg0, %[[SINES]])
// CHECK-NOT: loom.apply
module attributes {loom.keep} {
  func.func @costly(%x: tensor<64x8xf32>, %t: tensor<64x8xf32> {loom.const}) -> tensor<64x8xf32> {
    %0 = loom.sin %t : tensor<64x8xf32>
    %1 = loom.mul %x, %0 : tensor<64x8xf32>
    return %1 : tensor<64x8xf32>
  }
}

// -----

// CHECK-LABEL: func.func @product
// CHECK: %[[PRODUCT:.*]] = loom.apply @{{.*}}(%arg1, %arg2) {loom.once}
// CHECK: loom.apply @{{.*}}(%[[PRODUCT]], %arg0)
module attributes {loom.keep} {
  func.func @product(%x: tensor<32x32xf32>, %a: tensor<32x16xf32> {loom.const}, %b: tensor<16x32xf32> {loom.const})
      -> tensor<32x32xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0]
        : (tensor<32x16xf32>, tensor<16x32xf32>) -> tensor<32x32xf32>
    %1 = loom.add %0, %x : tensor<32x32xf32>
    return %1 : tensor<32x32xf32>
  }
}

// -----

// Small siblings share a kernel, but not with what is computed once.
// CHECK-LABEL: func.func @siblings
// CHECK-DAG: loom.apply @{{.*}}(%arg1) {loom.once}
// CHECK-DAG: loom.apply @{{.*}}(%arg0)
module attributes {loom.keep} {
  func.func @siblings(%x: tensor<8xf32>, %t: tensor<8xf32> {loom.const}) -> (tensor<8xf32>, tensor<4x8xf32>) {
    %0 = loom.exp %x : tensor<8xf32>
    %1 = loom.exp %t : tensor<8xf32>
    %2 = loom.broadcast %1 dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
    %3 = loom.broadcast %x dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
    %4 = loom.add %2, %3 : tensor<4x8xf32>
    return %0, %4 : tensor<8xf32>, tensor<4x8xf32>
  }
}

// -----

// An operand of a product is computed where it is packed, which is done once.
// CHECK: loom.dot_general {{.*}}loom.constant = array<i64: 1>
// CHECK-LABEL: func.func @packed
// CHECK: loom.apply @{{.*}}(%arg1, %arg0) :
// CHECK-NOT: loom.apply
module attributes {loom.keep} {
  func.func @packed(%x: tensor<300x200xf32>, %w: tensor<200x500xf32> {loom.const}) -> tensor<300x500xf32> {
    %0 = loom.tanh %w : tensor<200x500xf32>
    %1 = loom.dot_general %x, %0 batch = [] x [] contract = [1] x [0]
        : (tensor<300x200xf32>, tensor<200x500xf32>) -> tensor<300x500xf32>
    return %1 : tensor<300x500xf32>
  }
}

// -----

// Not so: what is cheap; what would take far more memory than it is made of; what is returned; where nothing is kept.
// CHECK-LABEL: func.func @cheap
// CHECK: loom.apply
// CHECK-NOT: loom.apply
module attributes {loom.keep} {
  func.func @cheap(%x: tensor<64x8xf32>, %t: tensor<64x8xf32> {loom.const}) -> tensor<64x8xf32> {
    %0 = loom.add %t, %t : tensor<64x8xf32>
    %1 = loom.mul %x, %0 : tensor<64x8xf32>
    return %1 : tensor<64x8xf32>
  }
}

// -----

// CHECK-LABEL: func.func @large
// CHECK: loom.apply
// CHECK-NOT: loom.apply
module attributes {loom.keep} {
  func.func @large(%x: tensor<600x600xf32>, %t: tensor<600xf32> {loom.const}) -> tensor<600x600xf32> {
    %0 = loom.broadcast %t dims = [0] : (tensor<600xf32>) -> tensor<600x600xf32>
    %1 = loom.broadcast %t dims = [1] : (tensor<600xf32>) -> tensor<600x600xf32>
    %2 = loom.atan2 %0, %1 : tensor<600x600xf32>
    %3 = loom.mul %x, %2 : tensor<600x600xf32>
    return %3 : tensor<600x600xf32>
  }
}

// -----

// CHECK-LABEL: func.func @returned
// CHECK: loom.apply
// CHECK-NOT: loom.apply
module attributes {loom.keep} {
  func.func @returned(%x: tensor<64x8xf32>, %t: tensor<64x8xf32> {loom.const}) -> (tensor<64x8xf32>, tensor<64x8xf32>) {
    %0 = loom.sin %t : tensor<64x8xf32>
    %1 = loom.mul %x, %0 : tensor<64x8xf32>
    return %0, %1 : tensor<64x8xf32>, tensor<64x8xf32>
  }
}

// -----

// CHECK-LABEL: func.func @anew
// CHECK: loom.apply
// CHECK-NOT: loom.apply
module {
  func.func @anew(%x: tensor<64x8xf32>, %t: tensor<64x8xf32> {loom.const}) -> tensor<64x8xf32> {
    %0 = loom.sin %t : tensor<64x8xf32>
    %1 = loom.mul %x, %0 : tensor<64x8xf32>
    return %1 : tensor<64x8xf32>
  }
}
