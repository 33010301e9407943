// out[i] = a[i] + b[i] * 3 over chunks of 64 floats, in the kernel ABI.
llvm.func internal @body(%a: !llvm.ptr {llvm.noalias}, %b: !llvm.ptr {llvm.noalias}, %c: !llvm.ptr {llvm.noalias}, %i: i64) attributes {always_inline} {
  %three = llvm.mlir.constant(dense<3.0> : vector<8xf32>) : vector<8xf32>
  %pa = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %pb = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %pc = llvm.getelementptr %c[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %pa {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
  %y = llvm.load %pb {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
  %m = llvm.fmul %y, %three : vector<8xf32>
  %s = llvm.fadd %x, %m : vector<8xf32>
  llvm.store %s, %pc {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
  llvm.return
}
llvm.func @add_s0(%buffers: !llvm.ptr, %params: !llvm.ptr, %scratch: !llvm.ptr, %begin: i64, %end: i64) -> i32 {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %lanes = llvm.mlir.constant(8 : i64) : i64
  %chunk = llvm.mlir.constant(64 : i64) : i64
  %p1 = llvm.getelementptr %buffers[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %p2 = llvm.getelementptr %buffers[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %a = llvm.load %buffers : !llvm.ptr -> !llvm.ptr
  %b = llvm.load %p1 : !llvm.ptr -> !llvm.ptr
  %c = llvm.load %p2 : !llvm.ptr -> !llvm.ptr
  %first = llvm.mul %begin, %chunk : i64
  %last = llvm.mul %end, %chunk : i64
  llvm.br ^head(%first : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %last : i64
  llvm.cond_br %more, ^loop, ^done
^loop:
  llvm.call @body(%a, %b, %c, %i) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
  %next = llvm.add %i, %lanes : i64
  llvm.br ^head(%next : i64)
^done:
  llvm.return %zero : i32
}
// out[i] = fmod(a[i], b[i]): a call of the support table.
llvm.func @rem_s0(%buffers: !llvm.ptr, %params: !llvm.ptr, %scratch: !llvm.ptr, %begin: i64, %end: i64) -> i32 {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i64) : i64
  %p1 = llvm.getelementptr %buffers[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %p2 = llvm.getelementptr %buffers[2] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %a = llvm.load %buffers : !llvm.ptr -> !llvm.ptr
  %b = llvm.load %p1 : !llvm.ptr -> !llvm.ptr
  %c = llvm.load %p2 : !llvm.ptr -> !llvm.ptr
  llvm.br ^head(%begin : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %more, ^loop, ^done
^loop:
  %pa = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %pb = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %pc = llvm.getelementptr %c[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %x = llvm.load %pa : !llvm.ptr -> f32
  %y = llvm.load %pb : !llvm.ptr -> f32
  %s = llvm.frem %x, %y : f32
  llvm.store %s, %pc : f32, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^head(%next : i64)
^done:
  llvm.return %zero : i32
}
