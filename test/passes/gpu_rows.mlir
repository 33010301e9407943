// Passes over a row are written out where it stays in registers.
// RUN: split-file %s %t
// RUN: %loom-opt --loom-lowered %t/softmax.mlir | FileCheck %s --check-prefix=SOFTMAX
// RUN: %loom-opt --loom-lowered %t/once.mlir | FileCheck %s --check-prefix=ONCE
// RUN: %loom-opt --loom-lowered %t/long.mlir | FileCheck %s --check-prefix=LONG
// RUN: %loom-opt --loom-lowered %t/inside.mlir > %t/inside.lowered.mlir
// RUN: %loom-run --target=sim %t/inside.lowered.mlir | FileCheck %s --check-prefix=RIGHT
// RUN: sed 's/arith.cmpi slt, %\([0-9]*\), %c33_i64\([_0-9]*\) :/arith.cmpi sle, %\1, %c33_i64\2 :/' %t/inside.lowered.mlir > %t/inside.wrong.mlir
// RUN: not %loom-run --target=sim %t/inside.wrong.mlir 2>&1 | FileCheck %s --check-prefix=WRONG

//--- softmax.mlir
module attributes {loom.target = "nvptx"} {
  // Two rounds of 32 threads with 4 elements. In the second one threads from the 18th on are outside: they load nothing, leave
  // what is carried as it is, and store nothing. The results are made of what the passes before have.
  // SOFTMAX-LABEL: func.func private @k0_s0_body(
  // SOFTMAX: scf.if
  // SOFTMAX-NOT: scf.for
  // SOFTMAX: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
  // SOFTMAX: %[[INSIDE:.*]] = arith.cmpi slt
  // SOFTMAX: %[[LAST:.*]] = scf.if %[[INSIDE]] -> (vector<4xf32>) {
  // SOFTMAX: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
  // SOFTMAX: } else {
  // SOFTMAX: arith.select %[[INSIDE]], %{{.*}}, %{{.*}} : vector<4xf32>
  // SOFTMAX-COUNT-10: call @loom_gpu_shuffle_xor(
  // SOFTMAX-NOT: llvm.load
  // SOFTMAX: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
  // SOFTMAX-NOT: llvm.load
  // SOFTMAX: scf.if
  // SOFTMAX: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
  // Single elements have loops.
  // SOFTMAX: scf.if
  // SOFTMAX: scf.for
  // SOFTMAX: scf.for
  func.func @main(%x: tensor<40x200xf32>) -> tensor<40x200xf32> {
    %m = loom.reduce "max" %x axes = [1] : (tensor<40x200xf32>) -> tensor<40xf32>
    %b = loom.broadcast %m dims = [0] : (tensor<40xf32>) -> tensor<40x200xf32>
    %0 = loom.sub %x, %b : tensor<40x200xf32>
    %e = loom.exp %0 : tensor<40x200xf32>
    %s = loom.reduce "sum" %e axes = [1] : (tensor<40x200xf32>) -> tensor<40xf32>
    %c = loom.broadcast %s dims = [0] : (tensor<40xf32>) -> tensor<40x200xf32>
    %1 = loom.div %e, %c : tensor<40x200xf32>
    return %1 : tensor<40x200xf32>
  }
}
//--- once.mlir
module attributes {loom.target = "nvptx"} {
  // A row that is gone through once has a loop.
  // ONCE-LABEL: func.func private @k0_s0_body(
  // ONCE: scf.for
  func.func @main(%x: tensor<40x200xf32>) -> tensor<40xf32> {
    %s = loom.reduce "sum" %x axes = [1] : (tensor<40x200xf32>) -> tensor<40xf32>
    return %s : tensor<40xf32>
  }
}
//--- long.mlir
module attributes {loom.target = "nvptx"} {
  // So has one of more elements than fit.
  // LONG-LABEL: func.func private @k0_s0_body(
  // LONG: scf.for
  func.func @main(%x: tensor<1000x40000xf32>) -> tensor<1000x40000xf32> {
    %s = loom.reduce "sum" %x axes = [1] : (tensor<1000x40000xf32>) -> tensor<1000xf32>
    %b = loom.broadcast %s dims = [0] : (tensor<1000xf32>) -> tensor<1000x40000xf32>
    %0 = loom.div %x, %b : tensor<1000x40000xf32>
    return %0 : tensor<1000x40000xf32>
  }
}
//--- inside.mlir
module attributes {loom.target = "sim", loom.check} {
  // 33 elements: of the second round only the first thread has one. Where the thread behind it takes one, too, that is told.
  // RIGHT: main 0: float32[3x33] -528 -527
  // WRONG: in kernel k0_s0
  func.func @main(%x: tensor<3x33xf32>) -> tensor<3x33xf32> {
    %s = loom.reduce "sum" %x axes = [1] : (tensor<3x33xf32>) -> tensor<3xf32>
    %b = loom.broadcast %s dims = [0] : (tensor<3xf32>) -> tensor<3x33xf32>
    %0 = loom.sub %x, %b : tensor<3x33xf32>
    return %0 : tensor<3x33xf32>
  }
}
