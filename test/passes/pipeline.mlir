// The stages, each from the graph on.
// RUN: %loom-opt %s --loom-front | FileCheck %s --check-prefix=FRONT
// RUN: %loom-opt %s --loom-kernels | FileCheck %s --check-prefix=KERNELS
// RUN: %loom-opt %s --loom-plans | FileCheck %s --check-prefix=PLANS
// RUN: %loom-opt %s --loom-lowered | FileCheck %s --check-prefix=LOWERED
// RUN: %loom-opt %s --loom-cpu | FileCheck %s --check-prefix=CPU

// A trace of the compiler library is what loom-opt reads back.
// RUN: rm -rf %t && mkdir -p %t
// RUN: env FRAMELOOM_TRACE=%t %build/bin/run-test %s
// RUN: %loom-opt %t/00-import.mlir --loom-cpu -o /dev/null
// RUN: %loom-opt %t/01-fuse.mlir -o /dev/null
// RUN: %loom-opt %t/02-schedule.mlir --loom-plan --loom-lower -o /dev/null
// RUN: %loom-opt %t/03-plan.mlir --loom-lower -o /dev/null
// RUN: %loom-opt %t/04-lower.mlir -o /dev/null
// RUN: %loom-opt %t/05-llvm.mlir | FileCheck %s --check-prefix=CPU

// FRONT: func.func @main
// FRONT: loom.fusion
// KERNELS: loom.kernel @k0
// KERNELS: stages
// KERNELS: func.func @main
// KERNELS: loom.apply @k0
// PLANS: loom.kernel @k0
// PLANS: loom.plan @main
// PLANS: loom.launch @k0
// LOWERED: func.func @k0_s0
// LOWERED: loom.plan @main
// CPU: llvm.func @k0_s0
// CPU: loom.plan @main
func.func @main(%a: tensor<64xf32>, %s: tensor<f32> {loom.scalar}) -> tensor<64xf32> {
  %0 = loom.broadcast %s dims = [] : (tensor<f32>) -> tensor<64xf32>
  %1 = loom.mul %a, %0 : tensor<64xf32>
  return %1 : tensor<64xf32>
}
