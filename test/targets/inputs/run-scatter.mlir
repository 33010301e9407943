// Scatters: combinations, duplicates, negative and strided indices, layouts, chains.
func.func @set(%x: tensor<40x3xf32>, %i: tensor<5x2xi64>, %u: tensor<5x2x3xf32>) -> tensor<40x3xf32> {
  %0 = loom.scatter "set" %x, %i, %u axis = 0 : (tensor<40x3xf32>, tensor<5x2xi64>, tensor<5x2x3xf32>) -> tensor<40x3xf32>
  return %0 : tensor<40x3xf32>
}
func.func @add_last(%x: tensor<4x30xf64>, %i: tensor<300xi32>, %u: tensor<4x300xf64>) -> tensor<4x30xf64> {
  %0 = loom.scatter "add" %x, %i, %u axis = 1 : (tensor<4x30xf64>, tensor<300xi32>, tensor<4x300xf64>) -> tensor<4x30xf64>
  return %0 : tensor<4x30xf64>
}
func.func @middle(%x: tensor<9x25x7x5xi32> {loom.strides = array<i64: 1, 9, 225, 1575>}, %i: tensor<11xui8>, %u: tensor<9x11x7x5xi32> {loom.strides = array<i64: -385, 35, 5, 1>}) -> tensor<9x25x7x5xi32> {
  %0 = loom.scatter "mul" %x, %i, %u axis = 1 : (tensor<9x25x7x5xi32>, tensor<11xui8>, tensor<9x11x7x5xi32>) -> tensor<9x25x7x5xi32>
  return %0 : tensor<9x25x7x5xi32>
}
func.func @extremes(%x: tensor<50x600xf32>, %i: tensor<20xi16> {loom.strides = array<i64: -1>}, %u: tensor<20x600xf32>) -> (tensor<50x600xf32>, tensor<50x600xf32> {loom.strides = array<i64: 1, 50>}) {
  %0 = loom.scatter "min" %x, %i, %u axis = 0 : (tensor<50x600xf32>, tensor<20xi16>, tensor<20x600xf32>) -> tensor<50x600xf32>
  %1 = loom.scatter "max" %x, %i, %u axis = 0 : (tensor<50x600xf32>, tensor<20xi16>, tensor<20x600xf32>) -> tensor<50x600xf32>
  return %0, %1 : tensor<50x600xf32>, tensor<50x600xf32>
}
// The operand is computed, the result read by what follows; nothing is copied.
func.func @chain(%i: tensor<100000xi64>, %u: tensor<100000xf32>) -> tensor<64xf32> {
  %z = loom.constant(0.0 : f32) : tensor<64xf32>
  %0 = loom.scatter "add" %z, %i, %u axis = 0 : (tensor<64xf32>, tensor<100000xi64>, tensor<100000xf32>) -> tensor<64xf32>
  %v = loom.neg %u : tensor<100000xf32>
  %1 = loom.scatter "max" %0, %i, %v axis = 0 : (tensor<64xf32>, tensor<100000xi64>, tensor<100000xf32>) -> tensor<64xf32>
  %2 = loom.add %1, %1 : tensor<64xf32>
  return %2 : tensor<64xf32>
}
func.func @both(%x: tensor<30xf32>, %i: tensor<10xi64>, %u: tensor<10xf32>) -> (tensor<30xf32>, tensor<30xf32>, tensor<5x6xf32>) {
  %0 = loom.scatter "set" %x, %i, %u axis = 0 : (tensor<30xf32>, tensor<10xi64>, tensor<10xf32>) -> tensor<30xf32>
  %1 = loom.scatter "add" %0, %i, %u axis = 0 : (tensor<30xf32>, tensor<10xi64>, tensor<10xf32>) -> tensor<30xf32>
  %2 = loom.reshape %1 : (tensor<30xf32>) -> tensor<5x6xf32>
  return %0, %1, %2 : tensor<30xf32>, tensor<30xf32>, tensor<5x6xf32>
}
func.func @large(%x: tensor<1000000xf64>, %i: tensor<400000xi64>, %u: tensor<400000xf64>) -> tensor<1000000xf64> {
  %m = loom.constant(104729 : i64) : tensor<400000xi64>
  %n = loom.constant(1000000 : i64) : tensor<400000xi64>
  %k = loom.iota {axis = 0 : i64} : tensor<400000xi64>
  %a = loom.mul %k, %m : tensor<400000xi64>
  %b = loom.rem %a, %n : tensor<400000xi64>
  %c = loom.sub %b, %i : tensor<400000xi64>
  %d = loom.rem %c, %n : tensor<400000xi64>
  %0 = loom.scatter "add" %x, %d, %u axis = 0 : (tensor<1000000xf64>, tensor<400000xi64>, tensor<400000xf64>) -> tensor<1000000xf64>
  return %0 : tensor<1000000xf64>
}
func.func @kinds(%x: tensor<30xi1>, %i: tensor<10xi64>, %u: tensor<10xi1>, %w: tensor<30x1xi8>, %e: tensor<0xi64>, %f: tensor<0x1xi8>) -> (tensor<30xi1>, tensor<30x1xi8>) {
  %0 = loom.scatter "add" %x, %i, %u axis = 0 : (tensor<30xi1>, tensor<10xi64>, tensor<10xi1>) -> tensor<30xi1>
  %2 = loom.scatter "set" %w, %e, %f axis = 0 : (tensor<30x1xi8>, tensor<0xi64>, tensor<0x1xi8>) -> tensor<30x1xi8>
  return %0, %2 : tensor<30xi1>, tensor<30x1xi8>
}
// Indices of single elements: along the last, the first and a middle dimension, few and many beside it.
func.func @along_last(%x: tensor<30x40xf32>, %i: tensor<30x90xi64>, %u: tensor<30x90xf32>) -> tensor<30x40xf32> {
  %0 = loom.scatter "add" %x, %i, %u axis = 1 : (tensor<30x40xf32>, tensor<30x90xi64>, tensor<30x90xf32>) -> tensor<30x40xf32>
  return %0 : tensor<30x40xf32>
}
func.func @along_first(%x: tensor<40x70xf64>, %i: tensor<9x70xi32> {loom.strides = array<i64: 1, -9>}, %u: tensor<9x70xf64>) -> tensor<40x70xf64> {
  %0 = loom.scatter "set" %x, %i, %u axis = 0 : (tensor<40x70xf64>, tensor<9x70xi32>, tensor<9x70xf64>) -> tensor<40x70xf64>
  return %0 : tensor<40x70xf64>
}
func.func @along_middle(%x: tensor<2x25x3x5xi32> {loom.strides = array<i64: 1, 2, 50, 150>}, %i: tensor<2x60x3x5xi16>, %u: tensor<2x60x3x5xi32>) -> tensor<2x25x3x5xi32> {
  %n = loom.neg %u : tensor<2x60x3x5xi32>
  %0 = loom.scatter "max" %x, %i, %n axis = 1 : (tensor<2x25x3x5xi32>, tensor<2x60x3x5xi16>, tensor<2x60x3x5xi32>) -> tensor<2x25x3x5xi32>
  return %0 : tensor<2x25x3x5xi32>
}
func.func @along_computed(%x: tensor<3x1000xf32>, %i: tensor<3x50000xi64>, %u: tensor<3x50000xf32>) -> tensor<3x1000xf32> {
  %m = loom.constant(7 : i64) : tensor<3x50000xi64>
  %n = loom.constant(1000 : i64) : tensor<3x50000xi64>
  %k = loom.iota {axis = 1 : i64} : tensor<3x50000xi64>
  %a = loom.mul %k, %m : tensor<3x50000xi64>
  %b = loom.add %a, %i : tensor<3x50000xi64>
  %c = loom.rem %b, %n : tensor<3x50000xi64>
  %v = loom.mul %u, %u : tensor<3x50000xf32>
  %0 = loom.scatter "add" %x, %c, %v axis = 1 : (tensor<3x1000xf32>, tensor<3x50000xi64>, tensor<3x50000xf32>) -> tensor<3x1000xf32>
  return %0 : tensor<3x1000xf32>
}
