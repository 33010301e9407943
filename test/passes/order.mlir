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

// -----

// What has a size that a host call tells stays behind that call, however little it needs: the sum of what is given away
// goes in front, the comparison does not.
// CHECK-LABEL: func.func @main
// CHECK: loom.reduce "sum"
// CHECK: loom.host_call "size"
// CHECK: loom.reduce "or"
#size = affine_map<()[s0] -> (s0)>
module attributes {loom.exprs = array<i64: 1, 0, 0, 0>, loom.symbols = array<i64: 0, 1099511627776, 1, 4099>} {
func.func @main(%x: tensor<1024x1024xf32> {loom.given}, %k: tensor<f64>, %l: tensor<f64>, %w: tensor<1024x1024xf32>)
    -> (tensor<?xf64, #size>, tensor<i1>, tensor<1024x1024xf32> {loom.lent}, tensor<1024xf32>) {
  %1:2 = loom.host_call "size"(%k) effects = "raises sizes" slot = 0 : (tensor<f64>) -> (tensor<?xf64, #size>, tensor<i64>)
  %2 = loom.broadcast %k dims = [] : (tensor<f64>) -> tensor<?xf64, #size>
  %3 = loom.broadcast %l dims = [] : (tensor<f64>) -> tensor<?xf64, #size>
  %4 = loom.compare "lt" %2, %3 : (tensor<?xf64, #size>, tensor<?xf64, #size>) -> tensor<?xi1, #size>
  %5 = loom.reduce "or" %4 axes = [0] : (tensor<?xi1, #size>) -> tensor<i1>
  %6 = loom.exp %w : tensor<1024x1024xf32>
  %7 = loom.reduce "sum" %x axes = [1] : (tensor<1024x1024xf32>) -> tensor<1024xf32>
  return %1#0, %5, %6, %7 : tensor<?xf64, #size>, tensor<i1>, tensor<1024x1024xf32>, tensor<1024xf32>
}
}

// -----

// A result that the caller may have written over an argument is written where the program says: all that reads the
// argument before has to have done so.
// CHECK-LABEL: func.func @main
// CHECK: loom.exp
// CHECK: loom.reduce "sum"
func.func @main(%x: tensor<1024x1024xf32> {loom.given}, %w: tensor<1024x1024xf32>)
    -> (tensor<1024x1024xf32> {loom.lent, loom.overwrites = 1}, tensor<1024xf32>) {
  %0 = loom.exp %w : tensor<1024x1024xf32>
  %1 = loom.reduce "sum" %x axes = [1] : (tensor<1024x1024xf32>) -> tensor<1024xf32>
  return %0, %1 : tensor<1024x1024xf32>, tensor<1024xf32>
}

// -----

// Loops keep their place among host calls.
// CHECK-LABEL: func.func @main
// CHECK: loom.control "for"
// CHECK: loom.host_call "free"
func.func @main(%n: tensor<i64>, %x: tensor<1024x1024xf32> {loom.given}, %w: tensor<1024x1024xf32>)
    -> (tensor<1024x1024xf32> {loom.lent}, tensor<1024xf32>) {
  %0 = loom.control "for" [@body] carry = [0] (%n, %w) : (tensor<i64>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %1 = loom.host_call "free"(%x) effects = "raises" slot = 1 : (tensor<1024x1024xf32>) -> tensor<1024xf32>
  return %0, %1 : tensor<1024x1024xf32>, tensor<1024xf32>
}
func.func private @body(%i: tensor<i64>, %w: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> attributes {loom.region} {
  return %w : tensor<1024x1024xf32>
}
