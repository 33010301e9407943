// RUN: %loom-opt %s --loom-sums --split-input-file | FileCheck %s

// Rows that are added to zeros and then to something are added to that.
// CHECK-LABEL: func.func @rows
// CHECK: %[[B:.*]] = loom.exp
// CHECK-NOT: loom.add
// CHECK: %[[S:.*]] = loom.scatter "add" %[[B]], %arg1, %arg2 axis = 0
// CHECK: return %[[S]]
module attributes {loom.open_sums} {
  func.func @rows(%a: tensor<50x16xf32>, %i: tensor<7xi64>, %v: tensor<7x16xf32>) -> tensor<50x16xf32> {
    %0 = loom.exp %a : tensor<50x16xf32>
    %1 = loom.constant(0.000000e+00 : f32) : tensor<50x16xf32>
    %2 = loom.scatter "add" %1, %i, %v axis = 0 : (tensor<50x16xf32>, tensor<7xi64>, tensor<7x16xf32>) -> tensor<50x16xf32>
    %3 = loom.add %2, %0 : tensor<50x16xf32>
    return %3 : tensor<50x16xf32>
  }
}

// -----

// Not where something else reads the rows or what they are added to, where that is an argument, or where they are added to
// other things than zeros.
// CHECK-LABEL: func.func @not_rows
// CHECK-COUNT-4: loom.add
module attributes {loom.open_sums} {
  func.func @not_rows(%a: tensor<50x16xf32>, %i: tensor<7xi64>, %v: tensor<7x16xf32>) -> (tensor<50x16xf32>, tensor<50x16xf32>, tensor<50x16xf32>, tensor<50x16xf32>, tensor<50x16xf32>, tensor<50x16xf32>) {
    %0 = loom.exp %a : tensor<50x16xf32>
    %1 = loom.constant(0.000000e+00 : f32) : tensor<50x16xf32>
    %2 = loom.scatter "add" %1, %i, %v axis = 0 : (tensor<50x16xf32>, tensor<7xi64>, tensor<7x16xf32>) -> tensor<50x16xf32>
    %3 = loom.add %2, %0 : tensor<50x16xf32>
    %4 = loom.sin %a : tensor<50x16xf32>
    %5 = loom.scatter "add" %1, %i, %v axis = 0 : (tensor<50x16xf32>, tensor<7xi64>, tensor<7x16xf32>) -> tensor<50x16xf32>
    %6 = loom.add %4, %5 : tensor<50x16xf32>
    %7 = loom.scatter "add" %1, %i, %v axis = 0 : (tensor<50x16xf32>, tensor<7xi64>, tensor<7x16xf32>) -> tensor<50x16xf32>
    %8 = loom.add %7, %a : tensor<50x16xf32>
    %9 = loom.cos %a : tensor<50x16xf32>
    %10 = loom.constant(1.000000e+00 : f32) : tensor<50x16xf32>
    %11 = loom.scatter "add" %10, %i, %v axis = 0 : (tensor<50x16xf32>, tensor<7xi64>, tensor<7x16xf32>) -> tensor<50x16xf32>
    %12 = loom.add %9, %11 : tensor<50x16xf32>
    return %3, %2, %6, %4, %8, %12 : tensor<50x16xf32>, tensor<50x16xf32>, tensor<50x16xf32>, tensor<50x16xf32>, tensor<50x16xf32>, tensor<50x16xf32>
  }
}

// -----

