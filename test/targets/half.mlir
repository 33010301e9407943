// bfloat16 and float16 become code without a call of a support function, for x86 and for NVPTX.
// RUN: split-file %s %t
// RUN: %loom-compile --emit=asm %t/bf16.mlir -o %t/bf16.s
// RUN: FileCheck %s --check-prefix=X86 --input-file=%t/bf16.s
// RUN: %loom-compile --emit=asm %t/f16.mlir -o %t/f16.s
// RUN: FileCheck %s --check-prefix=F16C --input-file=%t/f16.s
// RUN: %loom-compile --target=nvptx --emit=asm %t/gpu.mlir -o %t/gpu.ptx
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t/gpu.ptx

//--- bf16.mlir
// X86-NOT: call
// X86: ret
func.func @layer(%x: tensor<64x32xbf16>, %w: tensor<32x16xbf16>, %b: tensor<16xf64>) -> (tensor<64x16xbf16>, tensor<64xbf16>) {
  %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [0] : (tensor<64x32xbf16>, tensor<32x16xbf16>) -> tensor<64x16xbf16>
  %1 = loom.convert %b : (tensor<16xf64>) -> tensor<16xbf16>
  %2 = loom.broadcast %1 dims = [1] : (tensor<16xbf16>) -> tensor<64x16xbf16>
  %3 = loom.add %0, %2 : tensor<64x16xbf16>
  %4 = loom.tanh %3 : tensor<64x16xbf16>
  %5 = loom.reduce "sum" %4 axes = [1] : (tensor<64x16xbf16>) -> tensor<64xbf16>
  return %4, %5 : tensor<64x16xbf16>, tensor<64xbf16>
}
//--- f16.mlir
// Each op is rounded.
// F16C: vcvtph2ps
// F16C: vaddps
// F16C: vcvtps2ph
// F16C: vmulps
// F16C: vcvtps2ph
func.func @chain(%x: tensor<64xf16>, %y: tensor<64xf16>) -> tensor<64xf16> {
  %0 = loom.add %x, %y : tensor<64xf16>
  %1 = loom.mul %0, %y : tensor<64xf16>
  return %1 : tensor<64xf16>
}
//--- gpu.mlir
// PTX: cvt.f32.f16
// PTX: cvt.rn.f16.f32
func.func @chain(%x: tensor<64xf16>, %y: tensor<64xf16>) -> tensor<64xf16> {
  %0 = loom.add %x, %y : tensor<64xf16>
  %1 = loom.exp %0 : tensor<64xf16>
  return %1 : tensor<64xf16>
}
