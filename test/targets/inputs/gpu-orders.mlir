// Sorts, scatters, updates in place and scans for GPUs: gpu-orders.test runs them on the simulator, and puts them through the vendors' tools.
func.func @short(%x: tensor<9x13xbf16>) -> (tensor<9x13xbf16>, tensor<9x13xi64>) {
  %0 = loom.sort %x axis = 1 {indices = false} : (tensor<9x13xbf16>) -> tensor<9x13xbf16>
  %1 = loom.sort %x axis = 1 {indices = true} : (tensor<9x13xbf16>) -> tensor<9x13xi64>
  return %0, %1 : tensor<9x13xbf16>, tensor<9x13xi64>
}
func.func @long(%x: tensor<2300x2xi64>) -> (tensor<2300x2xi64>, tensor<2300x2xi64>) {
  %0 = loom.sort %x axis = 0 {indices = false} : (tensor<2300x2xi64>) -> tensor<2300x2xi64>
  %1 = loom.sort %x axis = 0 {indices = true} : (tensor<2300x2xi64>) -> tensor<2300x2xi64>
  return %0, %1 : tensor<2300x2xi64>, tensor<2300x2xi64>
}
func.func @rows(%x: tensor<50x32xf32>, %i: tensor<100xi64>, %u: tensor<100x32xf32>) -> tensor<50x32xf32> {
  %n = loom.constant(50 : i64) : tensor<100xi64>
  %r = loom.rem %i, %n : tensor<100xi64>
  %0 = loom.scatter "add" %x, %r, %u axis = 0 : (tensor<50x32xf32>, tensor<100xi64>, tensor<100x32xf32>) -> tensor<50x32xf32>
  return %0 : tensor<50x32xf32>
}
func.func @last(%x: tensor<50xf32>, %i: tensor<2100xi32>, %u: tensor<2100xf32>) -> tensor<50xf32> {
  %n = loom.constant(50 : i32) : tensor<2100xi32>
  %r = loom.rem %i, %n : tensor<2100xi32>
  %0 = loom.scatter "set" %x, %r, %u axis = 0 : (tensor<50xf32>, tensor<2100xi32>, tensor<2100xf32>) -> tensor<50xf32>
  return %0 : tensor<50xf32>
}
func.func @along(%x: tensor<3x40xi8>, %i: tensor<3x90xi64>, %u: tensor<3x90xi8>) -> tensor<3x40xi8> {
  %n = loom.constant(40 : i64) : tensor<3x90xi64>
  %r = loom.rem %i, %n : tensor<3x90xi64>
  %0 = loom.scatter "max" %x, %r, %u axis = 1 : (tensor<3x40xi8>, tensor<3x90xi64>, tensor<3x90xi8>) -> tensor<3x40xi8>
  return %0 : tensor<3x40xi8>
}
func.func @updates(%x: tensor<100x128xf32>, %u: tensor<8x40xf32>, %v: tensor<1x40xf32>, %w: tensor<1x40xf32>) -> (tensor<100x128xf32>, tensor<100x128xf32>) {
  %e = loom.neg %x : tensor<100x128xf32>
  %0 = loom.update_slice %e, %u starts = [3, 1] steps = [2, 1] : (tensor<100x128xf32>, tensor<8x40xf32>) -> tensor<100x128xf32>
  %f = loom.abs %x : tensor<100x128xf32>
  %1 = loom.update_slice %f, %v starts = [3, 0] steps = [1, 1] : (tensor<100x128xf32>, tensor<1x40xf32>) -> tensor<100x128xf32>
  %2 = loom.update_slice %1, %w starts = [3, 10] steps = [1, 1] : (tensor<100x128xf32>, tensor<1x40xf32>) -> tensor<100x128xf32>
  return %0, %2 : tensor<100x128xf32>, tensor<100x128xf32>
}
func.func @running(%x: tensor<9x100xi32>) -> tensor<9x100xi32> {
  %0 = loom.scan "sum" %x axis = 1 : tensor<9x100xi32>
  return %0 : tensor<9x100xi32>
}
func.func @several(%x: tensor<3x1500xf64>) -> (tensor<3x1500xf64>, tensor<3x1500xf64>) {
  %0 = loom.scan "max" %x axis = 1 : tensor<3x1500xf64>
  %1 = loom.scan "min" %x axis = 1 : tensor<3x1500xf64>
  %2 = loom.sub %0, %x : tensor<3x1500xf64>
  return %2, %1 : tensor<3x1500xf64>, tensor<3x1500xf64>
}
func.func @parts(%x: tensor<1x8193xi64>) -> tensor<1x8193xi64> {
  %n = loom.neg %x : tensor<1x8193xi64>
  %0 = loom.scan "sum" %n axis = 1 : tensor<1x8193xi64>
  %1 = loom.add %0, %x : tensor<1x8193xi64>
  return %1 : tensor<1x8193xi64>
}
func.func @turned(%x: tensor<300x5xf32>) -> tensor<300x5xf32> {
  %0 = loom.scan "max" %x axis = 0 : tensor<300x5xf32>
  return %0 : tensor<300x5xf32>
}
func.func @half(%x: tensor<2x500xf16>) -> tensor<2x500xf16> {
  %0 = loom.scan "sum" %x axis = 1 : tensor<2x500xf16>
  return %0 : tensor<2x500xf16>
}
