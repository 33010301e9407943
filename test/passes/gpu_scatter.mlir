// Scatters on a GPU: a thread goes through few indices; many are brought into order.
// RUN: %loom-opt --loom-plans %s | FileCheck %s --check-prefix=PLAN
// RUN: %loom-opt --loom-lowered %s | FileCheck %s --check-prefix=CODE

module attributes {loom.target = "nvptx"} {
  // 3000 indices: two tiles, a merge, then 64 threads for each index, of which the first one of a target does the work: it adds up.
  // PLAN-LABEL: ^bb0({{.*}}tensor<40x64xf32>
  // PLAN: slots = 72000 : i64{{.*}} stages = array<i64: 2, 12, 750>
  // CODE-LABEL: func.func private @k1_s2_body(
  // CODE: scf.if
  // CODE: llvm.load %{{.*}} : !llvm.ptr -> i32
  // CODE: scf.if
  // CODE: scf.for {{.*}} iter_args(
  // CODE: llvm.load %{{.*}} : !llvm.ptr -> f32
  // CODE: scf.for {{.*}} iter_args(
  // CODE: arith.addf
  // CODE: llvm.store %{{.*}} : f32, !llvm.ptr
  func.func @main(%x: tensor<40x64xf32>, %i: tensor<3000xi64>, %u: tensor<3000x64xf32>) -> tensor<40x64xf32> {
    %0 = loom.scatter "add" %x, %i, %u axis = 0 : (tensor<40x64xf32>, tensor<3000xi64>, tensor<3000x64xf32>) -> tensor<40x64xf32>
    return %0 : tensor<40x64xf32>
  }
  // Few indices, and indices of elements.
  // PLAN-LABEL: ^bb0({{.*}}tensor<40x128xf32>
  // PLAN: slots = 0 : i64{{.*}} stages = array<i64: 1>
  func.func @few(%x: tensor<40x128xf32>, %i: tensor<5xi64>, %u: tensor<5x128xf32>) -> tensor<40x128xf32> {
    %0 = loom.scatter "set" %x, %i, %u axis = 0 : (tensor<40x128xf32>, tensor<5xi64>, tensor<5x128xf32>) -> tensor<40x128xf32>
    return %0 : tensor<40x128xf32>
  }
  // PLAN-LABEL: ^bb0({{.*}}tensor<1000x40xf32>
  // PLAN: slots = 0 : i64{{.*}} stages = array<i64: 4>
  func.func @along(%x: tensor<1000x40xf32>, %i: tensor<1000x90xi64>, %u: tensor<1000x90xf32>) -> tensor<1000x40xf32> {
    %0 = loom.scatter "add" %x, %i, %u axis = 1 : (tensor<1000x40xf32>, tensor<1000x90xi64>, tensor<1000x90xf32>) -> tensor<1000x40xf32>
    return %0 : tensor<1000x40xf32>
  }
}
