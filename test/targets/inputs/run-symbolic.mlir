func.func @softmax(%a: tensor<33x40xf32>) -> tensor<33x40xf32> {
  %m = loom.reduce "max" %a axes = [1] : (tensor<33x40xf32>) -> tensor<33xf32>
  %mb = loom.broadcast %m dims = [0] : (tensor<33xf32>) -> tensor<33x40xf32>
  %d = loom.sub %a, %mb : tensor<33x40xf32>
  %e = loom.exp %d : tensor<33x40xf32>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<33x40xf32>) -> tensor<33xf32>
  %sb = loom.broadcast %s dims = [0] : (tensor<33xf32>) -> tensor<33x40xf32>
  %r = loom.div %e, %sb : tensor<33x40xf32>
  return %r : tensor<33x40xf32>
}
func.func @transposed(%a: tensor<300x70xf32>, %b: tensor<70x300xf32>) -> tensor<70x300xf32> {
  %t = loom.transpose %a perm = [1, 0] : (tensor<300x70xf32>) -> tensor<70x300xf32>
  %r = loom.add %t, %b : tensor<70x300xf32>
  return %r : tensor<70x300xf32>
}
func.func @heat(%a: tensor<30x50xf32>) -> tensor<28x48xf32> {
  %c = loom.slice %a starts = [1, 1] sizes = [28, 48] steps = [1, 1] : (tensor<30x50xf32>) -> tensor<28x48xf32>
  %n = loom.slice %a starts = [0, 1] sizes = [28, 48] steps = [1, 1] : (tensor<30x50xf32>) -> tensor<28x48xf32>
  %s = loom.slice %a starts = [2, 1] sizes = [28, 48] steps = [1, 1] : (tensor<30x50xf32>) -> tensor<28x48xf32>
  %w = loom.slice %a starts = [1, 0] sizes = [28, 48] steps = [1, 1] : (tensor<30x50xf32>) -> tensor<28x48xf32>
  %0 = loom.add %n, %s : tensor<28x48xf32>
  %1 = loom.add %0, %w : tensor<28x48xf32>
  %2 = loom.sub %1, %c : tensor<28x48xf32>
  return %2 : tensor<28x48xf32>
}
func.func @moved(%a: tensor<9x40xf64>, %b: tensor<9x13xf64>, %z: tensor<f64>) -> tensor<9x58xf64> {
  %0 = loom.concatenate %a, %b axis = 1 : (tensor<9x40xf64>, tensor<9x13xf64>) -> tensor<9x53xf64>
  %1 = loom.pad %0, %z low = [0, 2] high = [0, 3] : (tensor<9x53xf64>, tensor<f64>) -> tensor<9x58xf64>
  %2 = loom.abs %1 : tensor<9x58xf64>
  return %2 : tensor<9x58xf64>
}
func.func @taken(%a: tensor<50x7xf32>, %i: tensor<23xi64>) -> tensor<23x7xf32> {
  %0 = loom.gather "clip" %a, %i axis = 0 : (tensor<50x7xf32>, tensor<23xi64>) -> tensor<23x7xf32>
  %1 = loom.neg %0 : tensor<23x7xf32>
  return %1 : tensor<23x7xf32>
}
func.func @pairwise(%a: tensor<21x5xf32>, %b: tensor<34x5xf32>) -> tensor<21x34xf32> {
  %x = loom.broadcast %a dims = [0, 2] : (tensor<21x5xf32>) -> tensor<21x34x5xf32>
  %y = loom.broadcast %b dims = [1, 2] : (tensor<34x5xf32>) -> tensor<21x34x5xf32>
  %d = loom.sub %x, %y : tensor<21x34x5xf32>
  %q = loom.mul %d, %d : tensor<21x34x5xf32>
  %s = loom.reduce "sum" %q axes = [2] : (tensor<21x34x5xf32>) -> tensor<21x34xf32>
  %r = loom.sqrt %s : tensor<21x34xf32>
  return %r : tensor<21x34xf32>
}
func.func @vector(%a: tensor<90x70xf32>, %v: tensor<70xf32>) -> tensor<90xf32> {
  %0 = loom.dot_general %a, %v batch = [] x [] contract = [1] x [0] : (tensor<90x70xf32>, tensor<70xf32>) -> tensor<90xf32>
  return %0 : tensor<90xf32>
}
func.func @mlp(%x: tensor<20x24xf32>, %w: tensor<24x48xf32>, %b: tensor<48xf32>, %v: tensor<48x10xf32>) -> tensor<20x10xf32> {
  %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [0] : (tensor<20x24xf32>, tensor<24x48xf32>) -> tensor<20x48xf32>
  %1 = loom.broadcast %b dims = [1] : (tensor<48xf32>) -> tensor<20x48xf32>
  %2 = loom.add %0, %1 : tensor<20x48xf32>
  %3 = loom.tanh %2 : tensor<20x48xf32>
  %4 = loom.dot_general %3, %v batch = [] x [] contract = [1] x [0] : (tensor<20x48xf32>, tensor<48x10xf32>) -> tensor<20x10xf32>
  return %4 : tensor<20x10xf32>
}
func.func @batched(%a: tensor<3x9x17xf64>, %b: tensor<3x17x11xf64>) -> tensor<3x9x11xf64> {
  %0 = loom.dot_general %a, %b batch = [0] x [0] contract = [2] x [1] : (tensor<3x9x17xf64>, tensor<3x17x11xf64>) -> tensor<3x9x11xf64>
  return %0 : tensor<3x9x11xf64>
}
func.func @turned(%a: tensor<19x31xf32>, %b: tensor<23x19xf32>) -> tensor<31x23xf32> {
  %0 = loom.dot_general %a, %b batch = [] x [] contract = [0] x [1] : (tensor<19x31xf32>, tensor<23x19xf32>) -> tensor<31x23xf32>
  return %0 : tensor<31x23xf32>
}
func.func @sums(%a: tensor<200x300xf32>) -> (tensor<f32>, tensor<200xf32>, tensor<300xf32>, tensor<300xi64>) {
  %0 = loom.reduce "sum" %a axes = [0, 1] : (tensor<200x300xf32>) -> tensor<f32>
  %1 = loom.reduce "max" %a axes = [1] : (tensor<200x300xf32>) -> tensor<200xf32>
  %2 = loom.reduce "sum" %a axes = [0] : (tensor<200x300xf32>) -> tensor<300xf32>
  %3 = loom.reduce "argmin" %a axes = [0] : (tensor<200x300xf32>) -> tensor<300xi64>
  return %0, %1, %2, %3 : tensor<f32>, tensor<200xf32>, tensor<300xf32>, tensor<300xi64>
}
func.func @middle(%a: tensor<6x50x7xf64>) -> tensor<6x7xf64> {
  %0 = loom.reduce "sum" %a axes = [1] : (tensor<6x50x7xf64>) -> tensor<6x7xf64>
  return %0 : tensor<6x7xf64>
}
func.func @running(%a: tensor<20x30xi32>) -> (tensor<20x30xi32>, tensor<20x30xi32>) {
  %0 = loom.scan "sum" %a axis = 0 : tensor<20x30xi32>
  %1 = loom.scan "max" %a axis = 1 : tensor<20x30xi32>
  return %0, %1 : tensor<20x30xi32>, tensor<20x30xi32>
}
func.func @bytes(%a: tensor<77xi8>, %b: tensor<77xi1>) -> tensor<77xi8> {
  %z = loom.constant(3 : i8) : tensor<77xi8>
  %0 = loom.select %b, %a, %z : (tensor<77xi1>, tensor<77xi8>, tensor<77xi8>) -> tensor<77xi8>
  %1 = loom.add %0, %a : tensor<77xi8>
  return %1 : tensor<77xi8>
}
func.func @strided(%a: tensor<30x40xf32> {loom.strides = array<i64: 100, 2>}, %b: tensor<30x40xf32> {loom.strides = array<i64: -41, 1>}) -> (tensor<30x40xf32> {loom.strides = array<i64: 1, 30>}) {
  %0 = loom.mul %a, %b : tensor<30x40xf32>
  return %0 : tensor<30x40xf32>
}
func.func @counted(%a: tensor<17x60xf32>) -> tensor<17x60xf32> {
  %i = loom.iota {axis = 1 : i64} : tensor<17x60xf32>
  %0 = loom.mul %a, %i : tensor<17x60xf32>
  return %0 : tensor<17x60xf32>
}
