loom.plan @p {
^bb0(%a: memref<4xf32>, %r: memref<4xf32>):
  loom.launch @k stage = 0 chunks = 1(%a, %r) scalars() {fp = 0 : i64, scratch = 0 : i64} : (memref<4xf32>, memref<4xf32>) -> ()
} {arena = 0 : i64, consts = array<i64>, inputs = 1 : i64}
// -----
loom.plan @p {
^bb0(%a: memref<4xf32>, %r: memref<4xf32>):
  loom.call_host "f" slot = 0 reads = 1 (%a, %r) : (memref<4xf32>, memref<4xf32>) -> ()
} {arena = 0 : i64, consts = array<i64>, inputs = 1 : i64}
// -----
loom.kernel @k {
^bb0(%a: tensor<4xf32>):
  %0 = loom.neg %a : tensor<4xf32>
  loom.yield %0 : tensor<4xf32>
} {fp = 0 : i64, inplace = array<i64: -1>, scalars = array<i64>, stages = array<i64: 1>, strides = [array<i64: 1>, array<i64: 2>]}
loom.plan @p {
^bb0(%a: memref<4xf32>, %r: memref<4xf32>):
  loom.launch @k stage = 0 chunks = 1(%a, %r) scalars() {fp = 0 : i64, scratch = 0 : i64} : (memref<4xf32>, memref<4xf32>) -> ()
} {arena = 0 : i64, consts = array<i64>, inputs = 1 : i64}
// -----
loom.kernel @k {
^bb0(%a: tensor<4xf32>):
  %0 = loom.neg %a : tensor<4xf32>
  loom.yield %0 : tensor<4xf32>
} {fp = 0 : i64, inplace = array<i64: -1>, scalars = array<i64>, strides = [array<i64: 2>, array<i64: 1>]}
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = loom.apply @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
func.func @k_s0(%a: !llvm.ptr, %b: i64) {
  return
}
// -----
loom.plan @p {
^bb0(%a: memref<?xf32>, %r: memref<?xf32>):
  loom.copy_buffer %a to %r : memref<?xf32>, memref<?xf32>
} {arena = 0 : i64, consts = array<i64>, inputs = 1 : i64}
// -----
loom.plan @p {
^bb0(%a: memref<4xf32>, %n: memref<i64>, %r: memref<4xf32>):
  loom.run "for" [@none] carry = [0] reads = 2 (%n, %a, %r) : (memref<i64>, memref<4xf32>, memref<4xf32>) -> ()
} {arena = 0 : i64, consts = array<i64>, inputs = 2 : i64}
