// A product of bfloat16 in code for a CPU with AMX, with AVX-512's dot products of pairs, and with neither. Code for another process
// never uses AMX unless it is asked for by name.
// RUN: %loom-compile --mcpu=x86-64-v4-amx --emit=asm %s -o - | FileCheck %s --check-prefix=AMX
// RUN: %loom-compile --mcpu=x86-64-v4-bf16 --emit=asm %s -o - | FileCheck %s --check-prefix=BF16
// RUN: %loom-compile --mcpu=x86-64-v4 --emit=asm %s -o - | FileCheck %s --check-prefix=NEITHER
// RUN: %loom-compile --mcpu=x86-64-v3 --emit=asm %s -o - | FileCheck %s --check-prefix=NEITHER

// AMX: ldtilecfg
// AMX: tdpbf16ps
// AMX: tilestored
// AMX: tilerelease
// BF16-NOT: tdpbf16ps
// BF16: vdpbf16ps {{.*}}{1to16}
// BF16-NOT: tdpbf16ps
// NEITHER-NOT: dpbf16ps
// NEITHER: vfmadd
// NEITHER-NOT: dpbf16ps
func.func @f(%x: tensor<64x96xbf16>, %y: tensor<96x64xbf16>) -> tensor<64x64xbf16> {
  %0 = loom.convert %x : (tensor<64x96xbf16>) -> tensor<64x96xf32>
  %1 = loom.convert %y : (tensor<96x64xbf16>) -> tensor<96x64xf32>
  %2 = loom.dot_general %0, %1 batch = [] x [] contract = [1] x [0] : (tensor<64x96xf32>, tensor<96x64xf32>) -> tensor<64x64xf32>
  %3 = loom.convert %2 : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  return %3 : tensor<64x64xbf16>
}
