// The largest element of a row and the sum of the exponentials beneath it are made in one pass.
// RUN: split-file %s %t
// RUN: %loom-opt --loom-lowered %t/long.mlir | FileCheck %s --check-prefix=LONG
// RUN: %loom-opt --loom-lowered %t/other.mlir | FileCheck %s --check-prefix=OTHER

//--- long.mlir
module attributes {loom.target = "nvptx"} {
  // One pass carries the largest element and a vector of sums; shuffles exchange both; the second pass has the results.
  // LONG-LABEL: func.func private @k0_s0_body(
  // LONG: scf.if
  // LONG: scf.for {{.*}} -> (f32, vector<4xf32>)
  // LONG: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
  // LONG: llvm.intr.fma
  // LONG: scf.yield %{{.*}}, %{{.*}} : f32, vector<4xf32>
  // LONG-COUNT-10: call @loom_gpu_shuffle_xor(
  // LONG: call @loom_gpu_barrier(
  // LONG-NOT: scf.for {{.*}} iter_args
  // LONG: scf.for
  // LONG: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
  // LONG: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
  func.func @main(%x: tensor<640x50256xf32>) -> tensor<640x50256xf32> {
    %m = loom.reduce "max" %x axes = [1] : (tensor<640x50256xf32>) -> tensor<640xf32>
    %b = loom.broadcast %m dims = [0] : (tensor<640xf32>) -> tensor<640x50256xf32>
    %0 = loom.sub %x, %b : tensor<640x50256xf32>
    %e = loom.exp %0 : tensor<640x50256xf32>
    %s = loom.reduce "sum" %e axes = [1] : (tensor<640x50256xf32>) -> tensor<640xf32>
    %c = loom.broadcast %s dims = [0] : (tensor<640xf32>) -> tensor<640x50256xf32>
    %1 = loom.div %e, %c : tensor<640x50256xf32>
    return %1 : tensor<640x50256xf32>
  }
}
//--- other.mlir
module attributes {loom.target = "nvptx"} {
  // What is subtracted is another row's largest element: a pass for each.
  // OTHER-LABEL: func.func private @k0_s0_body(
  // OTHER: scf.for {{.*}} -> (vector<4xf32>)
  // OTHER: scf.for {{.*}} -> (vector<4xf32>)
  func.func @main(%x: tensor<640x50256xf32>, %y: tensor<640x50256xf32>) -> tensor<640xf32> {
    %m = loom.reduce "max" %x axes = [1] : (tensor<640x50256xf32>) -> tensor<640xf32>
    %b = loom.broadcast %m dims = [0] : (tensor<640xf32>) -> tensor<640x50256xf32>
    %0 = loom.sub %y, %b : tensor<640x50256xf32>
    %e = loom.exp %0 : tensor<640x50256xf32>
    %s = loom.reduce "sum" %e axes = [1] : (tensor<640x50256xf32>) -> tensor<640xf32>
    return %s : tensor<640xf32>
  }
}
