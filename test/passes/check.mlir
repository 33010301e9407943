// RUN: %loom-opt %s --split-input-file --loom-schedule --loom-lower --loom-check --verify-diagnostics | FileCheck %s

// Whole vectors are compared as one, the lanes of a tail one by one; what lies outside is written down, and an
// access of spare memory, or one without the lanes, takes its place.
// CHECK: module attributes {loom.site_buffers = array<i64: 0, 1, 0, 1>, loom.site_bytes = array<i64: 64, 64, 4, 4>
// CHECK-SAME: "load of 64 bytes in kernel exp_s0,
// CHECK-SAME: "store of 64 bytes in kernel exp_s0,
// CHECK-LABEL: func.func private @exp_s0_body
// CHECK-SAME: %[[A:[a-z0-9_]+]]: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr{{.*}}, %[[FRAME:[a-z0-9_]+]]: !llvm.ptr) -> i32
// CHECK: %[[BEGIN:[a-z0-9_]+]] = llvm.ptrtoint %[[A]]
// CHECK: %[[LOW:[a-z0-9_]+]] = llvm.load %{{.*}} -> i64
// CHECK: %[[START:[a-z0-9_]+]] = arith.addi %[[BEGIN]], %[[LOW]]
// CHECK: %[[SIZE:[a-z0-9_]+]] = llvm.load %{{.*}} -> i64
// CHECK: %[[FITS:[a-z0-9_]+]] = arith.cmpi uge, %[[SIZE]], %c64
// CHECK: %[[ROOM:[a-z0-9_]+]] = arith.subi %[[SIZE]], %c63
// CHECK: %[[LIMIT:[a-z0-9_]+]] = arith.select %[[FITS]], %[[ROOM]], %c0
// CHECK: scf.for
// CHECK: %[[P:[a-z0-9_]+]] = llvm.getelementptr %[[A]]
// CHECK: %[[AT:[a-z0-9_]+]] = llvm.ptrtoint %[[P]]
// CHECK: %[[OFFSET:[a-z0-9_]+]] = arith.subi %[[AT]], %[[START]]
// CHECK: %[[BAD:[a-z0-9_]+]] = arith.cmpi uge, %[[OFFSET]], %[[LIMIT]]
// CHECK: scf.if %[[BAD]]
// CHECK: llvm.atomicrmw xchg %[[FRAME]]
// CHECK: %[[SAFE:[a-z0-9_]+]] = arith.select %[[BAD]], %{{.*}}, %[[P]] : !llvm.ptr
// CHECK: llvm.load %[[SAFE]] {{.*}} -> vector<16xf32>
// CHECK: scf.for
// CHECK: %[[BEYOND:[a-z0-9_]+]] = arith.cmpi uge, {{.*}} : vector<16xi64>
// CHECK: llvm.intr.vector.reduce.or
// CHECK: %[[LEFT:[a-z0-9_]+]] = arith.andi %{{.*}}, %[[MASK:[a-z0-9_]+]] : vector<16xi1>
// CHECK: llvm.intr.masked.load %{{.*}}, %[[LEFT]],
// CHECK-LABEL: func.func @exp_s0(
// CHECK: llvm.getelementptr %arg0[%c-1
// CHECK: call @exp_s0_body
module {
  loom.kernel @exp {
  ^bb0(%a: tensor<1000xf32>):
    %0 = loom.neg %a : tensor<1000xf32>
    loom.yield %0 : tensor<1000xf32>
  } {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}
}

// -----

// The locations of a module that is to be checked have the ops' names.
// CHECK: loom.sites = ["load of 4 bytes in kernel named_s0, loom.sqrt,
// CHECK-SAME: "store of 4 bytes in kernel named_s0, loom.abs,
module attributes {loom.check} {
  loom.kernel @named {
  ^bb0(%a: tensor<1xf32>):
    %0 = loom.sqrt %a : tensor<1xf32>
    %1 = loom.abs %0 : tensor<1xf32>
    loom.yield %1 : tensor<1xf32>
  } {strides = [array<i64: 1>, array<i64: 1>], scalars = array<i64>, inplace = array<i64: -1>}
}

// -----

// What is fetched ahead has to lie in its buffer, too.
// CHECK: loom.site_buffers = array<i64: 1, 0>, loom.site_bytes = array<i64: 1, 4>
// CHECK-SAME: "prefetch of 1 bytes in kernel ahead,
// CHECK: %[[GOOD:[a-z0-9_]+]] = arith.select %{{.*}} : !llvm.ptr
// CHECK: "llvm.intr.prefetch"(%[[GOOD]])
module {
  func.func @ahead(%b: !llvm.ptr, %p: !llvm.ptr, %s: !llvm.ptr, %begin: i64, %end: i64) -> i32 {
    %one = arith.constant 1 : i64
    %x = llvm.load %b : !llvm.ptr -> !llvm.ptr
    %at = llvm.getelementptr %b[%one] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
    %y = llvm.load %at : !llvm.ptr -> !llvm.ptr
    %q = llvm.getelementptr %y[%end] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    "llvm.intr.prefetch"(%q) <{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32}> : (!llvm.ptr) -> ()
    %v = llvm.load %x : !llvm.ptr -> i32
    return %v : i32
  }
}

// -----

module {
  func.func @integers(%b: !llvm.ptr, %p: !llvm.ptr, %s: !llvm.ptr, %begin: i64, %end: i64) -> i32 {
    // expected-error @below {{'llvm.inttoptr' on pointers cannot be checked}}
    %q = llvm.inttoptr %begin : i64 to !llvm.ptr
    %v = llvm.load %q : !llvm.ptr -> i32
    return %v : i32
  }
}

// -----

module {
  func.func @two(%b: !llvm.ptr, %p: !llvm.ptr, %s: !llvm.ptr, %begin: i64, %end: i64) -> i32 {
    %x = llvm.load %b : !llvm.ptr -> !llvm.ptr
    %c = arith.cmpi eq, %begin, %end : i64
    %q = arith.select %c, %x, %s : !llvm.ptr
    // expected-error @below {{which buffer a load accesses cannot be told}}
    %v = llvm.load %q : !llvm.ptr -> i32
    return %v : i32
  }
}

// -----

module {
  func.func @far(%b: !llvm.ptr, %p: !llvm.ptr, %s: !llvm.ptr, %begin: i64, %end: i64) -> i32 {
    %x = llvm.load %b : !llvm.ptr -> !llvm.ptr
    // expected-error @below {{a pointer comes from memory that is not the array of buffers}}
    %y = llvm.load %x : !llvm.ptr -> !llvm.ptr
    %v = llvm.load %y : !llvm.ptr -> i32
    return %v : i32
  }
}

// -----

module {
  func.func @carried(%b: !llvm.ptr, %p: !llvm.ptr, %s: !llvm.ptr, %begin: i64, %end: i64) -> i32 {
    %x = llvm.load %b : !llvm.ptr -> !llvm.ptr
    %one = arith.constant 1 : i64
    // expected-error @below {{a loop carries a pointer from one buffer to another}}
    %q = scf.for %i = %begin to %end step %one iter_args(%r = %x) -> (!llvm.ptr) : i64 {
      scf.yield %s : !llvm.ptr
    }
    %v = llvm.load %q : !llvm.ptr -> i32
    return %v : i32
  }
}

// -----

module {
  // expected-error @below {{no kernel calls this function}}
  func.func private @alone(%p: !llvm.ptr) -> i32 {
    %v = llvm.load %p : !llvm.ptr -> i32
    return %v : i32
  }
}
