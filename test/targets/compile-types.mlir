// Wrong types and ops that no program can have are diagnosed.
// RUN: split-file %s %t
// RUN: not %loom-compile %t/types.mlir 2>&1 | FileCheck %s --check-prefix=TYPES
// RUN: not %loom-compile %t/dialect.mlir 2>&1 | FileCheck %s --check-prefix=DIALECT
// RUN: not %loom-compile %t/host.mlir 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: not %loom-compile %t/nofunc.mlir --emit-header=%t/x.h 2>&1 | FileCheck %s --check-prefix=NOFUNC

//--- types.mlir
// TYPES: error:
func.func @main(%a: tensor<4xf32>, %b: tensor<5xf32>) -> tensor<4xf32> {
  %0 = loom.add %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}
//--- dialect.mlir
// DIALECT: error:
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = other.thing %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
//--- host.mlir
// HOST: error: calls into a library cannot be part of a compiled program
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = loom.host_call "f"(%a) effects = "pure" slot = 0 : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
//--- nofunc.mlir
// NOFUNC: error: {{.*}}has no function: there is no header to write
module {}
