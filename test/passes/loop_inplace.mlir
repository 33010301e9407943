// Loops take the buffer of what they begin with, and may write over an argument.
// RUN: %loom-opt --loom-plans --split-input-file %s | FileCheck %s

// The result takes the buffer of what the loop begins with.
// CHECK-LABEL: loom.plan @main {
// CHECK: loom.launch @k0 stage = 0 chunks = {{.*}}(%arg2, %arg3)
// CHECK: loom.run "for" [@main_r0] carry = [0] reads = 3(%arg0, %arg3, %arg1, %arg3)
func.func @main(%n: tensor<i64>, %r: tensor<1x100xf64>, %e: tensor<100x100xf64>) -> tensor<100x100xf64> {
  %a = loom.exp %e : tensor<100x100xf64>
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<100x100xf64>):
    %y = loom.update_slice %x, %r starts = [3, 0] steps = [1, 1] : (tensor<100x100xf64>, tensor<1x100xf64>) -> tensor<100x100xf64>
    loom.yield %y : tensor<100x100xf64>
  } : (tensor<i64>, tensor<100x100xf64>) -> tensor<100x100xf64>
  return %0 : tensor<100x100xf64>
}

// -----

// Not when that is read later.
// CHECK-LABEL: loom.plan @main {
// CHECK: %[[A:.*]] = loom.buffer
// CHECK: loom.run "for" [@main_r0] carry = [0] reads = 3(%arg0, %[[A]], %arg1, %arg3)
func.func @main(%n: tensor<i64>, %r: tensor<1x100xf64>, %e: tensor<100x100xf64>) -> (tensor<100x100xf64>, tensor<100xf64>) {
  %a = loom.exp %e : tensor<100x100xf64>
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<100x100xf64>):
    %y = loom.update_slice %x, %r starts = [3, 0] steps = [1, 1] : (tensor<100x100xf64>, tensor<1x100xf64>) -> tensor<100x100xf64>
    loom.yield %y : tensor<100x100xf64>
  } : (tensor<i64>, tensor<100x100xf64>) -> tensor<100x100xf64>
  %s = loom.reduce "sum" %a axes = [0] : (tensor<100x100xf64>) -> tensor<100xf64>
  return %0, %s : tensor<100x100xf64>, tensor<100xf64>
}

// -----

// Nor when the body makes all of it anew.
// CHECK-LABEL: loom.plan @main {
// CHECK: %[[A:.*]] = loom.buffer
// CHECK: loom.run "for" [@main_r0] carry = [0] reads = 2(%arg0, %[[A]], %arg3)
func.func @main(%n: tensor<i64>, %r: tensor<1x100xf64>, %e: tensor<100x100xf64>) -> tensor<100x100xf64> {
  %a = loom.exp %e : tensor<100x100xf64>
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<100x100xf64>):
    %y = loom.add %x, %x : tensor<100x100xf64>
    loom.yield %y : tensor<100x100xf64>
  } : (tensor<i64>, tensor<100x100xf64>) -> tensor<100x100xf64>
  return %0 : tensor<100x100xf64>
}

// -----

// An argument that is written before the loop and in it.
// CHECK-LABEL: loom.plan @main {
// CHECK-NEXT: ^bb0
// CHECK-NEXT: loom.copy_buffer %arg2 to %arg3
// CHECK-NEXT: loom.launch @k1 stage = 0 chunks = 1(%arg3, %arg1, %arg3)
// CHECK-NEXT: loom.run "for" [@main_r0] carry = [0] reads = 3(%arg0, %arg3, %arg1, %arg3)
// CHECK-NEXT: loom.overwrites = array<i64: 2>
func.func @main(%n: tensor<i64>, %r: tensor<1x100xf64>, %a: tensor<100x100xf64>) -> (tensor<100x100xf64> {loom.overwrites = 2 : i64}) {
  %b = loom.update_slice %a, %r starts = [1, 0] steps = [1, 1] : (tensor<100x100xf64>, tensor<1x100xf64>) -> tensor<100x100xf64>
  %0 = loom.for %n init(%b) {
  ^bb0(%i: tensor<i64>, %x: tensor<100x100xf64>):
    %y = loom.update_slice %x, %r starts = [3, 0] steps = [1, 1] : (tensor<100x100xf64>, tensor<1x100xf64>) -> tensor<100x100xf64>
    loom.yield %y : tensor<100x100xf64>
  } : (tensor<i64>, tensor<100x100xf64>) -> tensor<100x100xf64>
  return %0 : tensor<100x100xf64>
}

// -----

// An argument that is written in the loop only: the caller may pass one buffer.
// CHECK-LABEL: loom.plan @main {
// CHECK: loom.run "for" [@main_r0] carry = [0] reads = 3(%arg0, %arg2, %arg1, %arg3)
// CHECK-NEXT: loom.overwrites = array<i64: 2>
func.func @main(%n: tensor<i64>, %r: tensor<1x100xf64>, %a: tensor<100x100xf64>) -> (tensor<100x100xf64> {loom.overwrites = 2 : i64}) {
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<100x100xf64>):
    %y = loom.update_slice %x, %r starts = [3, 0] steps = [1, 1] : (tensor<100x100xf64>, tensor<1x100xf64>) -> tensor<100x100xf64>
    loom.yield %y : tensor<100x100xf64>
  } : (tensor<i64>, tensor<100x100xf64>) -> tensor<100x100xf64>
  return %0 : tensor<100x100xf64>
}

// -----

// Not when the body reads what it was.
// CHECK-LABEL: loom.plan @main {
// CHECK: loom.run "for" [@main_r0] carry = [0] reads = 3(%arg0, %arg2, %arg2, %arg3)
// CHECK-NOT: loom.overwrites
// CHECK: loom.plan @main_r0
func.func @main(%n: tensor<i64>, %r: tensor<1x100xf64>, %a: tensor<100x100xf64>) -> (tensor<100x100xf64> {loom.overwrites = 2 : i64}) {
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<100x100xf64>):
    %q = loom.slice %a starts = [5, 0] sizes = [1, 100] steps = [1, 1] : (tensor<100x100xf64>) -> tensor<1x100xf64>
    %y = loom.update_slice %x, %q starts = [3, 0] steps = [1, 1] : (tensor<100x100xf64>, tensor<1x100xf64>) -> tensor<100x100xf64>
    loom.yield %y : tensor<100x100xf64>
  } : (tensor<i64>, tensor<100x100xf64>) -> tensor<100x100xf64>
  return %0 : tensor<100x100xf64>
}
