// Which form kernels for a GPU have: a team is a warp or a block, a unit is its share of a row, or a row.
// RUN: split-file %s %t
// RUN: %loom-opt --loom-plans %t/forms.mlir | FileCheck %s --check-prefix=FORM
// RUN: %loom-opt --loom-lowered %t/one.mlir | FileCheck %s --check-prefix=CODE

//--- forms.mlir
module attributes {loom.target = "nvptx"} {
  // One row of 5003 floats: vectors of 4, blocks of 256 threads, and a rest of single elements.
  // FORM-LABEL: ^bb0({{.*}}tensor<5003xf32>
  // FORM: schedule = {block = 1024 : i64, blocks = 5 : i64,{{.*}} tail = 2 : i64, team = 256 : i64, units = 1 : i64, width = 4 : i64}
  func.func @main(%x: tensor<5003xf32>) -> tensor<5003xf32> {
    %0 = loom.neg %x : tensor<5003xf32>
    return %0 : tensor<5003xf32>
  }
  // Short rows with an operand of their own: a warp each, eight in a block. Rows are 136 bytes apart, and vectors of 4 halves fit.
  // FORM-LABEL: ^bb0({{.*}}tensor<33x68xbf16>
  // FORM: schedule = {block = 68 : i64, blocks = 1 : i64,{{.*}} tail = 0 : i64, team = 32 : i64, units = 8 : i64, width = 4 : i64}
  func.func @short(%x: tensor<33x68xbf16>, %y: tensor<68xbf16>) -> tensor<33x68xbf16> {
    %b = loom.broadcast %y dims = [1] : (tensor<68xbf16>) -> tensor<33x68xbf16>
    %1 = loom.add %x, %b : tensor<33x68xbf16>
    return %1 : tensor<33x68xbf16>
  }
  // Rows that are no multiple of a vector apart have single elements; so have short ones that are read turned.
  // FORM-LABEL: ^bb0({{.*}}tensor<33x67xf32>
  // FORM: team = 32 : i64, units = 8 : i64, width = 1 : i64}
  func.func @odd(%x: tensor<33x67xf32>, %y: tensor<67xf32>) -> tensor<33x67xf32> {
    %b = loom.broadcast %y dims = [1] : (tensor<67xf32>) -> tensor<33x67xf32>
    %1 = loom.add %x, %b : tensor<33x67xf32>
    return %1 : tensor<33x67xf32>
  }
  // FORM-LABEL: ^bb0({{.*}}tensor<8x64xf32>
  // FORM: team = 32 : i64, units = 8 : i64, width = 1 : i64}
  func.func @turned(%x: tensor<64x8xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
    %t = loom.transpose %x perm = [1, 0] : (tensor<64x8xf32>) -> tensor<8x64xf32>
    %m = loom.add %t, %y : tensor<8x64xf32>
    return %m : tensor<8x64xf32>
  }
  // The widest element decides: 2 doubles.
  // FORM-LABEL: ^bb0({{.*}}tensor<2000xf64>
  // FORM: team = 256 : i64, units = 1 : i64, width = 2 : i64}
  func.func @mixed(%x: tensor<2000xf64>) -> tensor<2000xf32> {
    %0 = loom.convert %x : (tensor<2000xf64>) -> tensor<2000xf32>
    return %0 : tensor<2000xf32>
  }
  // A row of up to 1024 elements is a warp's, a longer one a block's.
  // FORM-LABEL: ^bb0({{.*}}tensor<10x1024xf32>
  // FORM: reduce_width = 4 : i64,{{.*}} team = 32 : i64, units = 8 : i64, width = 4 : i64}
  func.func @rows(%x: tensor<10x1024xf32>) -> tensor<10xf32> {
    %0 = loom.reduce "sum" %x axes = [1] : (tensor<10x1024xf32>) -> tensor<10xf32>
    return %0 : tensor<10xf32>
  }
  // FORM-LABEL: ^bb0({{.*}}tensor<10x1028xf32>
  // FORM: reduce_width = 4 : i64,{{.*}} team = 256 : i64, units = 1 : i64, width = 4 : i64}
  func.func @long(%x: tensor<10x1028xf32>) -> tensor<10xf32> {
    %0 = loom.reduce "sum" %x axes = [1] : (tensor<10x1028xf32>) -> tensor<10xf32>
    return %0 : tensor<10xf32>
  }
  // A long row alone is cut into parts of whole blocks.
  // FORM-LABEL: ^bb0({{.*}}tensor<100000xf32>
  // FORM: split_size = 5120 : i64, splits = 20 : i64,{{.*}} team = 256 : i64, units = 1 : i64, width = 4 : i64}{{.*}} stages = array<i64: 20, 1>
  func.func @whole(%x: tensor<100000xf32>) -> tensor<f32> {
    %0 = loom.reduce "sum" %x axes = [0] : (tensor<100000xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  // There are about a thousand blocks at most.
  // FORM-LABEL: ^bb0({{.*}}tensor<3x90000000xf32>
  // FORM: split_size = 264192 : i64, splits = 341 : i64,{{.*}} stages = array<i64: 1023, 3>
  func.func @huge(%x: tensor<3x90000000xf32>) -> tensor<3xf32> {
    %0 = loom.reduce "sum" %x axes = [1] : (tensor<3x90000000xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  // Columns of many rows: 32 threads have vectors of 4 columns, eight teams of a block share the rows of a part.
  // FORM-LABEL: ^bb0({{.*}}tensor<4096x512xf32>
  // FORM: block = 128 : i64, blocks = 4 : i64, join = 128 : i64,{{.*}} split_size = 128 : i64, splits = 32 : i64,{{.*}} team = 32 : i64, teams = 8 : i64, units = 1 : i64, width = 4 : i64}{{.*}} stages = array<i64: 128, 4>
  func.func @tall(%x: tensor<4096x512xf32>) -> tensor<512xf32> {
    %0 = loom.reduce "sum" %x axes = [0] : (tensor<4096x512xf32>) -> tensor<512xf32>
    return %0 : tensor<512xf32>
  }
  // Three columns: four threads are a team, and one of them has none.
  // FORM-LABEL: ^bb0({{.*}}tensor<60x3xi64>
  // FORM: block = 4 : i64, blocks = 1 : i64,{{.*}} splits = 0 : i64,{{.*}} team = 4 : i64, teams = 64 : i64, units = 1 : i64, width = 1 : i64}
  func.func @narrow(%x: tensor<60x3xi64>) -> tensor<3xi64> {
    %0 = loom.reduce "max" %x axes = [0] : (tensor<60x3xi64>) -> tensor<3xi64>
    return %0 : tensor<3xi64>
  }
  // Columns of few rows: each thread reduces some of its own.
  // FORM-LABEL: ^bb0({{.*}}tensor<7x2004xf32>
  // FORM: reduce_width = 1 : i64,{{.*}} team = 256 : i64, units = 1 : i64, width = 4 : i64}
  func.func @columns(%x: tensor<7x2004xf32>) -> tensor<2004xf32> {
    %0 = loom.reduce "sum" %x axes = [0] : (tensor<7x2004xf32>) -> tensor<2004xf32>
    return %0 : tensor<2004xf32>
  }
  // Symbolic sizes have teams and vectors, too; how many blocks there are is an expression.
  // FORM-LABEL: ^bb0({{.*}}tensor<?x5xf32
  // FORM: schedule = {block = 1024 : i64, blocks = [[BLOCKS:-[0-9]+]] : i64,{{.*}} tail = 2 : i64, team = 256 : i64, units = 1 : i64, width = 4 : i64}
  // FORM-SAME: stages = array<i64: [[BLOCKS]]>
  func.func @sized(%x: tensor<?x5xf32, affine_map<()[s0] -> (s0, 5)>>) -> tensor<?x5xf32, affine_map<()[s0] -> (s0, 5)>> {
    %0 = loom.neg %x : tensor<?x5xf32, affine_map<()[s0] -> (s0, 5)>>
    return %0 : tensor<?x5xf32, affine_map<()[s0] -> (s0, 5)>>
  }
  // A scan of short rows keeps a thread a chunk.
  // FORM-LABEL: ^bb0({{.*}}tensor<300x5xf32>
  // FORM-NOT: team
  func.func @scan(%x: tensor<300x5xf32>) -> tensor<300x5xf32> {
    %0 = loom.scan "sum" %x axis = 1 : tensor<300x5xf32>
    return %0 : tensor<300x5xf32>
  }
  // FORM: stages = array<i64: 300>
}
//--- one.mlir
module attributes {loom.target = "nvptx"} {
  // The kernel asks where its buffers begin, and has code for both answers. Numbers of units have 32 bits.
  // CODE-LABEL: func.func private @k0_s0_body(
  // CODE: %[[THREAD:.*]] = call @loom_gpu_thread() : () -> i32
  // CODE: %[[MEMBER:.*]] = arith.remui %[[THREAD]], %{{.*}} : i32
  // CODE: arith.trunci %{{.*}} : i64 to i32
  // CODE: llvm.ptrtoint
  // CODE: llvm.ptrtoint
  // CODE: %[[ALIGNED:.*]] = arith.cmpi eq
  // CODE: scf.if %[[ALIGNED]] {
  // CODE: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
  // CODE: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
  // CODE: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> f32
  // CODE: scf.if
  // CODE: scf.for
  // CODE: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> f32
  // CODE: func.func @k0_s0({{.*}}) -> i32 attributes {passthrough = {{\[\[}}"loom-gpu-threads", "256"]]}
  // CODE: func.func private @loom_gpu_thread() -> i32
  func.func @main(%x: tensor<5003xf32>) -> tensor<5003xf32> {
    %0 = loom.neg %x : tensor<5003xf32>
    return %0 : tensor<5003xf32>
  }
}
