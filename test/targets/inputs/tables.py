"""A kernel that reads each of many tables: tables.py COUNT"""

import sys

count = int(sys.argv[1])
print("module {")
for i in range(count):
    print(f"llvm.mlir.global internal constant @t{i}(dense<[1, 2, 3]> : tensor<3xi32>) : !llvm.array<3 x i32>")
print("func.func @many(%b: !llvm.ptr, %p: !llvm.ptr, %s: !llvm.ptr, %begin: i64, %end: i64) -> i32 {")
print("%x = llvm.load %b : !llvm.ptr -> !llvm.ptr")
print("%v = llvm.load %x : !llvm.ptr -> i32")
for i in range(count):
    print(f"%a{i} = llvm.mlir.addressof @t{i} : !llvm.ptr")
    print(f"%q{i} = llvm.getelementptr %a{i}[%begin] : (!llvm.ptr, i64) -> !llvm.ptr, i32")
    print(f"%v{i} = llvm.load %q{i} : !llvm.ptr -> i32")
print("return %v : i32")
print("}")
print("}")
