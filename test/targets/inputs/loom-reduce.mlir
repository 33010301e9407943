func.func @f(%a: tensor<6x8xf32>, %b: tensor<6x8xf32> {loom.strides = array<i64: 1, 6>}, %n: tensor<i64>) -> (tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = loom.add %a, %b : tensor<6x8xf32>
  %1 = loom.mul %0, %0 : tensor<6x8xf32>
  %2 = loom.abs %1 : tensor<6x8xf32>
  %3 = loom.add %2, %b : tensor<6x8xf32>
  %4 = loom.mul %3, %3 : tensor<6x8xf32>
  %5 = loom.sqrt %4 : tensor<6x8xf32>
  %6 = loom.add %5, %b : tensor<6x8xf32>
  %7 = loom.mul %6, %6 : tensor<6x8xf32>
  %8 = loom.abs %7 : tensor<6x8xf32>
  %9 = loom.add %8, %b : tensor<6x8xf32>
  %10 = loom.mul %9, %9 : tensor<6x8xf32>
  %11 = loom.sqrt %10 : tensor<6x8xf32>
  %12 = loom.add %11, %b : tensor<6x8xf32>
  %13 = loom.mul %12, %12 : tensor<6x8xf32>
  %14 = loom.abs %13 : tensor<6x8xf32>
  %15 = loom.sub %14, %b : tensor<6x8xf32>
  %16 = loom.mul %15, %15 : tensor<6x8xf32>
  %17 = loom.sqrt %16 : tensor<6x8xf32>
  %18 = loom.add %17, %b : tensor<6x8xf32>
  %19 = loom.mul %18, %18 : tensor<6x8xf32>
  %20 = loom.abs %19 : tensor<6x8xf32>
  %21 = loom.add %20, %b : tensor<6x8xf32>
  %22 = loom.mul %21, %21 : tensor<6x8xf32>
  %23 = loom.sqrt %22 : tensor<6x8xf32>
  %24 = loom.reduce "sum" %23 axes = [0] : (tensor<6x8xf32>) -> tensor<8xf32>
  %25 = loom.slice %15 starts = [2, 0] sizes = [1, 8] steps = [1, 1] : (tensor<6x8xf32>) -> tensor<1x8xf32>
  %26 = loom.reshape %25 : (tensor<1x8xf32>) -> tensor<8xf32>
  %27 = loom.for %n init(%26) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>):
    %y = loom.tanh %x : tensor<8xf32>
    %z = loom.mul %y, %24 : tensor<8xf32>
    loom.yield %z : tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>) -> tensor<8xf32>
  return %23, %24, %27 : tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>
}
func.func @other(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = loom.log %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