// Four flat products, one of them transposed as a whole, one with a transposed operand: one product. Its operands lie one
// after another along the dimension that is summed over.
// CHECK-LABEL: func.func @products
// CHECK: %[[T:.*]] = loom.transpose %arg6 perm = [1, 0] : (tensor<32x2xf32>) -> tensor<2x32xf32>
// CHECK: %[[L:.*]] = loom.concatenate %arg0, %arg2, %arg5, %[[T]] axis = 0 : {{.*}} -> tensor<8x32xf32>
// CHECK: %[[R:.*]] = loom.concatenate %arg1, %arg3, %arg4, %arg7 axis = 0 : {{.*}} -> tensor<8x24xf32>
// CHECK: %[[P:.*]] = loom.dot_general %[[L]], %[[R]] batch = [] x [] contract = [0] x [0]
// CHECK-NOT: loom.add
// CHECK: return %[[P]]
module attributes {loom.open_sums} {
  func.func @products(%a: tensor<2x32xf32>, %b: tensor<2x24xf32>, %c: tensor<2x32xf32>, %d: tensor<2x24xf32>, %e: tensor<2x24xf32>, %f: tensor<2x32xf32>, %g: tensor<32x2xf32>, %h: tensor<2x24xf32>) -> tensor<32x24xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [0] x [0] : (tensor<2x32xf32>, tensor<2x24xf32>) -> tensor<32x24xf32>
    %1 = loom.transpose %c perm = [1, 0] : (tensor<2x32xf32>) -> tensor<32x2xf32>
    %2 = loom.dot_general %1, %d batch = [] x [] contract = [1] x [0] : (tensor<32x2xf32>, tensor<2x24xf32>) -> tensor<32x24xf32>
    %3 = loom.add %0, %2 : tensor<32x24xf32>
    %4 = loom.dot_general %e, %f batch = [] x [] contract = [0] x [0] : (tensor<2x24xf32>, tensor<2x32xf32>) -> tensor<24x32xf32>
    %5 = loom.transpose %4 perm = [1, 0] : (tensor<24x32xf32>) -> tensor<32x24xf32>
    %6 = loom.add %5, %3 : tensor<32x24xf32>
    %7 = loom.dot_general %g, %h batch = [] x [] contract = [1] x [0] : (tensor<32x2xf32>, tensor<2x24xf32>) -> tensor<32x24xf32>
    %8 = loom.add %6, %7 : tensor<32x24xf32>
    return %8 : tensor<32x24xf32>
  }
}

// -----

// Another reader has the right operands one after another already, in another order and behind the sum: the product takes
// them from there.
// CHECK-LABEL: func.func @joined
// CHECK: %[[J:.*]] = loom.concatenate %arg3, %arg2, %arg1, %arg0 axis = 0
// CHECK: %[[L:.*]] = loom.concatenate %arg7, %arg6, %arg5, %arg4 axis = 0
// CHECK: %[[P:.*]] = loom.dot_general %[[L]], %[[J]] batch = [] x [] contract = [0] x [0]
// CHECK: return %[[P]], %[[J]]
module attributes {loom.open_sums} {
  func.func @joined(%a: tensor<2x24xf32>, %b: tensor<2x24xf32>, %c: tensor<2x24xf32>, %d: tensor<2x24xf32>, %e: tensor<2x32xf32>, %f: tensor<2x32xf32>, %g: tensor<2x32xf32>, %h: tensor<2x32xf32>) -> (tensor<32x24xf32>, tensor<8x24xf32>) {
    %0 = loom.dot_general %e, %a batch = [] x [] contract = [0] x [0] : (tensor<2x32xf32>, tensor<2x24xf32>) -> tensor<32x24xf32>
    %1 = loom.dot_general %f, %b batch = [] x [] contract = [0] x [0] : (tensor<2x32xf32>, tensor<2x24xf32>) -> tensor<32x24xf32>
    %2 = loom.dot_general %g, %c batch = [] x [] contract = [0] x [0] : (tensor<2x32xf32>, tensor<2x24xf32>) -> tensor<32x24xf32>
    %3 = loom.dot_general %h, %d batch = [] x [] contract = [0] x [0] : (tensor<2x32xf32>, tensor<2x24xf32>) -> tensor<32x24xf32>
    %4 = loom.add %0, %1 : tensor<32x24xf32>
    %5 = loom.add %4, %2 : tensor<32x24xf32>
    %6 = loom.add %5, %3 : tensor<32x24xf32>
    %7 = loom.concatenate %d, %c, %b, %a axis = 0 : (tensor<2x24xf32>, tensor<2x24xf32>, tensor<2x24xf32>, tensor<2x24xf32>) -> tensor<8x24xf32>
    return %6, %7 : tensor<32x24xf32>, tensor<8x24xf32>
  }
}

