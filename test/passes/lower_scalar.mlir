// Arithmetic of one op on registers: NumPy's meaning of it for each element type.
// RUN: %loom-opt %s --loom-schedule --loom-lower --split-input-file | FileCheck %s

// Signed integers wrap, are ordered as signed, and shifted by no more than their width.
// CHECK-LABEL: func.func private @signed_s0_body
// CHECK: %[[S:.*]] = arith.addi
// CHECK: arith.cmpi sgt, %[[S]],
// CHECK: %[[FITS:.*]] = arith.cmpi ult
// CHECK: %[[BY:.*]] = arith.select %[[FITS]]
// CHECK: %[[SHIFTED:.*]] = arith.shli %{{.*}}, %[[BY]]
// CHECK: arith.select %[[FITS]], %[[SHIFTED]],
// CHECK-LABEL: func.func @signed_s0(
loom.kernel @signed {
^bb0(%a: tensor<64xi32>, %b: tensor<64xi32>):
  %0 = loom.add %a, %b : tensor<64xi32>
  %1 = loom.max %0, %b : tensor<64xi32>
  %2 = loom.shl %1, %a : tensor<64xi32>
  loom.yield %2 : tensor<64xi32>
} {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// CHECK-LABEL: func.func private @unsigned_s0_body
// CHECK: arith.cmpi ugt
// CHECK: arith.shrui
// CHECK-NOT: arith.shrsi
// CHECK-LABEL: func.func @unsigned_s0(
loom.kernel @unsigned {
^bb0(%a: tensor<64xui32>, %b: tensor<64xui32>):
  %1 = loom.max %a, %b : tensor<64xui32>
  %2 = loom.shr %1, %a : tensor<64xui32>
  loom.yield %2 : tensor<64xui32>
} {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// A division of integers by zero is 0 and raises "divide" (1); the one that overflows raises "overflow" (2). The
// divisor is 1 in such lanes, so that the processor traps on none.
// CHECK-LABEL: func.func private @divided_s0_body
// CHECK: %[[ZERO:.*]] = arith.cmpi eq
// CHECK: %[[ANY:.*]] = "llvm.intr.vector.reduce.or"(%[[ZERO]])
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK: arith.select %[[ANY]], %[[ONE]],
// CHECK: arith.ori
// CHECK: llvm.store
// CHECK: %[[TWO:.*]] = arith.constant 2 : i32
// CHECK: arith.select %{{.*}}, %[[TWO]],
// CHECK: arith.divf {{.*}} : vector<8xf64>
// CHECK: arith.select %[[ZERO]],
// CHECK-LABEL: func.func @divided_s0(
loom.kernel @divided {
^bb0(%a: tensor<64xi32>, %b: tensor<64xi32>):
  %0 = loom.floor_div %a, %b : tensor<64xi32>
  loom.yield %0 : tensor<64xi32>
} {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// Half floats are computed in f32, each op rounded for itself.
// CHECK-LABEL: func.func private @halves_s0_body
// CHECK: %[[S:.*]] = arith.addf {{.*}} : vector<16xf32>
// CHECK-NEXT: %[[H:.*]] = arith.truncf %[[S]]
// CHECK-NEXT: %[[W:.*]] = arith.extf %[[H]]
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[W]],
// CHECK-NEXT: arith.truncf %[[P]]
// CHECK-LABEL: func.func @halves_s0(
loom.kernel @halves {
^bb0(%a: tensor<64xf16>, %b: tensor<64xf16>):
  %0 = loom.add %a, %b : tensor<64xf16>
  %1 = loom.mul %0, %b : tensor<64xf16>
  loom.yield %1 : tensor<64xf16>
} {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// What is exact is not rounded: an operand, its negative, a whole number.
// CHECK-LABEL: func.func private @exact_s0_body
// CHECK: %[[M:.*]] = arith.maximumf {{.*}} : vector<16xf32>
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[M]]
// CHECK-NEXT: %[[F:.*]] = llvm.intr.floor(%[[N]])
// CHECK: arith.truncf %[[F]]
// CHECK-NOT: arith.truncf
// CHECK-LABEL: func.func @exact_s0(
loom.kernel @exact {
^bb0(%a: tensor<64xf16>, %b: tensor<64xf16>):
  %0 = loom.max %a, %b : tensor<64xf16>
  %1 = loom.neg %0 : tensor<64xf16>
  %2 = loom.floor %1 : tensor<64xf16>
  loom.yield %2 : tensor<64xf16>
} {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// Bools: the sum is "or", the product "and"; any byte but 0 is true, and what is computed is 0 or 1.
// CHECK-LABEL: func.func private @bools_s0_body
// CHECK-COUNT-2: arith.cmpi ne, {{.*}} : vector<64xi8>
// CHECK: %[[S:.*]] = arith.ori {{.*}} : vector<64xi1>
// CHECK: %[[P:.*]] = arith.andi %[[S]],
// CHECK: %[[N:.*]] = arith.xori %[[P]],
// CHECK: arith.extui %[[N]]
// CHECK-LABEL: func.func @bools_s0(
loom.kernel @bools {
^bb0(%a: tensor<64xi1>, %b: tensor<64xi1>):
  %0 = loom.add %a, %b : tensor<64xi1>
  %1 = loom.mul %0, %b : tensor<64xi1>
  %2 = loom.not %1 : tensor<64xi1>
  loom.yield %2 : tensor<64xi1>
} {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}

// -----

// fmax takes the other one where one is NaN; an infinity is found by its bits, so that nothing is raised; "ne" holds for
// what is unordered.
// CHECK-LABEL: func.func private @floats_s0_body
// CHECK: %[[MORE:.*]] = arith.cmpf ogt, %[[A:.*]], %[[B:[a-z0-9]+]]
// CHECK: %[[LARGER:.*]] = arith.select %[[MORE]], %[[A]], %[[B]]
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[B]], %[[B]]
// CHECK: %[[MAX:.*]] = arith.select %[[NAN]], %[[A]], %[[LARGER]]
// CHECK: %[[BITS:.*]] = arith.bitcast %[[MAX]]
// CHECK: %[[SIZE:.*]] = arith.andi %[[BITS]],
// CHECK: arith.cmpi eq, %[[SIZE]],
// CHECK: arith.cmpf une, %[[A]], %[[B]]
// CHECK-LABEL: func.func @floats_s0(
loom.kernel @floats {
^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
  %0 = loom.fmax %a, %b : tensor<64xf32>
  %1 = loom.is_inf %0 : (tensor<64xf32>) -> tensor<64xi1>
  %2 = loom.compare "ne" %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %3 = loom.and %1, %2 : tensor<64xi1>
  loom.yield %3 : tensor<64xi1>
} {strides = [array<i64: 1>, array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}
