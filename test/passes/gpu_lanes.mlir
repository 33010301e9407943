// Lane loops of a team: member m begins at vector m, and goes on by as many vectors as the team has members.
// RUN: %loom-opt --loom-lowered %s | FileCheck %s

module attributes {loom.target = "amdgpu"} {
  // A sum: the loop carries its value. Members are 0 to 31, vectors have 4 elements, the step is 128.
  // CHECK-LABEL: func.func private @k0_s0_body(
  // CHECK: scf.if
  // CHECK: %[[START:.*]] = arith.muli %[[MEMBER:.*]], %c4
  // CHECK: %[[LOW:.*]] = arith.addi %{{.*}}, %[[START]]
  // CHECK: scf.for %{{.*}} = %[[LOW]] to %{{.*}} step %c128_i64{{.*}} iter_args(
  // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
  // The first member stores it.
  // CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[MEMBER]], %c0
  // CHECK: scf.if %[[FIRST]] {
  // CHECK-NEXT: llvm.store %{{.*}} : f32, !llvm.ptr
  func.func @main(%x: tensor<16x256xf32>) -> tensor<16xf32> {
    %0 = loom.reduce "sum" %x axes = [1] : (tensor<16x256xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}
