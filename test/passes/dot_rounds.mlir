// RUN: %loom-opt %s --loom-schedule --loom-plan --split-input-file | FileCheck %s

// A large right operand, 16 MiB: its panels are packed by rounds in less than a MiB, each round before its chunks. The small left
// one is read where it lies.
// CHECK: loom.kernel @columns
// CHECK-SAME: {{$}}
// CHECK: pack_lhs = false, pack_rhs = true
// CHECK-LABEL: loom.plan @main
// CHECK: %[[SLOTS:.*]] = loom.buffer offset = 0 : memref<{{[0-9][0-9][0-9][0-9][0-9][0-9]}}xi8>
// CHECK-NEXT: loom.launch @columns stage = 0 chunks = [[PANELS:[0-9]+]](
// CHECK-NOT: loom.first
// CHECK: loom.launch @columns stage = 1 chunks = [[CHUNKS:[0-9]+]](
// CHECK: loom.launch @columns stage = 0 chunks = [[PANELS]]({{.*}}%[[SLOTS]]){{.*}} loom.first = [[PANELS]] : i64
// CHECK: loom.launch @columns stage = 1 chunks = [[CHUNKS]]({{.*}}%[[SLOTS]]){{.*}} loom.first = [[CHUNKS]] : i64
// CHECK: arena = {{[0-9][0-9][0-9][0-9][0-9][0-9]}} : i64
module {
  loom.kernel @columns {
  ^bb0(%a: tensor<256x512xf32>, %b: tensor<8000x512xf32>):
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [1] : (tensor<256x512xf32>, tensor<8000x512xf32>) -> tensor<256x8000xf32>
    loom.yield %0 : tensor<256x8000xf32>
  } {strides = [array<i64: 512, 1>, array<i64: 512, 1>, array<i64: 8000, 1>], scalars = array<i64>, inplace = array<i64: -1>}
  func.func @main(%a: tensor<256x512xf32>, %b: tensor<8000x512xf32>) -> tensor<256x8000xf32> {
    %0 = loom.apply @columns(%a, %b) : (tensor<256x512xf32>, tensor<8000x512xf32>) -> tensor<256x8000xf32>
    return %0 : tensor<256x8000xf32>
  }
}

// -----

// Rows that lie across are packed by rounds, beside columns that are packed once.
// CHECK-LABEL: loom.plan @main
// CHECK: loom.launch @rows stage = 0 chunks = [[BOTH:[0-9]+]](
// CHECK-NOT: loom.first
// CHECK: loom.launch @rows stage = 1
// CHECK: loom.launch @rows stage = 0 chunks = [[TILES:[0-9]+]]({{.*}} loom.first = [[BOTH]] : i64
// CHECK-NOT: chunks = [[BOTH]]
module {
  loom.kernel @rows {
  ^bb0(%a: tensor<256x8000xf32>, %b: tensor<512x256xf32>):
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [0] x [1] : (tensor<256x8000xf32>, tensor<512x256xf32>) -> tensor<8000x512xf32>
    loom.yield %0 : tensor<8000x512xf32>
  } {strides = [array<i64: 8000, 1>, array<i64: 256, 1>, array<i64: 512, 1>], scalars = array<i64>, inplace = array<i64: -1>}
  func.func @main(%a: tensor<256x8000xf32>, %b: tensor<512x256xf32>) -> tensor<8000x512xf32> {
    %0 = loom.apply @rows(%a, %b) : (tensor<256x8000xf32>, tensor<512x256xf32>) -> tensor<8000x512xf32>
    return %0 : tensor<8000x512xf32>
  }
}

// -----

