// RUN: %loom-opt %s --loom-plan --split-input-file --verify-diagnostics | FileCheck %s

// A result that overwrites an operand shares its buffer; slots live for one kernel; outputs are written directly.
// CHECK-LABEL: loom.plan @main
// CHECK-NEXT: ^bb0(%[[A:.*]]: memref<8x4xf32, strided<[1, 8]>>, %[[S:.*]]: tensor<f32>, %[[C:.*]]: memref<4xf32>, %[[O:.*]]: memref<32xf32>):
// CHECK: %[[X:.*]] = loom.buffer offset = 0 : memref<32xf32>
// CHECK: loom.launch @a stage = 0 chunks = 4(%[[A]], %[[X]]) scalars(%[[S]])
// CHECK-NEXT: %[[SLOTS:.*]] = loom.buffer offset = 128 : memref<40xi8>
// CHECK-NEXT: loom.launch @b stage = 0 chunks = 2(%[[X]], %[[C]], %[[X]], %[[SLOTS]]) scalars()
// CHECK-NEXT: loom.launch @b stage = 1 chunks = 1(%[[X]], %[[C]], %[[X]], %[[SLOTS]]) scalars()
// CHECK-NEXT: loom.launch @c stage = 0 chunks = 1(%[[X]], %[[O]])
// CHECK: } {arena = 192 : i64, consts = array<i64: 2>, inputs = 3 : i64}
loom.kernel @a {
^bb0(%x: tensor<8x4xf32>, %s: tensor<f32>):
  %1 = loom.reshape %x : (tensor<8x4xf32>) -> tensor<32xf32>
  loom.yield %1 : tensor<32xf32>
} {strides = [array<i64: 1, 8>, array<i64>, array<i64: 1>], scalars = array<i64: 1>, inplace = array<i64: -1>, stages = array<i64: 4>}
loom.kernel @b {
^bb0(%x: tensor<32xf32>, %c: tensor<4xf32>):
  %1 = loom.neg %x : tensor<32xf32>
  loom.yield %1 : tensor<32xf32>
} {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: 0>, stages = array<i64: 2, 1>, scratch = 128, slots = 40}
loom.kernel @c {
^bb0(%x: tensor<32xf32>):
  loom.yield %x : tensor<32xf32>
} {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>, stages = array<i64: 1>}
func.func @main(%a: tensor<8x4xf32> {loom.strides = array<i64: 1, 8>}, %s: tensor<f32> {loom.scalar},
                %c: tensor<4xf32> {loom.const}) -> tensor<32xf32> {
  %0 = loom.apply @a(%a, %s) : (tensor<8x4xf32>, tensor<f32>) -> tensor<32xf32>
  %1 = loom.apply @b(%0, %c) : (tensor<32xf32>, tensor<4xf32>) -> tensor<32xf32>
  %2 = loom.apply @c(%1) : (tensor<32xf32>) -> tensor<32xf32>
  return %2 : tensor<32xf32>
}

// -----

// A reshape of a result is its buffer; a value returned twice is copied; host calls keep their buffers.
// CHECK-LABEL: loom.plan @main
// CHECK-NEXT: ^bb0(%[[A:.*]]: memref<4xf32>, %[[O:.*]]: memref<2x2xf32>, %[[P:.*]]: memref<2x2xf32>):
// CHECK-NEXT: %[[B:.*]] = loom.buffer offset = 0 : memref<4xf32>
// CHECK-NEXT: loom.call_host "f" slot = 3 reads = 1(%[[A]], %[[B]])
// CHECK: loom.launch @a stage = 0 chunks = 1(%[[B]], %[[O]])
// CHECK: loom.copy_buffer %[[O]] to %[[P]]
loom.kernel @a {
^bb0(%x: tensor<4xf32>):
  %1 = loom.neg %x : tensor<4xf32>
  loom.yield %1 : tensor<4xf32>
} {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>, stages = array<i64: 1>}
func.func @main(%a: tensor<4xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = loom.host_call "f"(%a) effects = "raises" slot = 3 : (tensor<4xf32>) -> tensor<4xf32>
  %1 = loom.apply @a(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = loom.reshape %1 : (tensor<4xf32>) -> tensor<2x2xf32>
  return %2, %2 : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// Bytes are used again when what lay there is dead: three values of 64 bytes in a chain need two places.
// CHECK-LABEL: loom.plan @main
// CHECK: loom.buffer offset = 0
// CHECK: loom.buffer offset = 64
// CHECK: loom.buffer offset = 0
// CHECK: arena = 128
loom.kernel @a {
^bb0(%x: tensor<4x4xf32>):
  %1 = loom.transpose %x perm = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  loom.yield %1 : tensor<4x4xf32>
} {strides = [array<i64: 4, 1>, array<i64: 4, 1>], scalars = array<i64>, inplace = array<i64: -1>, stages = array<i64: 1>}
func.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = loom.apply @a(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = loom.apply @a(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = loom.apply @a(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = loom.apply @a(%2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// -----

func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'loom.neg' has no place in a plan}}
  %0 = loom.neg %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The kernel confirms that its result may lie in the buffer of the argument.
// CHECK-LABEL: loom.plan @main
// CHECK: loom.overwrites = array<i64: 0, -1>
loom.kernel @a {
^bb0(%x: tensor<8xf32>):
  %1 = loom.neg %x : tensor<8xf32>
  loom.yield %1 : tensor<8xf32>
} {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>, loom.overlaps = array<i64: 0>, stages = array<i64: 1>}
loom.kernel @b {
^bb0(%x: tensor<8xf32>):
  %1 = loom.abs %x : tensor<8xf32>
  loom.yield %1 : tensor<8xf32>
} {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>, stages = array<i64: 1>}
func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>)
    -> (tensor<8xf32> {loom.overwrites = 0}, tensor<8xf32> {loom.overwrites = 1}) {
  %0 = loom.apply @a(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = loom.apply @b(%b) : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// All functions are planned, with the regions of each.
// CHECK: loom.plan @first
// CHECK: loom.run "for" [@first_r0]
// CHECK: loom.plan @second
// CHECK: loom.run "for" [@second_r0]
// CHECK: loom.plan @first_r0
// CHECK: loom.plan @second_r0
func.func @first(%n: tensor<i64>, %a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = loom.control "for" [@first_r0] carry = [0](%n, %a) : (tensor<i64>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @second(%n: tensor<i64>, %a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = loom.control "for" [@second_r0] carry = [0](%n, %a) : (tensor<i64>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @first_r0(%i: tensor<i64>, %a: tensor<8xf32>) -> tensor<8xf32> attributes {loom.region} {
  return %a : tensor<8xf32>
}
func.func private @second_r0(%i: tensor<i64>, %a: tensor<8xf32>) -> tensor<8xf32> attributes {loom.region} {
  return %a : tensor<8xf32>
}
