// What LLVM may not be given is refused with a diagnostic, never an abort.
// RUN: split-file %s %t
// RUN: not %build/bin/emit-test %t/exp.mlir 2>&1 | FileCheck %s --check-prefix=EXP
// RUN: not %build/bin/emit-test %t/asm.mlir 2>&1 | FileCheck %s --check-prefix=ASM
// RUN: not %build/bin/emit-test %t/global.mlir 2>&1 | FileCheck %s --check-prefix=GLOBAL
// RUN: not %build/bin/emit-test %t/extern.mlir 2>&1 | FileCheck %s --check-prefix=EXTERN
// RUN: not %build/bin/emit-test %t/wide.mlir 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: not %build/bin/emit-test %t/align.mlir 2>&1 | FileCheck %s --check-prefix=ALIGN
// RUN: not %build/bin/emit-test %t/helper.mlir 2>&1 | FileCheck %s --check-prefix=HELPER
// RUN: not %build/bin/emit-test %t/dialect.mlir 2>&1 | FileCheck %s --check-prefix=DIALECT
// RUN: not %build/bin/emit-test %t/intrinsic.mlir 2>&1 | FileCheck %s --check-prefix=INTRINSIC
// RUN: not %loom-compile --mcpu=x86-64-v3 %t/narrow.mlir -o %t/narrow.o 2>&1 | FileCheck %s --check-prefix=NARROW
// RUN: not %loom-compile --mcpu=x86-64-v4 %t/mode.mlir -o %t/mode.o 2>&1 | FileCheck %s --check-prefix=MODE

//--- intrinsic.mlir
llvm.func @f(%x: f32) -> f32 {
  // INTRINSIC: target x86: 'llvm.call_intrinsic' names what this CPU has no instruction for
  %y = llvm.call_intrinsic "llvm.sin.f32"(%x) : (f32) -> f32
  llvm.return %y : f32
}
//--- narrow.mlir
llvm.func @f(%x: vector<16xf32>, %i: vector<16xi32>) -> vector<16xf32> {
  // NARROW: target x86: 'llvm.call_intrinsic' names what this CPU has no instruction for
  %y = llvm.call_intrinsic "llvm.x86.avx512.vpermi2var.ps.512"(%x, %i, %x) : (vector<16xf32>, vector<16xi32>, vector<16xf32>) -> vector<16xf32>
  llvm.return %y : vector<16xf32>
}
//--- mode.mlir
llvm.func @f(%x: vector<16xf32>, %m: i16) -> vector<16xf32> {
  %c = llvm.mlir.constant(99 : i32) : i32
  // MODE: target x86: 'llvm.call_intrinsic' rounds in a way that code may not
  %y = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%x, %x, %x, %m, %c) : (vector<16xf32>, vector<16xf32>, vector<16xf32>, i16, i32) -> vector<16xf32>
  llvm.return %y : vector<16xf32>
}
//--- exp.mlir
llvm.func @f(%x: f32) -> f32 {
  // EXP: target x86: 'llvm.intr.exp' is not allowed in code for this target
  %y = llvm.intr.exp(%x) : (f32) -> f32
  llvm.return %y : f32
}
//--- asm.mlir
llvm.func @f() {
  // ASM: target x86: 'llvm.inline_asm' is not allowed
  llvm.inline_asm "ud2", "" : () -> ()
  llvm.return
}
//--- global.mlir
// GLOBAL: target x86: 'llvm.mlir.global' is writable
llvm.mlir.global internal @state(0 : i32) : i32
//--- extern.mlir
// EXTERN: target x86: 'llvm.func' declares a function that is not in the support table
llvm.func @system(!llvm.ptr) -> i32
//--- wide.mlir
// WIDE: target x86: 'llvm.fadd' has an operand of a type without code
llvm.func @f(%x: vector<4096xf32>) {
  %y = llvm.fadd %x, %x : vector<4096xf32>
  llvm.return
}
//--- align.mlir
llvm.func @f(%p: !llvm.ptr) {
  // ALIGN: target x86: 'llvm.load' has an alignment that is no power of two up to 4096
  %y = llvm.load %p {alignment = 3 : i64} : !llvm.ptr -> f32
  llvm.return
}
//--- helper.mlir
// HELPER: error: code needs '__divti3', which is not in the support table
llvm.func @f(%x: i128, %y: i128) -> i128 {
  %z = llvm.sdiv %x, %y : i128
  llvm.return %z : i128
}
//--- dialect.mlir
// DIALECT: error
llvm.func @f(%x: i32) -> i32 {
  %z = arith.addi %x, %x : i32
  llvm.return %z : i32
}
