// Random numbers, alone and inside groups, at layouts and views of all kinds.
func.func @uniform(%k: tensor<2xui64>, %c: tensor<2xui64>) -> (tensor<7x9xf32>, tensor<5x3xf64> {loom.strides = array<i64: 1, 5>}, tensor<9xf32>) {
  %0 = loom.random "uniform" %k, %c : (tensor<2xui64>, tensor<2xui64>) -> tensor<7x9xf32>
  %1 = loom.random "uniform" %k, %c : (tensor<2xui64>, tensor<2xui64>) -> tensor<5x3xf64>
  %2 = loom.reduce "sum" %0 axes = [0] : (tensor<7x9xf32>) -> tensor<9xf32>
  return %0, %1, %2 : tensor<7x9xf32>, tensor<5x3xf64>, tensor<9xf32>
}
func.func @bits(%k: tensor<2xui64>) -> (tensor<67xui32>, tensor<33xui64>) {
  %m = loom.constant(18446744073709551614 : ui64) : tensor<2xui64>
  %0 = loom.random "bits" %k, %m : (tensor<2xui64>, tensor<2xui64>) -> tensor<67xui32>
  %1 = loom.random "bits" %k, %m : (tensor<2xui64>, tensor<2xui64>) -> tensor<33xui64>
  return %0, %1 : tensor<67xui32>, tensor<33xui64>
}
func.func @normal(%k: tensor<2xui64>, %c: tensor<2xui64>) -> (tensor<301xf64>, tensor<50x7xf32>) {
  %0 = loom.random "normal" %k, %c : (tensor<2xui64>, tensor<2xui64>) -> tensor<301xf64>
  %1 = loom.random "normal" %k, %c : (tensor<2xui64>, tensor<2xui64>) -> tensor<50x7xf32>
  return %0, %1 : tensor<301xf64>, tensor<50x7xf32>
}
func.func @dropout(%x: tensor<1000x130xf32>, %k: tensor<2xui64>, %c: tensor<2xui64>) -> tensor<1000x130xf32> {
  %0 = loom.random "uniform" %k, %c : (tensor<2xui64>, tensor<2xui64>) -> tensor<1000x130xf32>
  %p = loom.constant(0.5 : f32) : tensor<1000x130xf32>
  %z = loom.constant(0.0 : f32) : tensor<1000x130xf32>
  %1 = loom.compare "lt" %0, %p : (tensor<1000x130xf32>, tensor<1000x130xf32>) -> tensor<1000x130xi1>
  %2 = loom.select %1, %x, %z : (tensor<1000x130xi1>, tensor<1000x130xf32>, tensor<1000x130xf32>) -> tensor<1000x130xf32>
  return %2 : tensor<1000x130xf32>
}
func.func @reshaped(%i: tensor<40xi64>, %k: tensor<2xui64>, %c: tensor<2xui64>) -> (tensor<6x5xf32>, tensor<5x6xf32>) {
  %0 = loom.random "uniform" %k, %c : (tensor<2xui64>, tensor<2xui64>) -> tensor<30xf32>
  %1 = loom.reshape %0 : (tensor<30xf32>) -> tensor<6x5xf32>
  %2 = loom.transpose %1 perm = [1, 0] : (tensor<6x5xf32>) -> tensor<5x6xf32>
  %3 = loom.neg %2 : tensor<5x6xf32>
  return %1, %3 : tensor<6x5xf32>, tensor<5x6xf32>
}
func.func @big(%k: tensor<2xui64>, %c: tensor<2xui64>) -> tensor<1048576xf32> {
  %0 = loom.random "uniform" %k, %c : (tensor<2xui64>, tensor<2xui64>) -> tensor<1048576xf32>
  return %0 : tensor<1048576xf32>
}
