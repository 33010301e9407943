// A product in blocks of batches, the last of which is smaller: fewer chunks are launched than the kernel has.
// RUN: %loom-opt %s --loom-interpret -o /dev/null > %t.graph
// RUN: %loom-opt %s --loom-plans --loom-interpret -o %t.plan > %t.values
// RUN: cmp %t.graph %t.values
// RUN: FileCheck %s --input-file=%t.plan

// CHECK: stages = array<i64: 260, [[ALL:[0-9]+]]>
// CHECK: loom.launch @k0 stage = 1 chunks = 26(
// CHECK: loom.launch @k0 stage = 1 chunks = 8(
// CHECK-SAME: loom.first = 26
// CHECK-NOT: loom.launch
func.func @f(%a: tensor<17x64x128xi32> {loom.strides = array<i64: 8192, 1, 64>}, %b: tensor<17x128x160xi32> {loom.strides = array<i64: 20480, 1, 128>}) -> tensor<17x64x160xi32> {
%0 = loom.dot_general %a, %b batch = [0] x [0] contract = [2] x [1] : (tensor<17x64x128xi32>, tensor<17x128x160xi32>) -> tensor<17x64x160xi32>
return %0 : tensor<17x64x160xi32>
}
