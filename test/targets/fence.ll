; What may raise an exception is computed although a select leaves it out.
;
; RUN: %build/bin/flags-test fence %s | FileCheck %s

; The condition is known: what it does not take is stored, the last operation of a chain for all of it.
; CHECK-LABEL: @known(
; CHECK-NOT: asm
; CHECK: %p = fmul
; CHECK-NOT: arithmetic.fence
; CHECK: %q = fadd <4 x double> %p
; CHECK-NEXT: call void asm sideeffect "", "x"(<4 x double> %q)
; CHECK-NOT: asm
define <4 x double> @known(ptr %a) {
  %x = load <4 x double>, ptr %a
  %p = fmul <4 x double> %x, %x
  %q = fadd <4 x double> %p, %x
  %r = select <4 x i1> splat (i1 true), <4 x double> %x, <4 x double> %q
  ret <4 x double> %r
}

; A scalar that is spread to lanes, in front of the loop that leaves it out.
; CHECK-LABEL: @spread(
; CHECK: %s = fptrunc
; CHECK-NEXT: call void asm sideeffect "", "x"(float %s)
define void @spread(ptr %a, ptr %out, double %number) {
entry:
  %s = fptrunc double %number to float
  %one = insertelement <4 x float> poison, float %s, i32 0
  %all = shufflevector <4 x float> %one, <4 x float> poison, <4 x i32> zeroinitializer
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %place = getelementptr float, ptr %a, i64 %i
  %x = load <4 x float>, ptr %place
  %r = select <4 x i1> splat (i1 true), <4 x float> %x, <4 x float> %all
  %to = getelementptr float, ptr %out, i64 %i
  store <4 x float> %r, ptr %to
  %next = add i64 %i, 4
  %more = icmp slt i64 %next, 64
  br i1 %more, label %loop, label %end

end:
  ret void
}

; A sum that a loop carries to a select behind it.
; CHECK-LABEL: @carried(
; CHECK: %sum = fadd
; CHECK-NEXT: call void asm sideeffect "", "x"(double %sum)
define double @carried(ptr %a) {
entry:
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %before = phi double [ 0.0, %entry ], [ %sum, %loop ]
  %place = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %place
  %sum = fadd double %before, %x
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, 64
  br i1 %more, label %loop, label %end

end:
  %r = select i1 true, double 1.0, double %sum
  ret double %r
}

; Of conditions that nothing is known of, only lanes are left out: the value is fenced, not stored. So is what is fused
; and what has half the bits.
; CHECK-LABEL: @open(
; CHECK-NOT: store
; CHECK: %q = call <4 x double> @llvm.fma
; CHECK-NEXT: call <4 x double> @llvm.arithmetic.fence.v4f64(<4 x double> %q)
; CHECK: %t = fptrunc
; CHECK-NEXT: %[[BITS:.*]] = bitcast <4 x half> %t to double
; CHECK-NEXT: call double @llvm.arithmetic.fence.f64(double %[[BITS]])
; CHECK-NOT: store
; CHECK: ret
define { <4 x double>, <4 x half> } @open(ptr %a, ptr %b, ptr %c) {
  %x = load <4 x double>, ptr %a
  %y = load <4 x double>, ptr %b
  %h = load <4 x half>, ptr %c
  %more = fcmp ogt <4 x double> %x, splat (double 2.0)
  %q = call <4 x double> @llvm.fma.v4f64(<4 x double> %x, <4 x double> %y, <4 x double> %y)
  %r = select <4 x i1> %more, <4 x double> %x, <4 x double> %q
  %t = fptrunc <4 x double> %x to <4 x half>
  %s = select <4 x i1> %more, <4 x half> %h, <4 x half> %t
  %both = insertvalue { <4 x double>, <4 x half> } poison, <4 x double> %r, 0
  %all = insertvalue { <4 x double>, <4 x half> } %both, <4 x half> %s, 1
  ret { <4 x double>, <4 x half> } %all
}

; LLVM knows, or finds out: bytes below 256, a number below infinity, a square that is not below zero (nor is that needed), what
; is or is not.
; CHECK-LABEL: @found_out(
; CHECK-COUNT-5: call void asm sideeffect "", "x"(<4 x float>
; CHECK-NOT: asm
; CHECK: ret
define void @found_out(ptr %a, ptr %bytes, ptr %out) {
  %x = load <4 x float>, ptr %a
  %b = load <4 x i8>, ptr %bytes
  %wide = zext <4 x i8> %b to <4 x i32>
  %small = icmp ult <4 x i32> %wide, splat (i32 256)
  %p = fadd <4 x float> %x, splat (float 1.0)
  %r0 = select <4 x i1> %small, <4 x float> %x, <4 x float> %p
  %above = fcmp ogt <4 x float> %x, splat (float 0x7FF0000000000000)
  %q = fadd <4 x float> %x, splat (float 2.0)
  %r1 = select <4 x i1> %above, <4 x float> %q, <4 x float> %r0
  %square = fmul <4 x float> %x, %x
  %below = fcmp olt <4 x float> %square, zeroinitializer
  %r = fadd <4 x float> %x, splat (float 3.0)
  %r2 = select <4 x i1> %below, <4 x float> %r, <4 x float> %r1
  %low = icmp sgt <4 x i8> %b, splat (i8 3)
  %high = icmp sle <4 x i8> %b, splat (i8 3)
  %either = or <4 x i1> %low, %high
  %s = fadd <4 x float> %x, splat (float 4.0)
  %r3 = select <4 x i1> %either, <4 x float> %r2, <4 x float> %s
  store <4 x float> %r3, ptr %out
  ret void
}

; A condition follows from another on the way.
; CHECK-LABEL: @implied(
; CHECK: %q = fmul
; CHECK-NEXT: call void asm sideeffect "", "x"(<4 x float> %q)
define <4 x float> @implied(ptr %a) {
  %x = load <4 x float>, ptr %a
  %more = fcmp ogt <4 x float> %x, splat (float 2.0)
  %q = fmul <4 x float> %x, %x
  %inner = select <4 x i1> %more, <4 x float> %q, <4 x float> %x
  %outer = select <4 x i1> %more, <4 x float> %x, <4 x float> %inner
  ret <4 x float> %outer
}

; One condition for all lanes becomes a branch.
; CHECK-LABEL: @branch(
; CHECK: %q = fmul
; CHECK-NEXT: call void asm sideeffect "", "x"(<4 x float> %q)
define <4 x float> @branch(ptr %a, i8 %n) {
  %x = load <4 x float>, ptr %a
  %more = icmp sgt i8 %n, 3
  %one = insertelement <4 x i1> poison, i1 %more, i32 0
  %all = shufflevector <4 x i1> %one, <4 x i1> poison, <4 x i32> zeroinitializer
  %q = fmul <4 x float> %x, %x
  %r = select <4 x i1> %all, <4 x float> %x, <4 x float> %q
  ret <4 x float> %r
}

; What is stored in any case, or only fills lanes behind the end, is left alone.
; CHECK-LABEL: @needed(
; CHECK-NOT: asm
; CHECK-NOT: arithmetic.fence
; CHECK: ret
define void @needed(ptr %a, ptr %out, i64 %i) {
  %x = load <4 x float>, ptr %a
  %q = fmul <4 x float> %x, %x
  store <4 x float> %q, ptr %out
  %r = select <4 x i1> splat (i1 true), <4 x float> %x, <4 x float> %q
  %place = getelementptr float, ptr %out, i64 %i
  store <4 x float> %r, ptr %place
  ret void
}
; CHECK-LABEL: @tail(
; CHECK-NOT: asm
; CHECK: ret
define <4 x float> @tail(<4 x float> %before, ptr %a, i64 %end, i64 %i) {
  %x = load <4 x float>, ptr %a
  %rest = sub i64 %end, %i
  %number = trunc i64 %rest to i32
  %one = insertelement <4 x i32> poison, i32 %number, i32 0
  %all = shufflevector <4 x i32> %one, <4 x i32> poison, <4 x i32> zeroinitializer
  %lanes = icmp ugt <4 x i32> %all, <i32 0, i32 1, i32 2, i32 3>
  %sum = fadd <4 x float> %before, %x
  %r = select <4 x i1> %lanes, <4 x float> %sum, <4 x float> %before
  ret <4 x float> %r
}

; An operation of which one side of a select makes a constant is not done beforehand; what is loaded is left alone.
; CHECK-LABEL: @choice(
; CHECK: %[[HIDDEN:.*]] = call <4 x double> @llvm.arithmetic.fence.v4f64(<4 x double> %x)
; CHECK-NEXT: fmul <4 x double> %[[HIDDEN]], splat
; CHECK: fmul <4 x double> %loaded, splat
; CHECK: fadd <4 x double> %x, %loaded
define void @choice(<4 x i1> %c, ptr %a, ptr %out) {
  %loaded = load <4 x double>, ptr %a
  %x = select <4 x i1> %c, <4 x double> splat (double 1.0e+300), <4 x double> %loaded
  %p = fmul <4 x double> %x, splat (double 1.0e+300)
  store <4 x double> %p, ptr %out
  %q = fmul <4 x double> %loaded, splat (double 3.0)
  store <4 x double> %q, ptr %out
  %r = fadd <4 x double> %x, %loaded
  store <4 x double> %r, ptr %out
  ret void
}

; Through what raises nothing, and where a loop begins with a constant and adds constants.
; CHECK-LABEL: @through(
; CHECK: %[[WIDE:.*]] = call double @llvm.arithmetic.fence.f64(double %wide)
; CHECK: fadd double %sum, %[[WIDE]]
define double @through(ptr %c) {
entry:
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi double [ 0.0, %entry ], [ %after, %loop ]
  %place = getelementptr i1, ptr %c, i64 %i
  %one = load i1, ptr %place
  %x = select i1 %one, float 1024.0, float 0.0
  %negative = fneg float %x
  %wide = fpext float %negative to double
  %after = fadd double %sum, %wide
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, 4
  br i1 %more, label %loop, label %end

end:
  ret double %after
}

; A constant that is to be hidden comes frozen.
; CHECK-LABEL: @frozen(
; CHECK-NOT: freeze
; CHECK: %[[ONE:.*]] = call float @llvm.arithmetic.fence.f32(float 1.000000e+00)
; CHECK-NEXT: fdiv float %[[ONE]]
define float @frozen() {
  %one = freeze float 1.0
  %q = fdiv float %one, 3.0
  ret float %q
}

; What is frozen and read by nobody is computed for its flags.
; CHECK-LABEL: @beside(
; CHECK: %unread = freeze <4 x double> %p
; CHECK-NEXT: call void asm sideeffect "", "x"(<4 x double> %unread)
define <4 x double> @beside(ptr %a) {
  %x = load <4 x double>, ptr %a
  %p = fmul <4 x double> %x, %x
  %unread = freeze <4 x double> %p
  ret <4 x double> %x
}

; What is only compared with constants may have a known outcome: it is read before the comparison. In a type that no
; register holds it is stored.
; CHECK-LABEL: @outcome(
; CHECK: %[[SLOT:.*]] = alloca <3 x float>
; CHECK: %s = fmul
; CHECK-NEXT: call void asm sideeffect "", "x"(<4 x float> %s)
; CHECK: %t = fmul
; CHECK-NEXT: store volatile <3 x float> %t, ptr %[[SLOT]]
; CHECK: %u = fmul
; CHECK-NOT: asm
; CHECK: ret
define void @outcome(<4 x float> %x, <3 x float> %y, <4 x float> %z, ptr %out) {
  %s = fmul <4 x float> %x, %x
  %below = fcmp olt <4 x float> %s, zeroinitializer
  store <4 x i1> %below, ptr %out
  %t = fmul <3 x float> %y, %y
  %under = fcmp olt <3 x float> %t, zeroinitializer
  store <3 x i1> %under, ptr %out
  %u = fmul <4 x float> %x, %z
  %other = fcmp olt <4 x float> %u, %x
  store <4 x i1> %other, ptr %out
  ret void
}

; Nor does a condition decide between a value and itself.
; CHECK-LABEL: @same(
; CHECK: %s = fmul
; CHECK-NEXT: call void asm sideeffect "", "x"(<4 x float> %s)
; CHECK: ret
define void @same(<4 x float> %x, <4 x float> %y, ptr %out) {
  %s = fmul <4 x float> %x, %x
  %c = fcmp olt <4 x float> %s, %y
  %r = select <4 x i1> %c, <4 x float> %y, <4 x float> %y
  store <4 x float> %r, ptr %out
  ret void
}

; Scaling by a power of two overflows as a product does: of the lanes that a select leaves out, too.
; CHECK-LABEL: @scaled(
; CHECK: %q = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512
; CHECK-NEXT: %[[SCALED:.*]] = call <16 x float> @llvm.arithmetic.fence.v16f32(<16 x float> %q)
; CHECK: select <16 x i1> %more, <16 x float> %x, <16 x float> %[[SCALED]]
define void @scaled(ptr %a, ptr %out) {
  %x = load <16 x float>, ptr %a
  %more = fcmp ogt <16 x float> %x, splat (float 2.0)
  %q = call <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float> %x, <16 x float> %x, <16 x float> %x, i16 -1, i32 4)
  %r = select <16 x i1> %more, <16 x float> %x, <16 x float> %q
  store <16 x float> %r, ptr %out
  ret void
}
declare <16 x float> @llvm.x86.avx512.mask.scalef.ps.512(<16 x float>, <16 x float>, <16 x float>, i16, i32)
