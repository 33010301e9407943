; Halves are converted in whole vectors, of which no lane is unset, and computed with as floats. None is put into a register whose
; other lanes stay as they were (vpinsrw).
;
; RUN: %build/bin/flags-test halves %s | FileCheck %s
; RUN: %build/bin/flags-test halves %s | llc -mcpu=x86-64-v3 | FileCheck %s --check-prefix=ASM --implicit-check-not='vpinsrw $0, ('
; RUN: %build/bin/flags-test halves %s | llc -mcpu=x86-64-v4 | FileCheck %s --check-prefix=ASM --implicit-check-not='vpinsrw $0, ('

; CHECK-LABEL: @product(
; CHECK: call <8 x half> @llvm.arithmetic.fence.v8f16(
; CHECK: fpext <4 x half> %{{.*}} to <4 x float>
; CHECK: call <8 x half> @llvm.arithmetic.fence.v8f16(
; CHECK: fpext <4 x half> %{{.*}} to <4 x float>
; CHECK: %[[P:.*]] = fmul float
; CHECK: insertelement <1 x float> poison, float %[[P]]
; CHECK: call <4 x float> @llvm.arithmetic.fence.v4f32(
; CHECK: fptrunc <4 x float> %{{.*}} to <4 x half>
; CHECK: ret half
; ASM-LABEL: product:
; ASM: vpbroadcastw (%rdi), %xmm0
; ASM: vpbroadcastw (%rsi), %xmm1
; ASM: vmulss
; ASM: vbroadcastss
; ASM: vcvtps2ph
define half @product(ptr %x, ptr %y) {
  %a = load half, ptr %x
  %b = load half, ptr %y
  %r = fmul half %a, %b
  ret half %r
}

; Two of them.
; CHECK-LABEL: @pair(
; CHECK: shufflevector <2 x half> %x, <2 x half> poison, <8 x i32> <i32 0, i32 1, i32 0, i32 1, i32 0, i32 1, i32 0, i32 1>
; CHECK: fpext <4 x half>
; CHECK: call <2 x float> @llvm.roundeven.v2f32(
; CHECK: fptrunc <4 x float>
define <2 x half> @pair(<2 x half> %x) {
  %r = call <2 x half> @llvm.roundeven.v2f16(<2 x half> %x)
  ret <2 x half> %r
}

; Four are computed as four, and in one instruction.
; CHECK-LABEL: @four(
; CHECK-NOT: fence
; CHECK: fpext <4 x half> %x to <4 x float>
; CHECK: call <4 x float> @llvm.roundeven.v4f32(
; CHECK: fptrunc <4 x float> %{{.*}} to <4 x half>
; ASM-LABEL: four:
; ASM-NOT: ymm
; ASM: {{vroundps|vrndscaleps}}
; ASM: retq
define <4 x half> @four(<4 x half> %x) {
  %r = call <4 x half> @llvm.roundeven.v4f16(<4 x half> %x)
  ret <4 x half> %r
}

; A comparison keeps whether it signals; a double is made of a float; a constant is converted here.
; CHECK-LABEL: @others(
; CHECK: fcmp arcp olt float %{{.*}}, 1.500000e+00
; CHECK: fpext float %{{.*}} to double
; CHECK: fptosi float
define double @others(half %x, ptr %p) {
  %c = fcmp arcp olt half %x, 0xH3E00
  %d = fpext half %x to double
  %i = fptosi half %x to i32
  store i1 %c, ptr %p
  store i32 %i, ptr %p
  ret double %d
}

; Bits are no numbers.
; CHECK-LABEL: @bits(
; CHECK-NEXT: fneg half %x
; CHECK-NEXT: call half @llvm.fabs.f16(
; CHECK-NEXT: select
define half @bits(half %x, i1 %c) {
  %n = fneg half %x
  %a = call half @llvm.fabs.f16(half %n)
  %r = select i1 %c, half %a, half %x
  ret half %r
}
