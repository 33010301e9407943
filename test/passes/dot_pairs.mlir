// RUN: %loom-opt %s --loom-schedule --split-input-file | FileCheck %s --check-prefix=SCHEDULE
// RUN: %loom-opt %s --loom-schedule --loom-lower --split-input-file | FileCheck %s

// Products of bfloat16 on a CPU with AMX. Both operands are packed as pairs of steps of the depth: of the left one each row (whose
// depth lies side by side, in vectors), of the right one 16 pairs of 16 columns, which change places. Four tiles of sums stay in
// registers; what the registers are like lies behind the sums in scratch (32 * 32 * 4 + 64 bytes).
// SCHEDULE-LABEL: loom.kernel @tiles
// SCHEDULE: mr = 32 : i64, nv = 2 : i64
// SCHEDULE-SAME: pack_lhs = true, pack_rhs = true, pairs = "amx"
// SCHEDULE-SAME: scratch = 4160
// CHECK-LABEL: func.func private @tiles_s0_body
// CHECK: llvm.load {{.*}} -> vector<16xi32>
// CHECK: vector.shuffle
// CHECK-LABEL: func.func private @tiles_s1_body
// CHECK: arith.constant dense<[1, 0, 0, 0, 4194368, 4194368, 4194368, 4194368, 0, 0, 0, 0, 269488144, 269488144, 0, 0]> : vector<16xi32>
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilezero"
// CHECK: scf.for
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK-NOT: tdpbf16ps
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64"
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
module attributes {loom.vector = 64 : i64, loom.matrix = "amx"} {
  loom.kernel @tiles {
  ^bb0(%a: tensor<100x320xbf16>, %b: tensor<200x320xbf16>):
    %0 = loom.convert %a : (tensor<100x320xbf16>) -> tensor<100x320xf32>
    %1 = loom.convert %b : (tensor<200x320xbf16>) -> tensor<200x320xf32>
    %2 = loom.dot_general %0, %1 batch = [] x [] contract = [1] x [1] : (tensor<100x320xf32>, tensor<200x320xf32>) -> tensor<100x200xf32>
    %3 = loom.convert %2 : (tensor<100x200xf32>) -> tensor<100x200xbf16>
    loom.yield %3 : tensor<100x200xbf16>
  } {strides = [array<i64: 320, 1>, array<i64: 320, 1>, array<i64: 200, 1>], scalars = array<i64>, inplace = array<i64: -1>}
}

// -----

// With AVX-512's dot products a register of 16 columns gets what a pair of a row adds. The left operand is read where it lies: its
// depth is whole tiles, and few panels read it.
// SCHEDULE-LABEL: loom.kernel @lanes
// SCHEDULE: mr = 16 : i64, nv = 1 : i64
// SCHEDULE-SAME: pack_lhs = false, pack_rhs = true, pairs = "bf16"
// CHECK-LABEL: func.func private @lanes_s1_body
// CHECK-NOT: tile
// CHECK-COUNT-16: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK-NOT: dpbf16ps
module attributes {loom.vector = 64 : i64, loom.matrix = "bf16"} {
  loom.kernel @lanes {
  ^bb0(%a: tensor<100x64xbf16>, %b: tensor<64x20xbf16>):
    %0 = loom.convert %a : (tensor<100x64xbf16>) -> tensor<100x64xf32>
    %1 = loom.convert %b : (tensor<64x20xbf16>) -> tensor<64x20xf32>
    %2 = loom.dot_general %0, %1 batch = [] x [] contract = [1] x [0] : (tensor<100x64xf32>, tensor<64x20xf32>) -> tensor<100x20xf32>
    loom.yield %2 : tensor<100x20xf32>
  } {strides = [array<i64: 64, 1>, array<i64: 20, 1>, array<i64: 20, 1>], scalars = array<i64>, inplace = array<i64: -1>}
}

// -----

// Not where an operand has other values than bfloat16 (a sum of two was not rounded), where there are fewer columns than a register
// has, or without such a unit.
// SCHEDULE-LABEL: loom.kernel @sum
// SCHEDULE-NOT: pairs
// SCHEDULE-LABEL: loom.kernel @narrow
// SCHEDULE-NOT: pairs
module attributes {loom.vector = 64 : i64, loom.matrix = "amx"} {
  loom.kernel @sum {
  ^bb0(%a: tensor<64x64xbf16>, %b: tensor<64x64xbf16>):
    %0 = loom.convert %a : (tensor<64x64xbf16>) -> tensor<64x64xf32>
    %1 = loom.convert %b : (tensor<64x64xbf16>) -> tensor<64x64xf32>
    %2 = loom.add %0, %1 : tensor<64x64xf32>
    %3 = loom.dot_general %2, %1 batch = [] x [] contract = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    loom.yield %3 : tensor<64x64xf32>
  } {strides = [array<i64: 64, 1>, array<i64: 64, 1>, array<i64: 64, 1>], scalars = array<i64>, inplace = array<i64: -1>}
  loom.kernel @narrow {
  ^bb0(%a: tensor<64x64xbf16>, %b: tensor<64x15xbf16>):
    %0 = loom.convert %a : (tensor<64x64xbf16>) -> tensor<64x64xf32>
    %1 = loom.convert %b : (tensor<64x15xbf16>) -> tensor<64x15xf32>
    %2 = loom.dot_general %0, %1 batch = [] x [] contract = [1] x [0] : (tensor<64x64xf32>, tensor<64x15xf32>) -> tensor<64x15xf32>
    loom.yield %2 : tensor<64x15xf32>
  } {strides = [array<i64: 64, 1>, array<i64: 15, 1>, array<i64: 15, 1>], scalars = array<i64>, inplace = array<i64: -1>}
}

// -----

// SCHEDULE-LABEL: loom.kernel @without
// SCHEDULE-NOT: pairs
module attributes {loom.vector = 64 : i64} {
  loom.kernel @without {
  ^bb0(%a: tensor<64x64xbf16>, %b: tensor<64x64xbf16>):
    %0 = loom.convert %a : (tensor<64x64xbf16>) -> tensor<64x64xf32>
    %1 = loom.convert %b : (tensor<64x64xbf16>) -> tensor<64x64xf32>
    %2 = loom.dot_general %0, %1 batch = [] x [] contract = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    loom.yield %2 : tensor<64x64xf32>
  } {strides = [array<i64: 64, 1>, array<i64: 64, 1>, array<i64: 64, 1>], scalars = array<i64>, inplace = array<i64: -1>}
}