// -----

// One that has an operand twice, and another one not at all, is not the one that is wanted.
// CHECK-LABEL: func.func @twice
// CHECK: loom.concatenate %arg0, %arg0, %arg1, %arg2
// CHECK: %[[L:.*]] = loom.concatenate %arg0, %arg1, %arg2, %arg3 axis = 0
// CHECK: %[[R:.*]] = loom.concatenate %arg4, %arg5, %arg6, %arg7 axis = 0
// CHECK: loom.dot_general %[[L]], %[[R]]
module attributes {loom.open_sums} {
  func.func @twice(%a: tensor<2x32xf32>, %b: tensor<2x32xf32>, %c: tensor<2x32xf32>, %d: tensor<2x32xf32>, %e: tensor<2x24xf32>, %f: tensor<2x24xf32>, %g: tensor<2x24xf32>, %h: tensor<2x24xf32>) -> (tensor<32x24xf32>, tensor<8x32xf32>) {
    %0 = loom.concatenate %a, %a, %b, %c axis = 0 : (tensor<2x32xf32>, tensor<2x32xf32>, tensor<2x32xf32>, tensor<2x32xf32>) -> tensor<8x32xf32>
    %1 = loom.dot_general %a, %e batch = [] x [] contract = [0] x [0] : (tensor<2x32xf32>, tensor<2x24xf32>) -> tensor<32x24xf32>
    %2 = loom.dot_general %b, %f batch = [] x [] contract = [0] x [0] : (tensor<2x32xf32>, tensor<2x24xf32>) -> tensor<32x24xf32>
    %3 = loom.dot_general %c, %g batch = [] x [] contract = [0] x [0] : (tensor<2x32xf32>, tensor<2x24xf32>) -> tensor<32x24xf32>
    %4 = loom.dot_general %d, %h batch = [] x [] contract = [0] x [0] : (tensor<2x32xf32>, tensor<2x24xf32>) -> tensor<32x24xf32>
    %5 = loom.add %1, %2 : tensor<32x24xf32>
    %6 = loom.add %5, %3 : tensor<32x24xf32>
    %7 = loom.add %6, %4 : tensor<32x24xf32>
    return %7, %0 : tensor<32x24xf32>, tensor<8x32xf32>
  }
}

// -----

// Products that are not flat stay.
// CHECK-LABEL: func.func @deep
// CHECK-COUNT-4: loom.dot_general
// CHECK-NOT: loom.concatenate
module attributes {loom.open_sums} {
  func.func @deep(%a: tensor<32x16xf32>, %b: tensor<16x24xf32>) -> tensor<32x24xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x16xf32>, tensor<16x24xf32>) -> tensor<32x24xf32>
    %1 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x16xf32>, tensor<16x24xf32>) -> tensor<32x24xf32>
    %2 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x16xf32>, tensor<16x24xf32>) -> tensor<32x24xf32>
    %3 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x16xf32>, tensor<16x24xf32>) -> tensor<32x24xf32>
    %4 = loom.add %0, %1 : tensor<32x24xf32>
    %5 = loom.add %4, %2 : tensor<32x24xf32>
    %6 = loom.add %5, %3 : tensor<32x24xf32>
    return %6 : tensor<32x24xf32>
  }
}

// -----

