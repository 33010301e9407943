// Weighted rows of a matrix of any size, less their sums; their sums, and its product with its own transpose.
#nm = affine_map<()[s0, s1] -> (s0, s1)>
#nn = affine_map<()[s0] -> (s0, s0)>
#n = affine_map<()[s0] -> (s0)>
#m = affine_map<()[s0, s1] -> (s1)>
func.func @rows(%x: tensor<?x?xf32, #nm>, %w: tensor<?xf32, #m>) -> (tensor<?x?xf32, #nm>, tensor<?xf32, #n>, tensor<?x?xf32, #nn>) {
  %mb = loom.broadcast %w dims = [1] : (tensor<?xf32, #m>) -> tensor<?x?xf32, #nm>
  %0 = loom.mul %x, %mb : tensor<?x?xf32, #nm>
  %1 = loom.reduce "sum" %0 axes = [1] : (tensor<?x?xf32, #nm>) -> tensor<?xf32, #n>
  %2 = loom.broadcast %1 dims = [0] : (tensor<?xf32, #n>) -> tensor<?x?xf32, #nm>
  %3 = loom.sub %0, %2 : tensor<?x?xf32, #nm>
  %4 = loom.dot_general %3, %x batch = [] x [] contract = [1] x [1] : (tensor<?x?xf32, #nm>, tensor<?x?xf32, #nm>) -> tensor<?x?xf32, #nn>
  %5 = loom.transpose %4 perm = [1, 0] : (tensor<?x?xf32, #nn>) -> tensor<?x?xf32, #nn>
  %6 = loom.add %4, %5 : tensor<?x?xf32, #nn>
  return %3, %1, %6 : tensor<?x?xf32, #nm>, tensor<?xf32, #n>, tensor<?x?xf32, #nn>
}
