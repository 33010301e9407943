// What a GPU target cannot do is refused; objects of AMDGPU are ELF.
// RUN: split-file %s %t
// RUN: not %loom-compile --target=nvptx %t/add.mlir 2>&1 | FileCheck %s --check-prefix=OBJECT
// RUN: %loom-compile --target=amdgpu %t/add.mlir -o %t/add.o
// RUN: llvm-readelf -h %t/add.o | FileCheck %s --check-prefix=ELF
// RUN: %loom-compile --target=amdgpu --emit=asm %t/add.mlir | FileCheck %s --check-prefix=AMDGPU

// OBJECT: error: --emit=obj: nvptx has no objects: use --emit=ptx, or cubin
// ELF: Machine: EM_AMDGPU
// AMDGPU: v_add_f32
// AMDGPU: .amdhsa_kernel add_k0_s0

// Each kernel has shared memory of its own size, however much another one of the module needs.
// RUN: %loom-compile --target=nvptx --mcpu=sm_80 --emit=ptx %t/two.mlir | grep "shared .align" | FileCheck %s --check-prefix=SHARED
// RUN: %loom-compile --target=amdgpu --mcpu=gfx942 --emit=hsaco %t/two.mlir -o %t/two.hsaco
// RUN: llvm-readelf --notes %t/two.hsaco | grep group_segment | FileCheck %s --check-prefix=GROUP
// SHARED-DAG: loom_gpu_memory_two_k0_s0[{{[0-9][0-9][0-9][0-9][0-9]}}]
// SHARED-DAG: loom_gpu_memory_two_k1_s0[64]
// GROUP-DAG: group_segment_fixed_size: {{[0-9][0-9][0-9][0-9][0-9]$}}
// GROUP-DAG: group_segment_fixed_size: 64

//--- add.mlir
func.func @add(%x: tensor<500xf32>, %y: tensor<500xf32>) -> tensor<500xf32> {
  %0 = loom.add %x, %y : tensor<500xf32>
  return %0 : tensor<500xf32>
}

//--- two.mlir
func.func @two(%x: tensor<512x512xf16>, %w: tensor<512x512xf16>, %z: tensor<300x2000xf32>) -> (tensor<512x512xf16>, tensor<300xf32>) {
  %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [0] : (tensor<512x512xf16>, tensor<512x512xf16>) -> tensor<512x512xf16>
  %1 = loom.reduce "sum" %z axes = [1] : (tensor<300x2000xf32>) -> tensor<300xf32>
  return %0, %1 : tensor<512x512xf16>, tensor<300xf32>
}