// Something else is added to the sum of products.
// CHECK-LABEL: func.func @more
// CHECK: %[[P:.*]] = loom.dot_general
// CHECK-SAME: -> tensor<32x24xf32>
// CHECK-NEXT: loom.add %[[P]], %arg2
module attributes {loom.open_sums} {
  func.func @more(%a: tensor<32x1xf32>, %b: tensor<1x24xf32>, %c: tensor<32x24xf32>) -> tensor<32x24xf32> {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x1xf32>, tensor<1x24xf32>) -> tensor<32x24xf32>
    %1 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x1xf32>, tensor<1x24xf32>) -> tensor<32x24xf32>
    %2 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x1xf32>, tensor<1x24xf32>) -> tensor<32x24xf32>
    %3 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x1xf32>, tensor<1x24xf32>) -> tensor<32x24xf32>
    %4 = loom.add %0, %1 : tensor<32x24xf32>
    %5 = loom.add %4, %2 : tensor<32x24xf32>
    %6 = loom.add %5, %3 : tensor<32x24xf32>
    %7 = loom.add %6, %c : tensor<32x24xf32>
    return %7 : tensor<32x24xf32>
  }
}

// -----

// Three products, a sum that begins with something else, and a product that is read elsewhere stay.
// CHECK-LABEL: func.func @not_products
// CHECK-NOT: loom.concatenate
module attributes {loom.open_sums} {
  func.func @not_products(%a: tensor<32x1xf32>, %b: tensor<1x24xf32>, %c: tensor<32x24xf32>) -> (tensor<32x24xf32>, tensor<32x24xf32>, tensor<32x24xf32>, tensor<32x24xf32>) {
    %0 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x1xf32>, tensor<1x24xf32>) -> tensor<32x24xf32>
    %1 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x1xf32>, tensor<1x24xf32>) -> tensor<32x24xf32>
    %2 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x1xf32>, tensor<1x24xf32>) -> tensor<32x24xf32>
    %3 = loom.add %0, %1 : tensor<32x24xf32>
    %4 = loom.add %3, %2 : tensor<32x24xf32>
    %5 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x1xf32>, tensor<1x24xf32>) -> tensor<32x24xf32>
    %6 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x1xf32>, tensor<1x24xf32>) -> tensor<32x24xf32>
    %7 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x1xf32>, tensor<1x24xf32>) -> tensor<32x24xf32>
    %8 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x1xf32>, tensor<1x24xf32>) -> tensor<32x24xf32>
    %9 = loom.add %c, %5 : tensor<32x24xf32>
    %10 = loom.add %9, %6 : tensor<32x24xf32>
    %11 = loom.add %10, %7 : tensor<32x24xf32>
    %12 = loom.add %11, %8 : tensor<32x24xf32>
    %13 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x1xf32>, tensor<1x24xf32>) -> tensor<32x24xf32>
    %14 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x1xf32>, tensor<1x24xf32>) -> tensor<32x24xf32>
    %15 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x1xf32>, tensor<1x24xf32>) -> tensor<32x24xf32>
    %16 = loom.dot_general %a, %b batch = [] x [] contract = [1] x [0] : (tensor<32x1xf32>, tensor<1x24xf32>) -> tensor<32x24xf32>
    %17 = loom.add %13, %14 : tensor<32x24xf32>
    %18 = loom.add %17, %15 : tensor<32x24xf32>
    %19 = loom.add %18, %16 : tensor<32x24xf32>
    return %4, %12, %19, %15 : tensor<32x24xf32>, tensor<32x24xf32>, tensor<32x24xf32>, tensor<32x24xf32>
  }
}

// -----

// Sums whose order is not open stay.
// CHECK-LABEL: func.func @closed
// CHECK: loom.add
func.func @closed(%a: tensor<50x16xf32>, %i: tensor<7xi64>, %v: tensor<7x16xf32>) -> tensor<50x16xf32> {
  %0 = loom.exp %a : tensor<50x16xf32>
  %1 = loom.constant(0.000000e+00 : f32) : tensor<50x16xf32>
  %2 = loom.scatter "add" %1, %i, %v axis = 0 : (tensor<50x16xf32>, tensor<7xi64>, tensor<7x16xf32>) -> tensor<50x16xf32>
  %3 = loom.add %2, %0 : tensor<50x16xf32>
  return %3 : tensor<50x16xf32>
}
