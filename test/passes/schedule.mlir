// RUN: %loom-opt %s --loom-schedule --split-input-file | FileCheck %s
// RUN: not %loom-opt %S/inputs/schedule-bad.mlir --loom-schedule --split-input-file 2>&1 | FileCheck %s --check-prefix=BAD

// A tiny kernel is one chunk; bodies of bytes end with single elements.
// CHECK-LABEL: loom.kernel @tiny
// CHECK: tail = 2 : i64
// CHECK-SAME: stages = array<i64: 1>
module {
  loom.kernel @tiny {
  ^bb0(%a: tensor<100xi8>):
    %0 = loom.add %a, %a : tensor<100xi8>
    loom.yield %0 : tensor<100xi8>
  } {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}
}

// -----

// Dimensions that every operand steps through alike are one loop: chunks are blocks of it.
// CHECK-LABEL: loom.kernel @folded
// CHECK: tail = 0 : i64
// CHECK-SAME: stages = array<i64: 128>
module {
  loom.kernel @folded {
  ^bb0(%a: tensor<1024x2048xf32>):
    %0 = loom.add %a, %a : tensor<1024x2048xf32>
    loom.yield %0 : tensor<1024x2048xf32>
  } {strides = [array<i64: 2048, 1>, array<i64: 2048, 1>], scalars = array<i64>, inplace = array<i64: -1>}
}

// -----

// Rows enough: one stage. All elements into one: parts into slots, then one chunk joins them.
// CHECK-LABEL: loom.kernel @rows
// CHECK: splits = 0 : i64
// CHECK-SAME: slots = 0 : i64
// CHECK-LABEL: loom.kernel @all
// CHECK: splits = [[N:[0-9]+]] : i64
// CHECK-SAME: slots = {{[1-9][0-9]*}} : i64, stages = array<i64: [[N]], 1>
module {
  loom.kernel @rows {
  ^bb0(%a: tensor<1024x2048xf32>):
    %0 = loom.reduce "sum" %a axes = [1] : (tensor<1024x2048xf32>) -> tensor<1024xf32>
    loom.yield %0 : tensor<1024xf32>
  } {strides = [array<i64: 2048, 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}
  loom.kernel @all {
  ^bb0(%a: tensor<1024x2048xf32>):
    %0 = loom.reduce "sum" %a axes = [0, 1] : (tensor<1024x2048xf32>) -> tensor<f32>
    loom.yield %0 : tensor<f32>
  } {strides = [array<i64: 2048, 1>, array<i64>], scalars = array<i64>, inplace = array<i64: -1>}
}

// -----

// Columns: blocks of them whose sums stay in the first cache, parts of whole groups of rows; many
// chunks join the parts, 256 columns each.
// CHECK-LABEL: loom.kernel @columns
// CHECK: block = 2048 : i64, blocks = 2 : i64, join = 256 : i64
// CHECK-SAME: split_size = 64 : i64, splits = 64 : i64
// CHECK-SAME: stages = array<i64: 128, 16>
module {
  loom.kernel @columns {
  ^bb0(%a: tensor<4096x4096xf32>):
    %0 = loom.reduce "sum" %a axes = [0] : (tensor<4096x4096xf32>) -> tensor<4096xf32>
    loom.yield %0 : tensor<4096xf32>
  } {strides = [array<i64: 4096, 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}
}

// -----

// Rows of three elements: lanes run across them, in blocks. Rows of a hundred: along them.
// CHECK-LABEL: loom.kernel @short
// CHECK: blocks = {{[1-9][0-9]}} : i64
// CHECK-LABEL: loom.kernel @long
// CHECK: blocks = 1 : i64
module {
  loom.kernel @short {
  ^bb0(%a: tensor<300000x3xf32>):
    %0 = loom.reduce "sum" %a axes = [1] : (tensor<300000x3xf32>) -> tensor<300000xf32>
    loom.yield %0 : tensor<300000xf32>
  } {strides = [array<i64: 3, 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}
  loom.kernel @long {
  ^bb0(%a: tensor<10000x100xf32>):
    %0 = loom.reduce "sum" %a axes = [1] : (tensor<10000x100xf32>) -> tensor<10000xf32>
    loom.yield %0 : tensor<10000xf32>
  } {strides = [array<i64: 100, 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}
}

// -----

// A transposed operand gets scratch for its tiles.
// CHECK-LABEL: loom.kernel @turned
// CHECK: scratch = 4096 : i64
module {
  loom.kernel @turned {
  ^bb0(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>):
    %0 = loom.add %a, %b : tensor<64x64xf32>
    loom.yield %0 : tensor<64x64xf32>
  } {strides = [array<i64: 1, 64>, array<i64: 64, 1>, array<i64: 64, 1>], scalars = array<i64>, inplace = array<i64: -1>}
}

// -----

// A short reduction whose operand serves many rows: a panel of it in scratch, 32 rows for each, lanes across.
// Long rows keep their lanes along the reduction.
// CHECK-LABEL: loom.kernel @panel
// CHECK: block = 32 : i64
// CHECK-SAME: scratch = 16384 : i64
// CHECK-SAME: stages = array<i64: 16>
// CHECK-LABEL: loom.kernel @long
// CHECK: scratch = 0 : i64
module {
  loom.kernel @panel {
  ^bb0(%a: tensor<100x256x16xf32>, %b: tensor<100x256x16xf32>):
    %0 = loom.mul %a, %b : tensor<100x256x16xf32>
    %1 = loom.reduce "sum" %0 axes = [2] : (tensor<100x256x16xf32>) -> tensor<100x256xf32>
    loom.yield %1 : tensor<100x256xf32>
  } {strides = [array<i64: 16, 0, 1>, array<i64: 0, 16, 1>, array<i64: 256, 1>], scalars = array<i64>, inplace = array<i64: -1>}
  loom.kernel @long {
  ^bb0(%a: tensor<100x256x160xf32>, %b: tensor<100x256x160xf32>):
    %0 = loom.mul %a, %b : tensor<100x256x160xf32>
    %1 = loom.reduce "sum" %0 axes = [2] : (tensor<100x256x160xf32>) -> tensor<100x256xf32>
    loom.yield %1 : tensor<100x256xf32>
  } {strides = [array<i64: 160, 0, 1>, array<i64: 0, 160, 1>, array<i64: 256, 1>], scalars = array<i64>, inplace = array<i64: -1>}
}

// BAD: error: cannot lower 'loom.kernel': results differ in shape
// BAD: error: cannot lower 'loom.assume_shape': not supported in a group
