// The extreme of no elements, where a size is symbolic, is what any element replaces: in the interpreter as in kernels.

func.func @f(%a1: tensor<1x19xf32>) -> (tensor<1xf32>, tensor<1x17xf32>) {
  %v1 = loom.slice %a1 starts = [0, 2] sizes = [1, 17] steps = [1, 1] : (tensor<1x19xf32>) -> tensor<1x17xf32>
  %v5 = loom.reduce "max" %v1 axes = [1] : (tensor<1x17xf32>) -> tensor<1xf32>
  return %v5, %v1 : tensor<1xf32>, tensor<1x17xf32>
}
