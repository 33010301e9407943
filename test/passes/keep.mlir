// RUN: %loom-opt %s --loom-fuse --loom-outline --loom-keep --split-input-file | FileCheck %s
// RUN: %loom-opt %s --loom-fuse --loom-outline --loom-keep --loom-schedule --loom-plan --split-input-file | FileCheck %s --check-prefix=PLAN

// What is made of constants alone is made once; a product packs an operand that is computed of them in its kernel once.
// CHECK: loom.kernel @k0
// CHECK: loom.kernel @k1
// CHECK: loom.dot_general {{.*}}loom.constant = array<i64: 1>
// CHECK: loom.apply @k0(%{{.*}}) {loom.once}
// CHECK: loom.apply @k1(%{{.*}}, %{{.*}}) :

// The first launches go where `once` says; what they write is kept. The product's slots hold its left operand alone.
// PLAN: %[[SUMS:.*]] = loom.buffer offset = 0 {loom.kept = 0 : i64} : memref<200x500xf32>
// PLAN: loom.launch @k0 stage = 0 {{.*}}loom.once
// PLAN: %[[PACKED:.*]] = loom.buffer offset = 0 {loom.kept = {{.*}}} : memref<{{[0-9]+}}xi8>
// PLAN: loom.launch @k1 stage = 0 chunks = {{[0-9]+}}(%{{.*}}, %[[SUMS]], %{{.*}}, %[[PACKED]]) {{.*}}loom.once
// PLAN: loom.launch @k1 stage = 1
// PLAN-NOT: loom.once,
module attributes {loom.keep} {
  func.func @once(%x: tensor<300x200xf32>, %w: tensor<200x500x8xf32> {loom.const}) -> tensor<300x500xf32> {
    %0 = loom.reduce "sum" %w axes = [2] : (tensor<200x500x8xf32>) -> tensor<200x500xf32>
    %1 = loom.dot_general %x, %0 batch = [] x [] contract = [1] x [0]
        : (tensor<300x200xf32>, tensor<200x500xf32>) -> tensor<300x500xf32>
    return %1 : tensor<300x500xf32>
  }
}

// -----

// Two products of one kernel, one with a constant operand: a kernel for each.
// CHECK-LABEL: func.func @shared
// PLAN-LABEL: loom.plan @shared
// CHECK: loom.apply @[[A:k[0-9_v]*]](%arg0, %arg1)
// CHECK-NOT: loom.apply @[[A]](
// CHECK: loom.apply @{{k[0-9_v]*}}(%arg0, %arg2)
module attributes {loom.keep} {
  func.func @shared(%x: tensor<300x200xf32>, %w: tensor<200x500xf32> {loom.const}, %v: tensor<200x500xf32>)
      -> (tensor<300x500xf32>, tensor<300x500xf32>) {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [0]
        : (tensor<300x200xf32>, tensor<200x500xf32>) -> tensor<300x500xf32>
    %1 = loom.dot_general %x, %v batch = [] x [] contract = [1] x [0]
        : (tensor<300x200xf32>, tensor<200x500xf32>) -> tensor<300x500xf32>
    return %0, %1 : tensor<300x500xf32>, tensor<300x500xf32>
  }
}

// -----

// A value that is returned is made in each call, as is what has another operand; without `loom.keep` everything is.
// CHECK-LABEL: func.func @returned
// CHECK-NOT: loom.once
// PLAN-LABEL: loom.plan @returned
// PLAN-NOT: loom.kept
module attributes {loom.keep} {
  func.func @returned(%x: tensor<64xf32>, %w: tensor<64x64xf32> {loom.const}) -> (tensor<64xf32>, tensor<64x64xf32>) {
    %0 = loom.reduce "sum" %w axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
    %1 = loom.exp %w : tensor<64x64xf32>
    return %0, %1 : tensor<64xf32>, tensor<64x64xf32>
  }
}

// -----

