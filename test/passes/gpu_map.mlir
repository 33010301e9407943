// Numbers of tensor maps (gpu_map.c). For each operand: its buffer, bytes of an element, a box, an offset, three extents and two strides in
// bytes. One that only a launch knows is factor*parameter*parameter+constant.
// RUN: split-file %s %t
// RUN: %loom-opt --loom-lowered %t/rows.mlir | FileCheck %s --check-prefix=ROWS
// RUN: %loom-opt --loom-lowered %t/batches.mlir | FileCheck %s --check-prefix=BATCHES

// The rows of x are the launch's parameter 0.
// ROWS: "loom-gpu-maps", "0 2 64 128 0 72 1*0 1 144 144 1 2 64 256 0 72 136 1 144 144"
//--- rows.mlir
#a = affine_map<()[s0] -> (s0, 72)>
#o = affine_map<()[s0] -> (s0, 136)>
module attributes {loom.matrix = "wgmma", loom.processors = 1 : i64, loom.target = "nvptx"} {
  func.func @main(%x: tensor<?x72xbf16, #a>, %w: tensor<136x72xbf16>) -> tensor<?x136xbf16, #o> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [1] x [1] : (tensor<?x72xbf16, #a>, tensor<136x72xbf16>) -> tensor<?x136xbf16, #o>
    return %0 : tensor<?x136xbf16, #o>
  }
}

// Batches that lie behind one another are rows: 3 * (2 * s0 + 5) of them.
// BATCHES: "loom-gpu-maps", "0 4 32 128 0 72 6*0+15 1 288 288 1 4 32 256 0 72 136 1 288 288"
//--- batches.mlir
#h = affine_map<()[s0] -> (3, 2 * s0 + 5, 72)>
#i = affine_map<()[s0] -> (3, 2 * s0 + 5, 136)>
module attributes {loom.matrix = "wgmma", loom.processors = 1 : i64, loom.target = "nvptx", loom.tf32} {
  func.func @main(%x: tensor<3x?x72xf32, #h>, %w: tensor<136x72xf32>) -> tensor<3x?x136xf32, #i> {
    %0 = loom.dot_general %x, %w batch = [] x [] contract = [2] x [1] : (tensor<3x?x72xf32, #h>, tensor<136x72xf32>) -> tensor<3x?x136xf32, #i>
    return %0 : tensor<3x?x136xf32, #i>
  }
}
