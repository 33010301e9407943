func.func @dot(%a: tensor<33x20xf32>, %b: tensor<20x17xf32>, %c: tensor<17xf32>) -> tensor<33x17xf32> {
  %n = loom.abs %a : tensor<33x20xf32>
  %0 = loom.dot_general %n, %b batch = [] x [] contract = [1] x [0] : (tensor<33x20xf32>, tensor<20x17xf32>) -> tensor<33x17xf32>
  %1 = loom.broadcast %c dims = [1] : (tensor<17xf32>) -> tensor<33x17xf32>
  %2 = loom.add %0, %1 : tensor<33x17xf32>
  %z = loom.constant(0.0 : f32) : tensor<33x17xf32>
  %3 = loom.max %2, %z : tensor<33x17xf32>
  return %3 : tensor<33x17xf32>
}
func.func @dot_views(%a: tensor<2x20x9xf64>, %b: tensor<13x20xf64>) -> tensor<2x9x13xf64> {
  %s = loom.slice %b starts = [12, 0] sizes = [13, 20] steps = [-1, 1] : (tensor<13x20xf64>) -> tensor<13x20xf64>
  %e = loom.broadcast %s dims = [1, 2] : (tensor<13x20xf64>) -> tensor<2x13x20xf64>
  %0 = loom.dot_general %a, %e batch = [0] x [0] contract = [1] x [2] : (tensor<2x20x9xf64>, tensor<2x13x20xf64>) -> tensor<2x9x13xf64>
  return %0 : tensor<2x9x13xf64>
}
func.func @dot_reshaped(%a: tensor<4x6xf32> {loom.strides = array<i64: 1, 4>}, %b: tensor<8x5xf32>) -> (tensor<3x5xf32>, tensor<15xf32>) {
  %r = loom.reshape %a : (tensor<4x6xf32>) -> tensor<3x8xf32>
  %0 = loom.dot_general %r, %b batch = [] x [] contract = [1] x [0] : (tensor<3x8xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
  %1 = loom.reshape %0 : (tensor<3x5xf32>) -> tensor<15xf32>
  return %0, %1 : tensor<3x5xf32>, tensor<15xf32>
}
func.func @normalize(%x: tensor<40x50xf32>, %g: tensor<50xf32>) -> (tensor<40x50xf32>, tensor<40xf32>) {
  %n = loom.constant(50.0 : f32) : tensor<40x1xf32>
  %s = loom.reduce "sum" %x axes = [1] : (tensor<40x50xf32>) -> tensor<40xf32>
  %sr = loom.reshape %s : (tensor<40xf32>) -> tensor<40x1xf32>
  %m = loom.div %sr, %n : tensor<40x1xf32>
  %mb = loom.broadcast %m dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x50xf32>
  %d = loom.sub %x, %mb : tensor<40x50xf32>
  %q = loom.mul %d, %d : tensor<40x50xf32>
  %v = loom.reduce "sum" %q axes = [1] : (tensor<40x50xf32>) -> tensor<40xf32>
  %sd = loom.sqrt %v : tensor<40xf32>
  %sb = loom.broadcast %sd dims = [0] : (tensor<40xf32>) -> tensor<40x50xf32>
  %nn = loom.div %d, %sb : tensor<40x50xf32>
  %gb = loom.broadcast %g dims = [1] : (tensor<50xf32>) -> tensor<40x50xf32>
  %z = loom.mul %nn, %gb : tensor<40x50xf32>
  return %z, %v : tensor<40x50xf32>, tensor<40xf32>
}
func.func @columns(%x: tensor<40x50xf64> {loom.strides = array<i64: 1, 40>}) -> (tensor<50xf64>, tensor<50xi64>, tensor<50xf64>, tensor<f64>) {
  %n = loom.neg %x : tensor<40x50xf64>
  %a = loom.abs %n : tensor<40x50xf64>
  %s = loom.reduce "sum" %a axes = [0] : (tensor<40x50xf64>) -> tensor<50xf64>
  %i = loom.reduce "argmax" %n axes = [0] : (tensor<40x50xf64>) -> tensor<50xi64>
  %m = loom.reduce "max" %n axes = [0] : (tensor<40x50xf64>) -> tensor<50xf64>
  %t = loom.reduce "sum" %s axes = [0] : (tensor<50xf64>) -> tensor<f64>
  return %s, %i, %m, %t : tensor<50xf64>, tensor<50xi64>, tensor<50xf64>, tensor<f64>
}
func.func @empty_rows(%x: tensor<4x0xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %s = loom.reduce "sum" %x axes = [1] : (tensor<4x0xf32>) -> tensor<4xf32>
  %p = loom.reduce "prod" %x axes = [1] : (tensor<4x0xf32>) -> tensor<4xf32>
  return %s, %p : tensor<4xf32>, tensor<4xf32>
}
func.func @stats(%x: tensor<300x100xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %n = loom.constant(30000.0 : f32) : tensor<f32>
  %s = loom.reduce "sum" %x axes = [0, 1] : (tensor<300x100xf32>) -> tensor<f32>
  %m = loom.div %s, %n : tensor<f32>
  %mb = loom.broadcast %m dims = [] : (tensor<f32>) -> tensor<300x100xf32>
  %d = loom.sub %x, %mb : tensor<300x100xf32>
  %q = loom.mul %d, %d : tensor<300x100xf32>
  %v = loom.reduce "sum" %q axes = [0, 1] : (tensor<300x100xf32>) -> tensor<f32>
  %w = loom.reduce "min" %x axes = [0, 1] : (tensor<300x100xf32>) -> tensor<f32>
  return %m, %v, %w : tensor<f32>, tensor<f32>, tensor<f32>
}
func.func @scan_layouts(%a: tensor<8x4xf64> {loom.strides = array<i64: 1, 8>}, %b: tensor<8x4xf64>)
    -> (tensor<8x4xf64>, tensor<8x4xf64>, tensor<8x4xf64> {loom.strides = array<i64: 1, 8>}, tensor<8x4xf64>) {
  %0 = loom.scan "sum" %a axis = 1 : tensor<8x4xf64>
  %1 = loom.scan "sum" %a axis = 0 : tensor<8x4xf64>
  %2 = loom.scan "prod" %b axis = 0 : tensor<8x4xf64>
  %3 = loom.scan "max" %b axis = 1 : tensor<8x4xf64>
  return %0, %1, %2, %3 : tensor<8x4xf64>, tensor<8x4xf64>, tensor<8x4xf64>, tensor<8x4xf64>
}
