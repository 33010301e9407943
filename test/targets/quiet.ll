; Orders, minima and maxima raise nothing for NaN.
;
; RUN: %build/bin/flags-test quiet-256 %s | FileCheck %s --check-prefixes=BOTH,AVX
; RUN: %build/bin/flags-test quiet-512 %s | FileCheck %s --check-prefixes=BOTH,WIDE
; RUN: %build/bin/flags-test quiet-256 %s | llc -mcpu=x86-64-v3 | FileCheck %s --check-prefix=ASM
; RUN: %build/bin/flags-test quiet-512 %s | llc -mcpu=x86-64-v4 -mattr=-prefer-256-bit | FileCheck %s --check-prefix=ASM

; No instruction of all that follow is one that raises.
; ASM-NOT: {{v(cmp(lt|le|nlt|nle|gt|ge|ngt|nge)|min|max)[ps][sd][[:space:]]+[^{]*$}}

; BOTH-LABEL: @vector(
; BOTH: call <8 x i1> @llvm.experimental.constrained.fcmp.v8f32(<8 x float> %x, <8 x float> %y, metadata !"olt", metadata !"fpexcept.ignore")
define <8 x i8> @vector(<8 x float> %x, <8 x float> %y) {
  %c = fcmp olt <8 x float> %x, %y
  %r = zext <8 x i1> %c to <8 x i8>
  ret <8 x i8> %r
}

; Equality and its like raise nothing as they are.
; BOTH-LABEL: @equal(
; BOTH: fcmp une <8 x float>
; BOTH: fcmp uno <8 x float>
define <8 x i8> @equal(<8 x float> %x, <8 x float> %y) {
  %c = fcmp une <8 x float> %x, %y
  %d = fcmp uno <8 x float> %x, %y
  %e = or <8 x i1> %c, %d
  %r = zext <8 x i1> %e to <8 x i8>
  ret <8 x i8> %r
}

; The greater one, as an instruction decides.
; BOTH-LABEL: @greater(
; AVX: call <16 x i1> @llvm.experimental.constrained.fcmp.v16f64(
; AVX: select
; WIDE: call <8 x double> @llvm.x86.avx512.max.pd.512(<8 x double> %{{.*}}, <8 x double> %{{.*}}, i32 8)
; WIDE: call <8 x double> @llvm.x86.avx512.max.pd.512(<8 x double> %{{.*}}, <8 x double> %{{.*}}, i32 8)
; WIDE-NOT: select
define <16 x double> @greater(<16 x double> %x, <16 x double> %y) {
  %c = fcmp ogt <16 x double> %x, %y
  %r = select <16 x i1> %c, <16 x double> %x, <16 x double> %y
  ret <16 x double> %r
}

; BOTH-LABEL: @maximum(
; WIDE: @llvm.x86.avx512.max.ps.512(
; AVX: @llvm.experimental.constrained.fcmp.v16f32({{.*}}!"ogt"
; BOTH: fcmp uno <16 x float> %x, %x
; BOTH-NOT: @llvm.maximum
define <16 x float> @maximum(<16 x float> %x, <16 x float> %y) {
  %r = call nsz <16 x float> @llvm.maximum.v16f32(<16 x float> %x, <16 x float> %y)
  ret <16 x float> %r
}

; A constant is no NaN: the other operand comes second, of which the NaN is kept without a further comparison.
; BOTH-LABEL: @at_least(
; WIDE: call <16 x float> @llvm.x86.avx512.max.ps.512(<16 x float> zeroinitializer, <16 x float> %x, i32 8)
; AVX: @llvm.experimental.constrained.fcmp.v16f32(<16 x float> zeroinitializer, <16 x float> %x, metadata !"ogt"
; BOTH-NOT: uno
define <16 x float> @at_least(<16 x float> %x) {
  %r = call nsz <16 x float> @llvm.maximum.v16f32(<16 x float> %x, <16 x float> zeroinitializer)
  ret <16 x float> %r
}

; A condition: `x < y` is `y > x`, `x < y` or unordered is not `x >= y`.
; BOTH-LABEL: @scalar(
; BOTH: %[[Y:.*]] = insertelement <2 x double> poison, double %y, i32 0
; BOTH: %[[X:.*]] = insertelement <2 x double> poison, double %x, i32 0
; BOTH: %[[MET:.*]] = call i32 @llvm.x86.sse2.ucomigt.sd(<2 x double> %[[Y]], <2 x double> %[[X]])
; BOTH: icmp ne i32 %[[MET]], 0
define i1 @scalar(double %x, double %y) {
  %c = fcmp olt double %x, %y
  ret i1 %c
}

; BOTH-LABEL: @scalar_unordered(
; BOTH: %[[X:.*]] = insertelement <4 x float> poison, float %x, i32 0
; BOTH: %[[Y:.*]] = insertelement <4 x float> poison, float %y, i32 0
; BOTH: %[[MET:.*]] = call i32 @llvm.x86.sse.ucomige.ss(<4 x float> %[[X]], <4 x float> %[[Y]])
; BOTH: icmp eq i32 %[[MET]], 0
define i1 @scalar_unordered(float %x, float %y) {
  %c = fcmp ult float %x, %y
  ret i1 %c
}

; BOTH-LABEL: @chosen(
; BOTH-NOT: fcmp
; BOTH: call <2 x double> @llvm.x86.sse2.cmp.sd(<2 x double> %{{.*}}, <2 x double> %{{.*}}, i8 26)
; BOTH: select <2 x i1>
define double @chosen(double %x, double %y, double %z) {
  %c = fcmp ule double %x, %y
  %r = select i1 %c, double %z, double %y
  ret double %r
}

; BOTH-LABEL: @least(
; AVX: call <4 x float> @llvm.x86.sse.cmp.ss(<4 x float> %{{.*}}, <4 x float> %{{.*}}, i8 17)
; WIDE: @llvm.x86.avx512.mask.min.ss.round(
; BOTH: call <4 x float> @llvm.x86.sse.cmp.ss(<4 x float> %{{.*}}, <4 x float> %{{.*}}, i8 3)
define float @least(float %x, float %y) {
  %r = call nsz float @llvm.minimum.f32(float %x, float %y)
  ret float %r
}

; What is marked raises "invalid" for NaN.
; BOTH-LABEL: @signals(
; BOTH: call i32 @llvm.x86.sse2.comige.sd(
define double @signals(double %x, double %y) {
  %c = fcmp arcp oge double %x, %y
  %r = select i1 %c, double %x, double 0.0
  ret double %r
}

; One order for two selects, the second of another type.
; BOTH-LABEL: @both(
; BOTH: @llvm.x86.sse.ucomigt.ss
; BOTH: @llvm.x86.sse.cmp.ss
define { float, i32 } @both(float %x, float %y, i32 %i, i32 %j) {
  %c = fcmp ogt float %x, %y
  %r = select i1 %c, float %y, float 1.0
  %n = select i1 %c, i32 %i, i32 %j
  %a = insertvalue { float, i32 } poison, float %r, 0
  %b = insertvalue { float, i32 } %a, i32 %n, 1
  ret { float, i32 } %b
}

; So do all lanes of a vector, whatever a mask wants of it.
; ASM-LABEL: signals_in_lanes:
; ASM: vcmp{{(ge|le).*}}
; BOTH-LABEL: @signals_in_lanes(
; BOTH: call <8 x i1> @llvm.experimental.constrained.fcmps.v8f32({{.*}}!"oge", metadata !"fpexcept.strict")
define <8 x i1> @signals_in_lanes(<8 x float> %x, <8 x float> %y, <8 x i1> %m) {
  %c = fcmp arcp oge <8 x float> %x, %y
  %r = and <8 x i1> %c, %m
  ret <8 x i1> %r
}

declare <16 x float> @llvm.maximum.v16f32(<16 x float>, <16 x float>)
declare float @llvm.minimum.f32(float, float)
