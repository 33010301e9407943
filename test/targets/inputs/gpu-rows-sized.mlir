// Kernels of symbolic sizes that teams of threads run (gpu-rows-sized.test).
#n = affine_map<()[s0] -> (s0)>
#nk = affine_map<()[s0] -> (s0, 1000)>
func.func @softmax(%x: tensor<?x1000xf32, #nk>) -> tensor<?x1000xf32, #nk> {
  %m = loom.reduce "max" %x axes = [1] : (tensor<?x1000xf32, #nk>) -> tensor<?xf32, #n>
  %b = loom.broadcast %m dims = [0] : (tensor<?xf32, #n>) -> tensor<?x1000xf32, #nk>
  %0 = loom.sub %x, %b : tensor<?x1000xf32, #nk>
  %e = loom.exp %0 : tensor<?x1000xf32, #nk>
  %s = loom.reduce "sum" %e axes = [1] : (tensor<?x1000xf32, #nk>) -> tensor<?xf32, #n>
  %c = loom.broadcast %s dims = [0] : (tensor<?xf32, #n>) -> tensor<?x1000xf32, #nk>
  %1 = loom.div %e, %c : tensor<?x1000xf32, #nk>
  return %1 : tensor<?x1000xf32, #nk>
}
#nm = affine_map<()[s0, s1] -> (s0, 100 * s1)>
#mn = affine_map<()[s0, s1] -> (100 * s1, s0)>
#m = affine_map<()[s0, s1] -> (100 * s1)>
func.func @centred(%x: tensor<?x?xf32, #nm>) -> (tensor<?x?xf32, #nm>, tensor<?xf32, #n>) {
  %s = loom.reduce "sum" %x axes = [1] : (tensor<?x?xf32, #nm>) -> tensor<?xf32, #n>
  %c = loom.broadcast %s dims = [0] : (tensor<?xf32, #n>) -> tensor<?x?xf32, #nm>
  %0 = loom.sub %x, %c : tensor<?x?xf32, #nm>
  return %0, %s : tensor<?x?xf32, #nm>, tensor<?xf32, #n>
}
func.func @columns(%x: tensor<?x1000xf32, #nk>) -> tensor<1000xf32> {
  %0 = loom.reduce "sum" %x axes = [0] : (tensor<?x1000xf32, #nk>) -> tensor<1000xf32>
  return %0 : tensor<1000xf32>
}
func.func @total(%x: tensor<?x?xf32, #nm>) -> tensor<f32> {
  %0 = loom.reduce "sum" %x axes = [0, 1] : (tensor<?x?xf32, #nm>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @largest(%x: tensor<?x1000xf32, #nk>) -> tensor<?xi64, #n> {
  %0 = loom.reduce "argmax" %x axes = [1] : (tensor<?x1000xf32, #nk>) -> tensor<?xi64, #n>
  return %0 : tensor<?xi64, #n>
}
func.func @running(%x: tensor<?x?xi64, #nm>) -> tensor<?x?xi64, #nm> {
  %0 = loom.scan "sum" %x axis = 1 : tensor<?x?xi64, #nm>
  return %0 : tensor<?x?xi64, #nm>
}
func.func @turned(%x: tensor<?x?xf32, #nm>) -> tensor<?x?xf32, #mn> {
  %t = loom.transpose %x perm = [1, 0] : (tensor<?x?xf32, #nm>) -> tensor<?x?xf32, #mn>
  %0 = loom.neg %t : tensor<?x?xf32, #mn>
  return %0 : tensor<?x?xf32, #mn>
}
func.func @pointwise(%x: tensor<?x?xf32, #nm>, %w: tensor<?xf32, #m>) -> tensor<?x?xf32, #nm> {
  %b = loom.broadcast %w dims = [1] : (tensor<?xf32, #m>) -> tensor<?x?xf32, #nm>
  %0 = loom.add %x, %b : tensor<?x?xf32, #nm>
  return %0 : tensor<?x?xf32, #nm>
}
func.func @bias(%x: tensor<?x1000xf32, #nk>, %w: tensor<1000xf32>) -> tensor<?x1000xf32, #nk> {
  %b = loom.broadcast %w dims = [1] : (tensor<1000xf32>) -> tensor<?x1000xf32, #nk>
  %0 = loom.add %x, %b : tensor<?x1000xf32, #nk>
  return %0 : tensor<?x1000xf32, #nk>
}
func.func @negative(%x: tensor<?x?xf32, #nm>) -> tensor<?x?xf32, #nm> {
  %0 = loom.neg %x : tensor<?x?xf32, #nm>
  return %0 : tensor<?x?xf32, #nm>
}
#k1 = affine_map<()[s0] -> (1, 100 * s0)>
func.func @kept1(%x: tensor<1x?xf32, #k1>) -> (tensor<1x?xf32, #k1>, tensor<1xf32>) {
  %s = loom.reduce "prod" %x axes = [1] : (tensor<1x?xf32, #k1>) -> tensor<1xf32>
  %b = loom.broadcast %s dims = [0] : (tensor<1xf32>) -> tensor<1x?xf32, #k1>
  %0 = loom.sub %x, %b : tensor<1x?xf32, #k1>
  return %0, %s : tensor<1x?xf32, #k1>, tensor<1xf32>
}
#k8 = affine_map<()[s0] -> (8, 100 * s0)>
func.func @kept8(%x: tensor<8x?xf32, #k8>) -> (tensor<8x?xf32, #k8>, tensor<8xf32>) {
  %s = loom.reduce "prod" %x axes = [1] : (tensor<8x?xf32, #k8>) -> tensor<8xf32>
  %b = loom.broadcast %s dims = [0] : (tensor<8xf32>) -> tensor<8x?xf32, #k8>
  %0 = loom.sub %x, %b : tensor<8x?xf32, #k8>
  return %0, %s : tensor<8x?xf32, #k8>, tensor<8xf32>
}
#k12 = affine_map<()[s0] -> (12, 100 * s0)>
func.func @kept12(%x: tensor<12x?xf32, #k12>) -> (tensor<12x?xf32, #k12>, tensor<12xf32>) {
  %s = loom.reduce "max" %x axes = [1] : (tensor<12x?xf32, #k12>) -> tensor<12xf32>
  %b = loom.broadcast %s dims = [0] : (tensor<12xf32>) -> tensor<12x?xf32, #k12>
  %0 = loom.sub %x, %b : tensor<12x?xf32, #k12>
  return %0, %s : tensor<12x?xf32, #k12>, tensor<12xf32>
}
