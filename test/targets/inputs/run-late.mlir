#n = affine_map<()[s0] -> (s0)>
#k = affine_map<()[s0, s1] -> (s1)>
func.func @filtered(%a: tensor<?xi32, #n>) -> tensor<?xi32, #k> {
  %0 = loom.host_call "odd"(%a) effects = "sizes" slot = 0 : (tensor<?xi32, #n>) -> tensor<?xi32, #k>
  return %0 : tensor<?xi32, #k>
}
func.func @between(%a: tensor<?xi32, #n>) -> (tensor<i32>, tensor<?xi32, #k>, tensor<?xi32, #n>) {
  %0 = loom.add %a, %a : tensor<?xi32, #n>
  %1 = loom.sub %0, %a : tensor<?xi32, #n>
  %2 = loom.host_call "odd"(%1) effects = "sizes" slot = 0 : (tensor<?xi32, #n>) -> tensor<?xi32, #k>
  %3 = loom.mul %2, %2 : tensor<?xi32, #k>
  %4 = loom.scan "sum" %3 axis = 0 : tensor<?xi32, #k>
  %5 = loom.reduce "sum" %4 axes = [0] : (tensor<?xi32, #k>) -> tensor<i32>
  %6 = loom.sub %4, %2 : tensor<?xi32, #k>
  return %5, %6, %0 : tensor<i32>, tensor<?xi32, #k>, tensor<?xi32, #n>
}
func.func @squared(%a: tensor<?xi32, #n>) -> tensor<?x?xi32, affine_map<()[s0, s1] -> (s1, s1)>> {
  %2 = loom.host_call "odd"(%a) effects = "sizes" slot = 0 : (tensor<?xi32, #n>) -> tensor<?xi32, #k>
  %3 = loom.broadcast %2 dims = [0] : (tensor<?xi32, #k>) -> tensor<?x?xi32, affine_map<()[s0, s1] -> (s1, s1)>>
  %4 = loom.broadcast %2 dims = [1] : (tensor<?xi32, #k>) -> tensor<?x?xi32, affine_map<()[s0, s1] -> (s1, s1)>>
  %5 = loom.sub %3, %4 : tensor<?x?xi32, affine_map<()[s0, s1] -> (s1, s1)>>
  %6 = loom.dot_general %5, %5 batch = [] x [] contract = [1] x [0] : (tensor<?x?xi32, affine_map<()[s0, s1] -> (s1, s1)>>, tensor<?x?xi32, affine_map<()[s0, s1] -> (s1, s1)>>) -> tensor<?x?xi32, affine_map<()[s0, s1] -> (s1, s1)>>
  return %6 : tensor<?x?xi32, affine_map<()[s0, s1] -> (s1, s1)>>
}
