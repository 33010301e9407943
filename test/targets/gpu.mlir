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

//--- add.mlir
func.func @add(%x: tensor<500xf32>, %y: tensor<500xf32>) -> tensor<500xf32> {
  %0 = loom.add %x, %y : tensor<500xf32>
  return %0 : tensor<500xf32>
}
