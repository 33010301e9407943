// Scans on a GPU: a team shares a row, and the parts of few long rows have blocks of their own.
// RUN: split-file %s %t
// RUN: %loom-opt --loom-plans %t/forms.mlir | FileCheck %s --check-prefix=FORM
// RUN: %loom-opt --loom-lowered %t/warp.mlir | FileCheck %s --check-prefix=WARP
// RUN: %loom-opt --loom-lowered %t/parts.mlir > %t/parts.lowered.mlir
// RUN: FileCheck %s --check-prefix=PARTS < %t/parts.lowered.mlir
// RUN: %loom-run --target=sim --order=1 %t/parts.lowered.mlir | FileCheck %s --check-prefix=RIGHT
// RUN: %python %S/inputs/without.py %t/parts.lowered.mlir loom_gpu_barrier 1 > %t/first.mlir
// RUN: not %loom-run --target=sim --order=1 %t/first.mlir 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: %python %S/inputs/without.py %t/parts.lowered.mlir loom_gpu_barrier 2 > %t/second.mlir
// RUN: not %loom-run --target=sim --order=1 %t/second.mlir 2>&1 | FileCheck %s --check-prefix=SECOND

//--- forms.mlir
module attributes {loom.target = "nvptx"} {
  // FORM-LABEL: ^bb0({{.*}}tensor<300x64xf32>
  // FORM: team = 32 : i64, units = 8 : i64, width = 1 : i64}{{.*}} stages = array<i64: 38>
  func.func @rows(%x: tensor<300x64xf32>) -> tensor<300x64xf32> {
    %0 = loom.scan "sum" %x axis = 1 : tensor<300x64xf32>
    return %0 : tensor<300x64xf32>
  }
  // 256 parts of a row at most, in two stages; 8 bytes of slots for each part.
  // FORM-LABEL: ^bb0({{.*}}tensor<2x90000000xf32>
  // FORM: split_size = 351744 : i64, splits = 256 : i64,{{.*}} team = 256 : i64, units = 1 : i64, width = 1 : i64}{{.*}} slots = 4096 : i64, stages = array<i64: 512, 512>
  func.func @long(%x: tensor<2x90000000xf32>) -> tensor<2x90000000xf32> {
    %0 = loom.scan "sum" %x axis = 1 : tensor<2x90000000xf32>
    return %0 : tensor<2x90000000xf32>
  }
  // Many columns have a thread each, few ones a team.
  // FORM-LABEL: ^bb0({{.*}}tensor<300x2048xf32>
  // FORM-NOT: team
  func.func @columns(%x: tensor<300x2048xf32>) -> tensor<300x2048xf32> {
    %0 = loom.scan "sum" %x axis = 0 : tensor<300x2048xf32>
    return %0 : tensor<300x2048xf32>
  }
  // FORM-LABEL: ^bb0({{.*}}tensor<300x40xf32>
  // FORM: team = 32 : i64, units = 8 : i64
  func.func @few(%x: tensor<300x40xf32>) -> tensor<300x40xf32> {
    %0 = loom.scan "sum" %x axis = 0 : tensor<300x40xf32>
    return %0 : tensor<300x40xf32>
  }
  // Half floats are rounded after each element.
  // FORM-LABEL: ^bb0({{.*}}tensor<3x900xf16>
  // FORM-NOT: team
  func.func @half(%x: tensor<3x900xf16>) -> tensor<3x900xf16> {
    %0 = loom.scan "sum" %x axis = 1 : tensor<3x900xf16>
    return %0 : tensor<3x900xf16>
  }
}
//--- warp.mlir
module attributes {loom.target = "nvptx"} {
  // WARP-LABEL: func.func private @k0_s0_body(
  // WARP: scf.for %{{.*}} step %c32_i64{{.*}} iter_args(
  // WARP-COUNT-5: call @loom_gpu_shuffle_xor(
  // WARP-NOT: {{shuffle|barrier}}
  // WARP: scf.if
  // WARP: llvm.store %{{.*}} : f32, !llvm.ptr
  // WARP: passthrough = {{\[\[}}"loom-gpu-threads", "256"]]
  func.func @main(%x: tensor<30x100xf32>) -> tensor<30x100xf32> {
    %0 = loom.scan "sum" %x axis = 1 : tensor<30x100xf32>
    return %0 : tensor<30x100xf32>
  }
}
//--- parts.mlir
module attributes {loom.target = "sim", loom.check} {
  // The first stage stores what each part has, the second one begins with the parts before its own. Each barrier is needed.
  // PARTS-LABEL: func.func private @k0_s0_body(
  // PARTS-COUNT-2: call @loom_gpu_barrier(
  // PARTS-NOT: barrier
  // PARTS-LABEL: func.func private @k0_s1_body(
  // PARTS-COUNT-4: call @loom_gpu_barrier(
  // RIGHT: main 0: int32[8200] 0 1 3 6 10
  // FIRST: in kernel k0_s0, {{.*}}: {{.*}}{{reads shared memory that nobody has written|a race: }}
  // SECOND: in kernel k0_s0, {{.*}}: a race: thread
  func.func @main(%x: tensor<8200xi32>) -> tensor<8200xi32> {
    %0 = loom.scan "sum" %x axis = 0 : tensor<8200xi32>
    return %0 : tensor<8200xi32>
  }
}
