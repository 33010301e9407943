// REQUIRES: ptxas
// The same lowering gives PTX that ptxas takes: an elementwise group and sums of rows. Members of a team take vectors.
// RUN: split-file %s %t
// RUN: %loom-compile --target=nvptx --emit=asm %t/elementwise.mlir -o %t/elementwise.ptx
// RUN: FileCheck %s --check-prefix=ELEMENTWISE --input-file=%t/elementwise.ptx
// RUN: ptxas -arch=sm_80 %t/elementwise.ptx -o %t/elementwise.cubin
// RUN: %loom-compile --target=nvptx --mcpu=sm_90 --emit=asm %t/rows.mlir -o %t/rows.ptx
// RUN: FileCheck %s --check-prefix=ROWS --input-file=%t/rows.ptx
// RUN: ptxas -arch=sm_90 %t/rows.ptx -o %t/rows.cubin
// RUN: %loom-compile --target=nvptx --emit=asm %t/math.mlir -o %t/math.ptx
// RUN: FileCheck %s --check-prefix=MATH --input-file=%t/math.ptx
// RUN: ptxas -arch=sm_80 %t/math.ptx -o %t/math.cubin

//--- elementwise.mlir
// ELEMENTWISE: .visible .entry axpy_k0_s0(
// ELEMENTWISE: .reqntid 256
// ELEMENTWISE: mul.rn.f32
// ELEMENTWISE: add.rn.f32
// ELEMENTWISE: st.global.v4.b32
func.func @axpy(%x: tensor<1000x64xf32>, %y: tensor<1000x64xf32>) -> tensor<1000x64xf32> {
  %0 = loom.mul %x, %y : tensor<1000x64xf32>
  %1 = loom.add %0, %y : tensor<1000x64xf32>
  return %1 : tensor<1000x64xf32>
}
//--- rows.mlir
// ROWS: .target sm_90
// ROWS: .visible .entry rows_k0_s0(
// ROWS-DAG: add.rn.f32
// ROWS-DAG: shfl.sync.bfly.b32
// ROWS-DAG: st.global.b32
func.func @rows(%x: tensor<1000x64xf32>) -> tensor<1000xf32> {
  %0 = loom.mul %x, %x : tensor<1000x64xf32>
  %1 = loom.reduce "sum" %0 axes = [1] : (tensor<1000x64xf32>) -> tensor<1000xf32>
  return %1 : tensor<1000xf32>
}
//--- math.mlir
// No function of a library: range reduction and remainders included.
// MATH-NOT: .extern
// MATH: .visible .entry math_k0_s0(
func.func @math(%x: tensor<1000xf64>, %y: tensor<1000xf32>) -> (tensor<1000xf64>, tensor<1000xf32>) {
  %0 = loom.sin %x : tensor<1000xf64>
  %1 = loom.erf %0 : tensor<1000xf64>
  %2 = loom.pow %1, %x : tensor<1000xf64>
  %3 = loom.cbrt %2 : tensor<1000xf64>
  %4 = loom.tan %y : tensor<1000xf32>
  %5 = loom.rem %4, %y : tensor<1000xf32>
  %6 = loom.nextafter %5, %y : tensor<1000xf32>
  return %3, %6 : tensor<1000xf64>, tensor<1000xf32>
}
