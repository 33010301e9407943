// Functions of symbolic sizes for GPUs: gpu-accept.test runs them on the simulator, and puts them through the vendors' tools.
#nm = affine_map<()[s0, s1] -> (s0, s1)>
#mn = affine_map<()[s0, s1] -> (s1, s0)>
#n = affine_map<()[s0] -> (s0)>
#m = affine_map<()[s0, s1] -> (s1)>
func.func @centred(%x: tensor<?x?xf32, #nm>, %w: tensor<?xf32, #m>) -> (tensor<?x?xf32, #nm>, tensor<?xf32, #n>) {
  %b = loom.broadcast %w dims = [1] : (tensor<?xf32, #m>) -> tensor<?x?xf32, #nm>
  %0 = loom.mul %x, %b : tensor<?x?xf32, #nm>
  %1 = loom.reduce "max" %0 axes = [1] : (tensor<?x?xf32, #nm>) -> tensor<?xf32, #n>
  %2 = loom.broadcast %1 dims = [0] : (tensor<?xf32, #n>) -> tensor<?x?xf32, #nm>
  %3 = loom.sub %0, %2 : tensor<?x?xf32, #nm>
  return %3, %1 : tensor<?x?xf32, #nm>, tensor<?xf32, #n>
}
func.func @columns(%x: tensor<?x?xf32, #nm>) -> (tensor<?xf32, #m>, tensor<f32>) {
  %0 = loom.reduce "max" %x axes = [0] : (tensor<?x?xf32, #nm>) -> tensor<?xf32, #m>
  %1 = loom.reduce "min" %x axes = [0, 1] : (tensor<?x?xf32, #nm>) -> tensor<f32>
  return %0, %1 : tensor<?xf32, #m>, tensor<f32>
}
func.func @turned(%x: tensor<?x?xf16, #nm>, %y: tensor<?x?xf16, #mn>) -> tensor<?x?xf16, #mn> {
  %t = loom.transpose %x perm = [1, 0] : (tensor<?x?xf16, #nm>) -> tensor<?x?xf16, #mn>
  %0 = loom.add %t, %y : tensor<?x?xf16, #mn>
  return %0 : tensor<?x?xf16, #mn>
}
func.func @running(%x: tensor<?x?xi64, #nm>) -> (tensor<?x?xi64, #nm>, tensor<?x?xi64, #nm>) {
  %0 = loom.scan "sum" %x axis = 1 : tensor<?x?xi64, #nm>
  %1 = loom.scan "sum" %x axis = 0 : tensor<?x?xi64, #nm>
  return %0, %1 : tensor<?x?xi64, #nm>, tensor<?x?xi64, #nm>
}
func.func @places(%x: tensor<?x?xf32, #nm>) -> tensor<?xi64, #n> {
  %0 = loom.reduce "argmin" %x axes = [1] : (tensor<?x?xf32, #nm>) -> tensor<?xi64, #n>
  return %0 : tensor<?xi64, #n>
}