// CHECK-LABEL: func.func @without
// CHECK-NOT: loom.once
module {
  func.func @without(%x: tensor<300x200xf32>, %w: tensor<200x500x8xf32> {loom.const}) -> tensor<300x500xf32> {
    %0 = loom.reduce "sum" %w axes = [2] : (tensor<200x500x8xf32>) -> tensor<200x500xf32>
    %1 = loom.dot_general %x, %0 batch = [] x [] contract = [1] x [0]
        : (tensor<300x200xf32>, tensor<200x500xf32>) -> tensor<300x500xf32>
    return %1 : tensor<300x500xf32>
  }
}

// -----

// What loom-regions made of a loop's body keeps nothing of its own: its plan is a part of another.
// CHECK-LABEL: func.func @around
// CHECK: loom.apply @{{.*}}loom.once
// CHECK-LABEL: func.func @body
// CHECK-NOT: loom.once
// CHECK-NOT: loom.constant
// PLAN-LABEL: module attributes
// PLAN: loom.plan @around
// PLAN: loom.plan @body
// PLAN-NOT: loom.once
module attributes {loom.keep} {
  func.func @around(%x: tensor<300x200xf32>, %w: tensor<200x500x8xf32> {loom.const}) -> tensor<300x500xf32> {
    %0 = loom.reduce "sum" %w axes = [2] : (tensor<200x500x8xf32>) -> tensor<200x500xf32>
    %1 = loom.dot_general %x, %0 batch = [] x [] contract = [1] x [0]
        : (tensor<300x200xf32>, tensor<200x500xf32>) -> tensor<300x500xf32>
    return %1 : tensor<300x500xf32>
  }
  func.func @body(%x: tensor<300x200xf32>) -> tensor<300x500xf32> attributes {loom.region} {
    %0 = loom.constant(2.0 : f32) : tensor<200x500xf32>
    %1 = loom.dot_general %x, %0 batch = [] x [] contract = [1] x [0]
        : (tensor<300x200xf32>, tensor<200x500xf32>) -> tensor<300x500xf32>
    return %1 : tensor<300x500xf32>
  }
}

// -----

// Much more than it is made of is made in each call, of what is kept: memory is dearer than the work.
// CHECK-LABEL: func.func @large
// PLAN-LABEL: loom.plan @large
// CHECK: %[[ROW:.*]] = loom.apply @k0(%arg1) {loom.once}
// CHECK: loom.apply @k1(%[[ROW]]) :
// CHECK-NOT: loom.once
module attributes {loom.keep} {
  func.func @large(%x: tensor<1024x1024xf32>, %w: tensor<1024xf32> {loom.const}) -> tensor<1024x1024xf32> {
    %0 = loom.scan "sum" %w axis = 0 : tensor<1024xf32>
    %1 = loom.broadcast %0 dims = [1] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
    %2 = loom.scan "sum" %1 axis = 0 : tensor<1024x1024xf32>
    %3 = loom.dot_general %x, %2 batch = [] x [] contract = [1] x [0]
        : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    return %3 : tensor<1024x1024xf32>
  }
}

// -----

// What is returned through a reshape is returned.
// CHECK-LABEL: func.func @reshaped
// PLAN-LABEL: loom.plan @reshaped
// CHECK-NOT: loom.once
module attributes {loom.keep} {
  func.func @reshaped(%w: tensor<64x64xf32> {loom.const}) -> tensor<8x8xf32> {
    %0 = loom.reduce "sum" %w axes = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
    %1 = loom.reshape %0 : (tensor<64xf32>) -> tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
}

// -----

// What a kernel updates in place changes from call to call, and is made again for each.
// CHECK-LABEL: func.func @updated
// PLAN-LABEL: loom.plan @updated
// CHECK-NOT: loom.once
module attributes {loom.keep} {
  func.func @updated(%i: tensor<3xi64>, %u: tensor<3x64xf32>, %w: tensor<64x64x4xf32> {loom.const}) -> tensor<64xf32> {
    %0 = loom.reduce "sum" %w axes = [2] : (tensor<64x64x4xf32>) -> tensor<64x64xf32>
    %1 = loom.scatter "add" %0, %i, %u axis = 0 : (tensor<64x64xf32>, tensor<3xi64>, tensor<3x64xf32>) -> tensor<64x64xf32>
    %2 = loom.reduce "max" %1 axes = [0] : (tensor<64x64xf32>) -> tensor<64xf32>
    return %2 : tensor<64xf32>
  }
}
