// Sorts of elements and of their numbers: short and long lines, every axis, layouts, element types.
func.func @short(%x: tensor<7x13xf32>) -> (tensor<7x13xf32>, tensor<7x13xi64>) {
  %0 = loom.sort %x axis = 1 {indices = false} : (tensor<7x13xf32>) -> tensor<7x13xf32>
  %1 = loom.sort %x axis = 1 {indices = true} : (tensor<7x13xf32>) -> tensor<7x13xi64>
  return %0, %1 : tensor<7x13xf32>, tensor<7x13xi64>
}
func.func @long(%x: tensor<3x500x2xf64>, %y: tensor<9000xi32>) -> (tensor<3x500x2xf64>, tensor<3x500x2xi64>, tensor<9000xi64>, tensor<9000xi32>) {
  %0 = loom.sort %x axis = 1 {indices = false} : (tensor<3x500x2xf64>) -> tensor<3x500x2xf64>
  %1 = loom.sort %x axis = 1 {indices = true} : (tensor<3x500x2xf64>) -> tensor<3x500x2xi64>
  %2 = loom.sort %y axis = 0 {indices = true} : (tensor<9000xi32>) -> tensor<9000xi64>
  %3 = loom.sort %y axis = 0 {indices = false} : (tensor<9000xi32>) -> tensor<9000xi32>
  return %0, %1, %2, %3 : tensor<3x500x2xf64>, tensor<3x500x2xi64>, tensor<9000xi64>, tensor<9000xi32>
}
func.func @layouts(%x: tensor<40x60xi64> {loom.strides = array<i64: 1, -40>}, %b: tensor<50x3xi1>) -> (tensor<40x60xi64> {loom.strides = array<i64: 1, 40>}, tensor<50x3xi1>, tensor<50x3xi64>) {
  %0 = loom.sort %x axis = 1 {indices = false} : (tensor<40x60xi64>) -> tensor<40x60xi64>
  %1 = loom.sort %b axis = 0 {indices = false} : (tensor<50x3xi1>) -> tensor<50x3xi1>
  %2 = loom.sort %b axis = 0 {indices = true} : (tensor<50x3xi1>) -> tensor<50x3xi64>
  return %0, %1, %2 : tensor<40x60xi64>, tensor<50x3xi1>, tensor<50x3xi64>
}
func.func @kinds(%a: tensor<3x99xi8>, %b: tensor<3x99xui8>, %c: tensor<3x99xi16>, %d: tensor<3x99xui16>, %e: tensor<3x99xui32>, %f: tensor<3x99xui64>, %g: tensor<0x9xf32>, %h: tensor<9x0xf32>) -> (tensor<3x99xi8>, tensor<3x99xi64>, tensor<3x99xi64>, tensor<3x99xui16>, tensor<3x99xi64>, tensor<3x99xui64>, tensor<0x9xf32>, tensor<9x0xi64>) {
  %0 = loom.sort %a axis = 1 {indices = false} : (tensor<3x99xi8>) -> tensor<3x99xi8>
  %1 = loom.sort %b axis = 1 {indices = true} : (tensor<3x99xui8>) -> tensor<3x99xi64>
  %2 = loom.sort %c axis = 1 {indices = true} : (tensor<3x99xi16>) -> tensor<3x99xi64>
  %3 = loom.sort %d axis = 1 {indices = false} : (tensor<3x99xui16>) -> tensor<3x99xui16>
  %4 = loom.sort %e axis = 0 {indices = true} : (tensor<3x99xui32>) -> tensor<3x99xi64>
  %5 = loom.sort %f axis = 1 {indices = false} : (tensor<3x99xui64>) -> tensor<3x99xui64>
  %6 = loom.sort %g axis = 1 {indices = false} : (tensor<0x9xf32>) -> tensor<0x9xf32>
  %7 = loom.sort %h axis = 1 {indices = true} : (tensor<9x0xf32>) -> tensor<9x0xi64>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<3x99xi8>, tensor<3x99xi64>, tensor<3x99xi64>, tensor<3x99xui16>, tensor<3x99xi64>, tensor<3x99xui64>, tensor<0x9xf32>, tensor<9x0xi64>
}
