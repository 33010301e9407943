// RUN: %loom-opt %s --loom-fuse --loom-order --split-input-file | FileCheck %s

// The sum ends the life of what the caller gives away: it goes before the large result is made.
// CHECK-LABEL: func.func @main
// CHECK: loom.reduce "sum"
// CHECK: loom.exp
func.func @main(%x: tensor<1024x1024xf32> {loom.given}, %w: tensor<1024x1024xf32>)
    -> (tensor<1024x1024xf32> {loom.lent}, tensor<1024xf32>) {
  %0 = loom.exp %w : tensor<1024x1024xf32>
  %1 = loom.reduce "sum" %x axes = [1] : (tensor<1024x1024xf32>) -> tensor<1024xf32>
  return %0, %1 : tensor<1024x1024xf32>, tensor<1024xf32>
}

// -----

// The same without those words: both arrays are there all the time, and the order of the program stays.
// CHECK-LABEL: func.func @main
// CHECK: loom.exp
// CHECK: loom.reduce "sum"
func.func @main(%x: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024xf32>) {
  %0 = loom.exp %w : tensor<1024x1024xf32>
  %1 = loom.reduce "sum" %x axes = [1] : (tensor<1024x1024xf32>) -> tensor<1024xf32>
  return %0, %1 : tensor<1024x1024xf32>, tensor<1024xf32>
}

// -----

// Little memory: left as it is.
// CHECK-LABEL: func.func @main
// CHECK: loom.exp
// CHECK: loom.reduce "sum"
func.func @main(%x: tensor<16x16xf32> {loom.given}, %w: tensor<16x16xf32>) -> (tensor<16x16xf32> {loom.lent}, tensor<16xf32>) {
  %0 = loom.exp %w : tensor<16x16xf32>
  %1 = loom.reduce "sum" %x axes = [1] : (tensor<16x16xf32>) -> tensor<16xf32>
  return %0, %1 : tensor<16x16xf32>, tensor<16xf32>
}

// -----

// Host calls keep their order, even where the second would free what the first does not.
// CHECK-LABEL: func.func @main
// CHECK: loom.host_call "grow"
// CHECK: loom.host_call "free"
func.func @main(%x: tensor<1024x1024xf32> {loom.given}, %w: tensor<1024xf32>)
    -> (tensor<1024x1024xf32> {loom.lent}, tensor<1024xf32>) {
  %0 = loom.host_call "grow"(%w) effects = "raises" slot = 0 : (tensor<1024xf32>) -> tensor<1024x1024xf32>
  %1 = loom.host_call "free"(%x) effects = "raises" slot = 1 : (tensor<1024x1024xf32>) -> tensor<1024xf32>
  return %0, %1 : tensor<1024x1024xf32>, tensor<1024xf32>
}
