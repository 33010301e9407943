// RUN: %loom-compile --target=nvptx --mcpu=sm_80 --emit=asm %s -o - | FileCheck %s
// RUN: %loom-compile --target=nvptx --mcpu=sm_75 --emit=asm %s -o - | FileCheck %s --check-prefix=OLD

// bfloat16 is rounded by an instruction, which does one where a buffer is not aligned, and two at once where all are. What is stored is its result.
// CHECK-NOT: bfe
// CHECK: cvt.rn.bf16.f32
// CHECK: add.rn.f32
// CHECK-NEXT: cvt.rn.bf16.f32 [[ONE:%rs[0-9]+]],
// CHECK-NEXT: st.global.b16 [{{.*}}], [[ONE]];
// CHECK-NOT: bfe
// CHECK-COUNT-2: cvt.rn.bf16x2.f32
// CHECK-COUNT-4: add.rn.f32
// CHECK-NEXT: cvt.rn.bf16x2.f32 [[LOW:%r[0-9]+]],
// CHECK-NEXT: cvt.rn.bf16x2.f32 [[HIGH:%r[0-9]+]],
// CHECK: st.global.v2.b32 [{{.*}}], {[[LOW]], [[HIGH]]};
// CHECK-NOT: bfe
// Before sm_80, by integers.
// OLD-NOT: cvt.rn.bf16
// OLD: 32767
// OLD-NOT: cvt.rn.bf16
func.func @round(%a: tensor<4096x1024xbf16>, %b: tensor<4096x1024xf32>) -> tensor<4096x1024xbf16> {
  %0 = loom.convert %b : (tensor<4096x1024xf32>) -> tensor<4096x1024xbf16>
  %1 = loom.add %a, %0 : tensor<4096x1024xbf16>
  return %1 : tensor<4096x1024xbf16>
}
