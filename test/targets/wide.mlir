// With AVX-512 an element of a table of 32 floats is found by one instruction, and a number is scaled by a power of two by one:
// the error function takes five of the first kind, what is made of an exponential one of the second. AVX2 has neither.
// RUN: split-file %s %t
// RUN: %loom-compile --mcpu=x86-64-v4 --emit=asm %t/erf.mlir -o - | FileCheck %s --check-prefix=ERF
// RUN: %loom-compile --mcpu=x86-64-v3 --emit=asm %t/erf.mlir -o - | FileCheck %s --check-prefix=NARROW
// RUN: %loom-compile --mcpu=x86-64-v4 --emit=asm %t/logistic.mlir -o - | FileCheck %s --check-prefix=LOGISTIC
// RUN: %loom-compile --mcpu=x86-64-v3 --emit=asm %t/logistic.mlir -o - | FileCheck %s --check-prefix=NARROW
// RUN: %loom-compile --mcpu=x86-64-v4 --emit=asm %t/exp64.mlir -o - | FileCheck %s --check-prefix=EXP64
// RUN: %loom-compile --mcpu=x86-64-v4 --emit=asm %t/bf16.mlir -o - | FileCheck %s --check-prefix=PACKED

//--- erf.mlir
// ERF-LABEL: f_k0_s0:
// ERF-COUNT-5: vperm{{[it]}}2ps {{.*}}%zmm
// ERF-NOT: vperm{{[it]}}2ps
// ERF: retq
// NARROW-LABEL: f_k0_s0:
// NARROW-NOT: vperm{{[it]}}2ps
// NARROW-NOT: vscalef
// NARROW: retq
func.func @f(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = loom.erf %x : tensor<16xf32>
  return %0 : tensor<16xf32>
}
//--- logistic.mlir
// LOGISTIC-LABEL: f_k0_s0:
// LOGISTIC-COUNT-1: vscalefps {{.*}}%zmm
// LOGISTIC: vdivps
// LOGISTIC-NOT: vscalefps
// LOGISTIC: retq
func.func @f(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = loom.logistic %x : tensor<16xf32>
  return %0 : tensor<16xf32>
}
//--- exp64.mlir
// Of two registers.
// EXP64-LABEL: f_k0_s0:
// EXP64-COUNT-2: vscalefpd {{.*}}%zmm
// EXP64-NOT: vscalefpd
// EXP64: retq
func.func @f(%x: tensor<16xf64>) -> tensor<16xf64> {
  %0 = loom.exp %x : tensor<16xf64>
  return %0 : tensor<16xf64>
}
//--- bf16.mlir
// The upper halves of two registers of floats become one of bfloat16.
// PACKED-LABEL: f_k0_s0:
// PACKED: vperm{{[it]}}2w
// PACKED-NOT: vpmovdw
// PACKED: retq
func.func @f(%x: tensor<32xbf16>) -> tensor<32xbf16> {
  %0 = loom.mul %x, %x : tensor<32xbf16>
  return %0 : tensor<32xbf16>
}