// Batches that fit some at a time. What all batches share is packed in the first round; 37 are no multiple of a round.
// CHECK-LABEL: loom.plan @main
// CHECK: loom.launch @batches stage = 0
// CHECK: loom.launch @batches stage = 1 chunks = [[FULL:[0-9]+]](
// CHECK: loom.launch @batches stage = 1 chunks = [[FULL]]({{.*}} loom.first = [[FULL]] : i64
// CHECK: loom.launch @batches stage = 1 chunks = {{[0-9]+}}({{.*}} loom.first
module {
  loom.kernel @batches {
  ^bb0(%a: tensor<37x200x300xf32>, %b: tensor<37x400x300xf32>):
    %0 = loom.dot_general %a, %b batch = [0] x [0] contract = [2] x [2] : (tensor<37x200x300xf32>, tensor<37x400x300xf32>) -> tensor<37x200x400xf32>
    loom.yield %0 : tensor<37x200x400xf32>
  } {strides = [array<i64: 60000, 300, 1>, array<i64: 120000, 300, 1>, array<i64: 80000, 400, 1>], scalars = array<i64>, inplace = array<i64: -1>}
  func.func @main(%a: tensor<37x200x300xf32>, %b: tensor<37x400x300xf32>) -> tensor<37x200x400xf32> {
    %0 = loom.apply @batches(%a, %b) : (tensor<37x200x300xf32>, tensor<37x400x300xf32>) -> tensor<37x200x400xf32>
    return %0 : tensor<37x200x400xf32>
  }
}

// -----

// Of two large operands that are both packed, the rows are packed again for each round of columns: a round has many.
// CHECK: loom.kernel @both
// CHECK: pack_lhs = true, pack_rhs = true
// CHECK-LABEL: loom.plan @main
// Columns and rows together are more than 70 panels, in two launches; 16 are the rows of a round.
// CHECK: loom.launch @both stage = 0 chunks = {{[78][0-9]}}(
// CHECK: loom.launch @both stage = 0 chunks = 16(
// CHECK: loom.launch @both stage = 0 chunks = {{[78][0-9]}}(
// CHECK-NOT: loom.launch @both stage = 0 chunks = {{[2-9][0-9]+}}(
module {
  loom.kernel @both {
  ^bb0(%a: tensor<1000x1000xf64>, %b: tensor<1000x1000xf64>):
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [0] x [0] : (tensor<1000x1000xf64>, tensor<1000x1000xf64>) -> tensor<1000x1000xf64>
    loom.yield %0 : tensor<1000x1000xf64>
  } {strides = [array<i64: 1000, 1>, array<i64: 1000, 1>, array<i64: 1000, 1>], scalars = array<i64>, inplace = array<i64: -1>}
  func.func @main(%a: tensor<1000x1000xf64>, %b: tensor<1000x1000xf64>) -> tensor<1000x1000xf64> {
    %0 = loom.apply @both(%a, %b) : (tensor<1000x1000xf64>, tensor<1000x1000xf64>) -> tensor<1000x1000xf64>
    return %0 : tensor<1000x1000xf64>
  }
}

// -----

// So are those of each matrix of a batch, where one alone is too large.
// CHECK: loom.kernel @batches
// CHECK-LABEL: loom.plan @main
// CHECK: loom.buffer offset = 0 : memref<{{[0-9][0-9][0-9][0-9][0-9][0-9][0-9]?}}xi8>
// CHECK-NEXT: loom.launch @batches stage = 0 chunks = [[PANELS:[0-9]+]](
// CHECK: loom.launch @batches stage = 0 chunks = [[PANELS]]({{.*}} loom.first = [[PANELS]] : i64
// CHECK: arena = {{[0-9][0-9][0-9][0-9][0-9][0-9][0-9]?}} : i64
module {
  loom.kernel @batches {
  ^bb0(%a: tensor<2x256x512xf32>, %b: tensor<2x8000x512xf32>):
    %0 = loom.dot_general %a, %b batch = [0] x [0] contract = [2] x [2] : (tensor<2x256x512xf32>, tensor<2x8000x512xf32>) -> tensor<2x256x8000xf32>
    loom.yield %0 : tensor<2x256x8000xf32>
  } {strides = [array<i64: 131072, 512, 1>, array<i64: 4096000, 512, 1>, array<i64: 2048000, 8000, 1>], scalars = array<i64>, inplace = array<i64: -1>}
  func.func @main(%a: tensor<2x256x512xf32>, %b: tensor<2x8000x512xf32>) -> tensor<2x256x8000xf32> {
    %0 = loom.apply @batches(%a, %b) : (tensor<2x256x512xf32>, tensor<2x8000x512xf32>) -> tensor<2x256x8000xf32>
    return %0 : tensor<2x256x8000xf32>
  }
}
