// The last vector of a row of 17 columns has one lane. Its store writes two bytes and no more: the next element is another chunk's.
// RUN: %loom-compile --mcpu=x86-64-v4 --emit=asm %s -o - | FileCheck %s --check-prefixes=CHECK,V4
// RUN: %loom-compile --mcpu=x86-64-v3 --emit=asm %s -o - | FileCheck %s --check-prefixes=CHECK,V3
// CHECK-LABEL: f_k0_s1:
// V4: shrl $16, %{{[a-z0-9]+}}
// V4-NEXT: movw %{{[a-z]+}}, (%
// V3: vpextrw ${{[0-9]}}, %{{xmm[0-9]+}}, (%
// CHECK-NOT: mov{{[lq]}} %{{[a-z0-9]+}}, (%r{{[a-z0-9]+}},%
func.func @f(%a: tensor<3x32x32xbf16>, %b: tensor<3x32x17xbf16>) -> tensor<3x32x17xbf16> {
  %0 = loom.dot_general %a, %b batch = [0] x [0] contract = [2] x [1] : (tensor<3x32x32xbf16>, tensor<3x32x17xbf16>) -> tensor<3x32x17xbf16>
  %1 = loom.neg %0 : tensor<3x32x17xbf16>
  return %1 : tensor<3x32x17xbf16>
}
