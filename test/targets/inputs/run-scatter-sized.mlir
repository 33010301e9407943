func.func @vector(%x: tensor<40xf32>, %i: tensor<300xi64>, %u: tensor<300xf32>) -> tensor<40xf32> {
  %c = loom.constant(1 : i64) : tensor<300xi64>
  %k = loom.and %i, %c : tensor<300xi64>
  %j = loom.neg %k : tensor<300xi64>
  %0 = loom.scatter "set" %x, %j, %u axis = 0 : (tensor<40xf32>, tensor<300xi64>, tensor<300xf32>) -> tensor<40xf32>
  return %0 : tensor<40xf32>
}
func.func @last(%x: tensor<4x30xf64>, %i: tensor<50xi32>, %u: tensor<4x50xf64>) -> tensor<4x30xf64> {
  %c = loom.constant(1 : i32) : tensor<50xi32>
  %k = loom.and %i, %c : tensor<50xi32>
  %j = loom.neg %k : tensor<50xi32>
  %0 = loom.scatter "add" %x, %j, %u axis = 1 : (tensor<4x30xf64>, tensor<50xi32>, tensor<4x50xf64>) -> tensor<4x30xf64>
  return %0 : tensor<4x30xf64>
}
func.func @middle(%x: tensor<9x25x7x5xi32>, %i: tensor<11x3xi16>, %u: tensor<9x11x3x7x5xi32>) -> tensor<9x25x7x5xi32> {
  %c = loom.constant(1 : i16) : tensor<11x3xi16>
  %k = loom.and %i, %c : tensor<11x3xi16>
  %j = loom.neg %k : tensor<11x3xi16>
  %0 = loom.scatter "mul" %x, %j, %u axis = 1 : (tensor<9x25x7x5xi32>, tensor<11x3xi16>, tensor<9x11x3x7x5xi32>) -> tensor<9x25x7x5xi32>
  return %0 : tensor<9x25x7x5xi32>
}
func.func @rows(%x: tensor<50x600xf32>, %i: tensor<900xi16>, %u: tensor<900x600xf32>) -> tensor<50x600xf32> {
  %c = loom.constant(1 : i16) : tensor<900xi16>
  %k = loom.and %i, %c : tensor<900xi16>
  %j = loom.neg %k : tensor<900xi16>
  %0 = loom.scatter "max" %x, %j, %u axis = 0 : (tensor<50x600xf32>, tensor<900xi16>, tensor<900x600xf32>) -> tensor<50x600xf32>
  return %0 : tensor<50x600xf32>
}
func.func @many(%x: tensor<64xi32>, %i: tensor<200000xi64>, %u: tensor<200000xi32>) -> tensor<64xi32> {
  %c = loom.constant(1 : i64) : tensor<200000xi64>
  %k = loom.and %i, %c : tensor<200000xi64>
  %j = loom.neg %k : tensor<200000xi64>
  %0 = loom.scatter "add" %x, %j, %u axis = 0 : (tensor<64xi32>, tensor<200000xi64>, tensor<200000xi32>) -> tensor<64xi32>
  return %0 : tensor<64xi32>
}
func.func @along(%x: tensor<9x25x7xi32>, %i: tensor<9x40x7xi16>, %u: tensor<9x40x7xi32>) -> tensor<9x25x7xi32> {
  %c = loom.constant(1 : i16) : tensor<9x40x7xi16>
  %k = loom.and %i, %c : tensor<9x40x7xi16>
  %j = loom.neg %k : tensor<9x40x7xi16>
  %0 = loom.scatter "add" %x, %j, %u axis = 1 : (tensor<9x25x7xi32>, tensor<9x40x7xi16>, tensor<9x40x7xi32>) -> tensor<9x25x7xi32>
  return %0 : tensor<9x25x7xi32>
}
