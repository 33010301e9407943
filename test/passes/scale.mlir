// RUN: %loom-opt %s --loom-scale --canonicalize --split-input-file | FileCheck %s

// A batch norm with known statistics: one factor of the weights, one shift.
// CHECK-LABEL: func.func @norm
// CHECK-SAME: %[[X:.*]]: tensor<2x4x9x9xf32>, %[[W:arg[0-9]]]: {{.*}}, %[[B:arg[0-9]]]: {{.*}}, %[[MEAN:arg[0-9]]]: {{.*}}, %[[S:arg[0-9]]]: {{.*}}, %[[G:arg[0-9]]]: {{.*}}, %[[BETA:arg[0-9]]]:
// CHECK: %[[SHIFT:.*]] = loom.sub %[[B]], %[[MEAN]] : tensor<8xf32>
// CHECK: %[[FIRST:.*]] = loom.mul %[[SHIFT]], %[[S]]
// CHECK: %[[SCALE:.*]] = loom.mul %[[S]], %[[G]]
// CHECK: %[[SECOND:.*]] = loom.mul %[[FIRST]], %[[G]]
// CHECK: %[[LAST:.*]] = loom.add %[[SECOND]], %[[BETA]]
// CHECK: %[[FACTORS:.*]] = loom.broadcast %[[SCALE]] dims = [0]
// CHECK: %[[WEIGHTS:.*]] = loom.mul %[[W]], %[[FACTORS]]
// CHECK: %[[Y:.*]] = loom.convolution %[[X]], %[[WEIGHTS]] strides = [2, 1] padding = [1, 0, 1, 1] dilation = [1, 2] groups = 2
// CHECK: %[[SHIFTS:.*]] = loom.broadcast %[[LAST]] dims = [1]
// CHECK: %[[Z:.*]] = loom.add %[[Y]], %[[SHIFTS]]
// CHECK: loom.exp %[[Z]]
module attributes {loom.keep} {
  func.func @norm(%x: tensor<2x4x9x9xf32>, %w: tensor<8x2x3x3xf32> {loom.const}, %bias: tensor<8xf32> {loom.const},
                  %mean: tensor<8xf32> {loom.const}, %s: tensor<8xf32> {loom.const}, %g: tensor<8xf32> {loom.const},
                  %beta: tensor<8xf32> {loom.const}) -> tensor<2x8x4x7xf32> {
    %0 = loom.convolution %x, %w strides = [2, 1] padding = [1, 0, 1, 1] dilation = [1, 2] groups = 2
        : (tensor<2x4x9x9xf32>, tensor<8x2x3x3xf32>) -> tensor<2x8x4x7xf32>
    %1 = loom.broadcast %bias dims = [1] : (tensor<8xf32>) -> tensor<2x8x4x7xf32>
    %2 = loom.add %1, %0 : tensor<2x8x4x7xf32>
    %3 = loom.broadcast %mean dims = [1] : (tensor<8xf32>) -> tensor<2x8x4x7xf32>
    %4 = loom.sub %2, %3 : tensor<2x8x4x7xf32>
    %5 = loom.broadcast %s dims = [1] : (tensor<8xf32>) -> tensor<2x8x4x7xf32>
    %6 = loom.mul %4, %5 : tensor<2x8x4x7xf32>
    %7 = loom.broadcast %g dims = [1] : (tensor<8xf32>) -> tensor<2x8x4x7xf32>
    %8 = loom.mul %6, %7 : tensor<2x8x4x7xf32>
    %9 = loom.broadcast %beta dims = [1] : (tensor<8xf32>) -> tensor<2x8x4x7xf32>
    %10 = loom.add %8, %9 : tensor<2x8x4x7xf32>
    %11 = loom.exp %10 : tensor<2x8x4x7xf32>
    return %11 : tensor<2x8x4x7xf32>
  }
}

// -----

// Up to where the value has another use; a difference from a number of the channel is no step.
// CHECK-LABEL: func.func @used
// CHECK: loom.mul {{.*}} : tensor<8x4x1x1xf32>
// CHECK: %[[Y:.*]] = loom.convolution
// CHECK-NEXT: loom.add %[[Y]], %{{.*}}
// CHECK-NEXT: loom.sub %{{.*}}, %[[Y]]
module attributes {loom.keep} {
  func.func @used(%x: tensor<1x4x5x5xf32>, %w: tensor<8x4x1x1xf32> {loom.const}, %s: tensor<8xf32> {loom.const})
      -> (tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>) {
    %0 = loom.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1
        : (tensor<1x4x5x5xf32>, tensor<8x4x1x1xf32>) -> tensor<1x8x5x5xf32>
    %1 = loom.broadcast %s dims = [1] : (tensor<8xf32>) -> tensor<1x8x5x5xf32>
    %2 = loom.mul %1, %0 : tensor<1x8x5x5xf32>
    %3 = loom.add %2, %1 : tensor<1x8x5x5xf32>
    %4 = loom.sub %1, %2 : tensor<1x8x5x5xf32>
    return %3, %4 : tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>
  }
}

// -----

// Not so: a factor that changes from call to call, or that is none of the channels; weights that change; no factor.
// CHECK-LABEL: func.func @others
// CHECK-NOT: loom.mul {{.*}} : tensor<8x8x1x1xf32>
// CHECK: return
module attributes {loom.keep} {
  func.func @others(%x: tensor<1x8x8x8xf32>, %w: tensor<8x8x1x1xf32> {loom.const}, %s: tensor<8xf32> {loom.const},
                    %v: tensor<8xf32>, %u: tensor<8x8x1x1xf32>) -> (tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) {
    %channels = loom.broadcast %s dims = [1] : (tensor<8xf32>) -> tensor<1x8x8x8xf32>
    %varying = loom.broadcast %v dims = [1] : (tensor<8xf32>) -> tensor<1x8x8x8xf32>
    %columns = loom.broadcast %s dims = [3] : (tensor<8xf32>) -> tensor<1x8x8x8xf32>
    %0 = loom.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1
        : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
    %1 = loom.mul %0, %varying : tensor<1x8x8x8xf32>
    %2 = loom.convolution %1, %w strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1
        : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
    %3 = loom.mul %2, %columns : tensor<1x8x8x8xf32>
    %4 = loom.convolution %3, %u strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1
        : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
    %5 = loom.mul %4, %channels : tensor<1x8x8x8xf32>
    %6 = loom.convolution %5, %w strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1
        : (tensor<1x8x8x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x8x8xf32>
    %7 = loom.add %6, %channels : tensor<1x8x8x8xf32>
    return %1, %3, %5, %7 : tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>
  }
}

// -----

// Nor where nothing is kept from call to call.
// CHECK-LABEL: func.func @anew
// CHECK: loom.convolution
// CHECK: loom.mul {{.*}} : tensor<1x8x5x5xf32>
module {
  func.func @anew(%x: tensor<1x4x5x5xf32>, %w: tensor<8x4x1x1xf32> {loom.const}, %s: tensor<8xf32> {loom.const})
      -> tensor<1x8x5x5xf32> {
    %0 = loom.convolution %x, %w strides = [1, 1] padding = [0, 0, 0, 0] dilation = [1, 1] groups = 1
        : (tensor<1x4x5x5xf32>, tensor<8x4x1x1xf32>) -> tensor<1x8x5x5xf32>
    %1 = loom.broadcast %s dims = [1] : (tensor<8xf32>) -> tensor<1x8x5x5xf32>
    %2 = loom.mul %1, %0 : tensor<1x8x5x5xf32>
    return %2 : tensor<1x8x5x5xf32>
  }
}
