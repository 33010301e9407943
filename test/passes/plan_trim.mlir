// RUN: %loom-opt %s --loom-plan --split-input-file | FileCheck %s

// 8 MiB between the first two kernels are dead when 8 MiB of a result are made, which are there to the end: of the
// arena only what the last kernel needs stays.
// CHECK-LABEL: loom.plan @main
// CHECK: loom.launch @wide
// CHECK-NEXT: loom.buffer
// CHECK-NEXT: loom.launch @narrow
// CHECK: loom.trim_arena offset = 0 bytes = 8388608
// CHECK-NEXT: loom.launch @widen
// CHECK: loom.peak = 8454144
loom.kernel @wide {
^bb0(%x: tensor<1024xf32>):
  %1 = loom.broadcast %x dims = [1] : (tensor<1024xf32>) -> tensor<2048x1024xf32>
  loom.yield %1 : tensor<2048x1024xf32>
} {strides = [array<i64: 1>, array<i64: 1024, 1>], scalars = array<i64>, inplace = array<i64: -1>, stages = array<i64: 1>}
loom.kernel @narrow {
^bb0(%x: tensor<2048x1024xf32>):
  %1 = loom.reduce "sum" %x axes = [0] : (tensor<2048x1024xf32>) -> tensor<1024xf32>
  loom.yield %1 : tensor<1024xf32>
} {strides = [array<i64: 1024, 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>, stages = array<i64: 1>}
loom.kernel @widen {
^bb0(%x: tensor<1024xf32>):
  %1 = loom.broadcast %x dims = [1] : (tensor<1024xf32>) -> tensor<2048x1024xf32>
  loom.yield %1 : tensor<2048x1024xf32>
} {strides = [array<i64: 1>, array<i64: 1024, 1>], scalars = array<i64>, inplace = array<i64: -1>, stages = array<i64: 1>}
func.func @main(%a: tensor<1024xf32>) -> (tensor<2048x1024xf32> {loom.lent}) {
  %0 = loom.apply @wide(%a) : (tensor<1024xf32>) -> tensor<2048x1024xf32>
  %1 = loom.apply @narrow(%0) : (tensor<2048x1024xf32>) -> tensor<1024xf32>
  %2 = loom.apply @widen(%1) : (tensor<1024xf32>) -> tensor<2048x1024xf32>
  return %2 : tensor<2048x1024xf32>
}

// -----

// Results that the caller has made before the call: nothing is given back.
// CHECK-LABEL: loom.plan @main
// CHECK-NOT: loom.trim_arena
// CHECK-NOT: loom.peak
loom.kernel @wide {
^bb0(%x: tensor<1024xf32>):
  %1 = loom.broadcast %x dims = [1] : (tensor<1024xf32>) -> tensor<2048x1024xf32>
  loom.yield %1 : tensor<2048x1024xf32>
} {strides = [array<i64: 1>, array<i64: 1024, 1>], scalars = array<i64>, inplace = array<i64: -1>, stages = array<i64: 1>}
loom.kernel @narrow {
^bb0(%x: tensor<2048x1024xf32>):
  %1 = loom.reduce "sum" %x axes = [0] : (tensor<2048x1024xf32>) -> tensor<1024xf32>
  loom.yield %1 : tensor<1024xf32>
} {strides = [array<i64: 1024, 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>, stages = array<i64: 1>}
func.func @main(%a: tensor<1024xf32>) -> (tensor<1024xf32>) {
  %0 = loom.apply @wide(%a) : (tensor<1024xf32>) -> tensor<2048x1024xf32>
  %1 = loom.apply @narrow(%0) : (tensor<2048x1024xf32>) -> tensor<1024xf32>
  return %1 : tensor<1024xf32>
}

// -----

// 2 MiB are less than their page faults are worth.
// CHECK-LABEL: loom.plan @main
// CHECK-NOT: loom.trim_arena
loom.kernel @wide {
^bb0(%x: tensor<1024xf32>):
  %1 = loom.broadcast %x dims = [1] : (tensor<1024xf32>) -> tensor<512x1024xf32>
  loom.yield %1 : tensor<512x1024xf32>
} {strides = [array<i64: 1>, array<i64: 1024, 1>], scalars = array<i64>, inplace = array<i64: -1>, stages = array<i64: 1>}
loom.kernel @narrow {
^bb0(%x: tensor<512x1024xf32>):
  %1 = loom.reduce "sum" %x axes = [0] : (tensor<512x1024xf32>) -> tensor<1024xf32>
  loom.yield %1 : tensor<1024xf32>
} {strides = [array<i64: 1024, 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>, stages = array<i64: 1>}
loom.kernel @widen {
^bb0(%x: tensor<1024xf32>):
  %1 = loom.broadcast %x dims = [1] : (tensor<1024xf32>) -> tensor<512x1024xf32>
  loom.yield %1 : tensor<512x1024xf32>
} {strides = [array<i64: 1>, array<i64: 1024, 1>], scalars = array<i64>, inplace = array<i64: -1>, stages = array<i64: 1>}
func.func @main(%a: tensor<1024xf32>) -> (tensor<512x1024xf32> {loom.lent}) {
  %0 = loom.apply @wide(%a) : (tensor<1024xf32>) -> tensor<512x1024xf32>
  %1 = loom.apply @narrow(%0) : (tensor<512x1024xf32>) -> tensor<1024xf32>
  %2 = loom.apply @widen(%1) : (tensor<1024xf32>) -> tensor<512x1024xf32>
  return %2 : tensor<512x1024xf32>
}
