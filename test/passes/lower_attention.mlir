// Attention: a chunk is a block of queries of a head. Blocks of keys are gone through once: scores, their maximum and
// exponentials, products with values, all rescaled by what the maximum has become.
// RUN: %loom-opt %s --loom-lowered --split-input-file | FileCheck %s

// Causal: keys up to the block's last query are looked at, and later ones than a lane's own query are hidden.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.for
// CHECK: %[[LAST:.*]] = arith.minsi
// CHECK: %[[KEYS:.*]] = arith.minsi %{{.*}}, %[[LAST]]
// CHECK: scf.for %[[BLOCK:[a-z0-9]+]] = %{{[a-z0-9_]+}} to %[[KEYS]]
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>
// CHECK: llvm.intr.fma
// CHECK: %[[LATER:.*]] = arith.cmpi slt, %{{.*}} : vector<8xi64>
// CHECK: arith.select %[[LATER]],
// CHECK: scf.for {{.*}} iter_args(%[[MAX:.*]] = %{{.*}}) -> (vector<8xf32>)
// CHECK: arith.cmpf ogt, %{{.*}}, %[[MAX]]
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (vector<8xf32>)
// CHECK: arith.addf {{.*}}%[[SUM]]
// CHECK: arith.divf
// CHECK-LABEL: loom.plan @causal
func.func @causal(%q: tensor<1x2x64x16xf32>, %k: tensor<1x2x64x16xf32>, %v: tensor<1x2x64x16xf32>, %s: tensor<f32>) -> tensor<1x2x64x16xf32> {
  %o, %lse = loom.attention %q, %k, %v, %s causal = true empty = "nan" : (tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>, tensor<f32>) -> (tensor<1x2x64x16xf32>, tensor<1x2x64xf32>)
  return %o : tensor<1x2x64x16xf32>
}

// -----

// All keys otherwise, and none is hidden: no comparison of indices between the scores and their maximum.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>
// CHECK: llvm.intr.fma
// CHECK-NOT: arith.cmpi slt
// CHECK: arith.cmpf ogt
// CHECK: arith.divf
// CHECK-LABEL: loom.plan @full
func.func @full(%q: tensor<1x2x64x16xf32>, %k: tensor<1x2x64x16xf32>, %v: tensor<1x2x64x16xf32>, %s: tensor<f32>) -> tensor<1x2x64x16xf32> {
  %o, %lse = loom.attention %q, %k, %v, %s causal = false empty = "nan" : (tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>, tensor<f32>) -> (tensor<1x2x64x16xf32>, tensor<1x2x64xf32>)
  return %o : tensor<1x2x64x16xf32>
}

// -----

// A mask of bools says which scores count; where none does, "zero" divides zeros by 1 instead of by their sum.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK: arith.cmpi ne, {{.*}} : {{(vector<[0-9]+x)?}}i8
// CHECK: :{{[0-9]+}} = scf.for
// CHECK: arith.cmpf ogt
// CHECK: :{{[0-9]+}} = scf.for
// CHECK: %[[NONE:.*]] = arith.cmpf oeq
// CHECK-NEXT: %[[DIVISOR:.*]] = arith.select %[[NONE]],
// CHECK-NEXT: arith.divf %{{.*}}, %[[DIVISOR]]
// CHECK-LABEL: loom.plan @masked
func.func @masked(%q: tensor<1x2x64x16xf32>, %k: tensor<1x2x64x16xf32>, %v: tensor<1x2x64x16xf32>, %s: tensor<f32>, %m: tensor<1x1x64x64xi1>) -> tensor<1x2x64x16xf32> {
  %o, %lse = loom.attention %q, %k, %v, %s, %m causal = false empty = "zero" : (tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>, tensor<f32>, tensor<1x1x64x64xi1>) -> (tensor<1x2x64x16xf32>, tensor<1x2x64xf32>)
  return %o : tensor<1x2x64x16xf32>
}

// -----

// The logarithm of each query's sum is made where it is read.
// CHECK-LABEL: func.func private @k0_s0_body
// CHECK-SAME: %{{[a-z0-9]+}}: !llvm.ptr {llvm.noalias}, %{{[a-z0-9]+}}: !llvm.ptr {llvm.noalias}, %{{[a-z0-9]+}}: !llvm.ptr {llvm.noalias}, %{{[a-z0-9]+}}: !llvm.ptr {llvm.noalias}, %{{[a-z0-9]+}}: !llvm.ptr {llvm.noalias}, %{{[a-z0-9]+}}: !llvm.ptr {llvm.noalias},
// CHECK-LABEL: loom.plan @both
// CHECK: loom.launch @k0 {{.*}} -> ()
func.func @both(%q: tensor<1x2x64x16xf32>, %k: tensor<1x2x64x16xf32>, %v: tensor<1x2x64x16xf32>, %s: tensor<f32>) -> (tensor<1x2x64x16xf32>, tensor<1x2x64xf32>) {
  %o, %lse = loom.attention %q, %k, %v, %s causal = false empty = "nan" : (tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>, tensor<f32>) -> (tensor<1x2x64x16xf32>, tensor<1x2x64xf32>)
  return %o, %lse : tensor<1x2x64x16xf32>, tensor<1x2x64xf32>
}
