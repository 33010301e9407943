// Updates in place on a GPU: a thread an element; several updates are one block's, with a barrier between two.
// RUN: %loom-opt --loom-plans %s | FileCheck %s --check-prefix=PLAN
// RUN: %loom-opt --loom-lowered %s | FileCheck %s --check-prefix=CODE

module attributes {loom.target = "nvptx"} {
  // PLAN-LABEL: ^bb0({{.*}}tensor<16x100xf32>
  // PLAN: stages = array<i64: 7>
  // CODE-LABEL: func.func private @k1_s0_body(
  // CODE: call @loom_gpu_thread()
  // CODE-NOT: barrier
  // CODE: scf.if
  // CODE: llvm.store %{{.*}} : f32, !llvm.ptr
  func.func @main(%x: tensor<512x512xf32>, %u: tensor<16x100xf32>) -> tensor<512x512xf32> {
    %e = loom.neg %x : tensor<512x512xf32>
    %0 = loom.update_slice %e, %u starts = [3, 0] steps = [1, 1] : (tensor<512x512xf32>, tensor<16x100xf32>) -> tensor<512x512xf32>
    return %0 : tensor<512x512xf32>
  }
  // CODE-LABEL: func.func private @k2_s0_body(
  // CODE: scf.for
  // CODE: call @loom_gpu_barrier(
  // CODE: scf.for
  // CODE-NOT: barrier
  // CODE: func.func @k2_s0
  func.func @several(%x: tensor<512x512xf32>, %u: tensor<1x512xf32>, %v: tensor<1x512xf32>) -> tensor<512x512xf32> {
    %e = loom.neg %x : tensor<512x512xf32>
    %0 = loom.update_slice %e, %u starts = [3, 0] steps = [1, 1] : (tensor<512x512xf32>, tensor<1x512xf32>) -> tensor<512x512xf32>
    %1 = loom.update_slice %0, %v starts = [5, 0] steps = [1, 1] : (tensor<512x512xf32>, tensor<1x512xf32>) -> tensor<512x512xf32>
    return %1 : tensor<512x512xf32>
  }
}
