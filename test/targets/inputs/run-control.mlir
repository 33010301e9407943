// Loops and branches: what they carry, exchange and hand on, no iteration and several, one in another.
func.func @swap0(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %n = loom.constant(0 : i64) : tensor<i64>
  %0:2 = loom.for %n init(%a, %b) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %y: tensor<8xf32>):
    loom.yield %y, %x : tensor<8xf32>, tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
func.func @leap0(%a: tensor<8xf32>, %b: tensor<8xf32>, %k: tensor<8xf32> {loom.strides = array<i64: -1>}) -> (tensor<8xf32>, tensor<8xf32>) {
  %n = loom.constant(0 : i64) : tensor<i64>
  %0:2 = loom.for %n init(%a, %b) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %y: tensor<8xf32>):
    %s = loom.mul %y, %k : tensor<8xf32>
    %z = loom.sub %s, %x : tensor<8xf32>
    loom.yield %y, %z : tensor<8xf32>, tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
func.func @cycle0(%a: tensor<8xf32>, %b: tensor<8xf32>, %k: tensor<f32> {loom.scalar}) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %n = loom.constant(0 : i64) : tensor<i64>
  %0:5 = loom.for %n init(%a, %b, %a, %b, %a) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>, %u: tensor<8xf32>, %w: tensor<8xf32>):
    %kk = loom.broadcast %k dims = [] : (tensor<f32>) -> tensor<8xf32>
    %s = loom.add %y, %kk : tensor<8xf32>
    %t = loom.mul %u, %w : tensor<8xf32>
    loom.yield %s, %z, %x, %s, %w : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
func.func @heat0(%a: tensor<40x30xf64> {loom.strides = array<i64: 1, 40>}) -> tensor<40x30xf64> {
  %n = loom.constant(0 : i64) : tensor<i64>
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<40x30xf64>):
    %l = loom.slice %x starts = [0, 1] sizes = [38, 28] steps = [1, 1] : (tensor<40x30xf64>) -> tensor<38x28xf64>
    %r = loom.slice %x starts = [2, 1] sizes = [38, 28] steps = [1, 1] : (tensor<40x30xf64>) -> tensor<38x28xf64>
    %s = loom.add %l, %r : tensor<38x28xf64>
    %h = loom.constant(5.0e-01 : f64) : tensor<38x28xf64>
    %m = loom.mul %s, %h : tensor<38x28xf64>
    %u = loom.update_slice %x, %m starts = [1, 1] steps = [1, 1] : (tensor<40x30xf64>, tensor<38x28xf64>) -> tensor<40x30xf64>
    loom.yield %u : tensor<40x30xf64>
  } : (tensor<i64>, tensor<40x30xf64>) -> tensor<40x30xf64>
  return %0 : tensor<40x30xf64>
}
func.func @nest0(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>) {
  %n = loom.constant(0 : i64) : tensor<i64>
  %z = loom.constant(0.0 : f32) : tensor<f32>
  %e = loom.exp %b : tensor<8xf32>
  %0:2 = loom.for %n init(%a, %z) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %t: tensor<f32>):
    %j:2 = loom.for %i init(%x, %b) {
    ^bb0(%q: tensor<i64>, %y: tensor<8xf32>, %fix: tensor<8xf32>):
      %c = loom.convert %q : (tensor<i64>) -> tensor<f32>
      %d = loom.broadcast %c dims = [] : (tensor<f32>) -> tensor<8xf32>
      %w = loom.add %y, %d : tensor<8xf32>
      %v = loom.mul %w, %e : tensor<8xf32>
      %m = loom.max %v, %fix : tensor<8xf32>
      loom.yield %m, %fix : tensor<8xf32>, tensor<8xf32>
    } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    %r = loom.reduce "max" %j#0 axes = [0] : (tensor<8xf32>) -> tensor<f32>
    %p = loom.compare "gt" %r, %t : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %g:2 = loom.if %p (%r) {
    ^bb0(%rr: tensor<f32>):
      %o = loom.neg %rr : tensor<f32>
      loom.yield %o, %j#0 : tensor<f32>, tensor<8xf32>
    } else {
    ^bb0(%rr: tensor<f32>):
      loom.yield %rr, %j#1 : tensor<f32>, tensor<8xf32>
    } : (tensor<i1>, tensor<f32>) -> (tensor<f32>, tensor<8xf32>)
    loom.yield %g#1, %g#0 : tensor<8xf32>, tensor<f32>
  } : (tensor<i64>, tensor<8xf32>, tensor<f32>) -> (tensor<8xf32>, tensor<f32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<f32>
}
func.func @swap1(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %n = loom.constant(1 : i64) : tensor<i64>
  %0:2 = loom.for %n init(%a, %b) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %y: tensor<8xf32>):
    loom.yield %y, %x : tensor<8xf32>, tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
func.func @leap1(%a: tensor<8xf32>, %b: tensor<8xf32>, %k: tensor<8xf32> {loom.strides = array<i64: -1>}) -> (tensor<8xf32>, tensor<8xf32>) {
  %n = loom.constant(1 : i64) : tensor<i64>
  %0:2 = loom.for %n init(%a, %b) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %y: tensor<8xf32>):
    %s = loom.mul %y, %k : tensor<8xf32>
    %z = loom.sub %s, %x : tensor<8xf32>
    loom.yield %y, %z : tensor<8xf32>, tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
func.func @cycle1(%a: tensor<8xf32>, %b: tensor<8xf32>, %k: tensor<f32> {loom.scalar}) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %n = loom.constant(1 : i64) : tensor<i64>
  %0:5 = loom.for %n init(%a, %b, %a, %b, %a) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>, %u: tensor<8xf32>, %w: tensor<8xf32>):
    %kk = loom.broadcast %k dims = [] : (tensor<f32>) -> tensor<8xf32>
    %s = loom.add %y, %kk : tensor<8xf32>
    %t = loom.mul %u, %w : tensor<8xf32>
    loom.yield %s, %z, %x, %s, %w : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
func.func @heat1(%a: tensor<40x30xf64> {loom.strides = array<i64: 1, 40>}) -> tensor<40x30xf64> {
  %n = loom.constant(1 : i64) : tensor<i64>
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<40x30xf64>):
    %l = loom.slice %x starts = [0, 1] sizes = [38, 28] steps = [1, 1] : (tensor<40x30xf64>) -> tensor<38x28xf64>
    %r = loom.slice %x starts = [2, 1] sizes = [38, 28] steps = [1, 1] : (tensor<40x30xf64>) -> tensor<38x28xf64>
    %s = loom.add %l, %r : tensor<38x28xf64>
    %h = loom.constant(5.0e-01 : f64) : tensor<38x28xf64>
    %m = loom.mul %s, %h : tensor<38x28xf64>
    %u = loom.update_slice %x, %m starts = [1, 1] steps = [1, 1] : (tensor<40x30xf64>, tensor<38x28xf64>) -> tensor<40x30xf64>
    loom.yield %u : tensor<40x30xf64>
  } : (tensor<i64>, tensor<40x30xf64>) -> tensor<40x30xf64>
  return %0 : tensor<40x30xf64>
}
func.func @nest1(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>) {
  %n = loom.constant(1 : i64) : tensor<i64>
  %z = loom.constant(0.0 : f32) : tensor<f32>
  %e = loom.exp %b : tensor<8xf32>
  %0:2 = loom.for %n init(%a, %z) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %t: tensor<f32>):
    %j:2 = loom.for %i init(%x, %b) {
    ^bb0(%q: tensor<i64>, %y: tensor<8xf32>, %fix: tensor<8xf32>):
      %c = loom.convert %q : (tensor<i64>) -> tensor<f32>
      %d = loom.broadcast %c dims = [] : (tensor<f32>) -> tensor<8xf32>
      %w = loom.add %y, %d : tensor<8xf32>
      %v = loom.mul %w, %e : tensor<8xf32>
      %m = loom.max %v, %fix : tensor<8xf32>
      loom.yield %m, %fix : tensor<8xf32>, tensor<8xf32>
    } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    %r = loom.reduce "max" %j#0 axes = [0] : (tensor<8xf32>) -> tensor<f32>
    %p = loom.compare "gt" %r, %t : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %g:2 = loom.if %p (%r) {
    ^bb0(%rr: tensor<f32>):
      %o = loom.neg %rr : tensor<f32>
      loom.yield %o, %j#0 : tensor<f32>, tensor<8xf32>
    } else {
    ^bb0(%rr: tensor<f32>):
      loom.yield %rr, %j#1 : tensor<f32>, tensor<8xf32>
    } : (tensor<i1>, tensor<f32>) -> (tensor<f32>, tensor<8xf32>)
    loom.yield %g#1, %g#0 : tensor<8xf32>, tensor<f32>
  } : (tensor<i64>, tensor<8xf32>, tensor<f32>) -> (tensor<8xf32>, tensor<f32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<f32>
}
func.func @swap2(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %n = loom.constant(2 : i64) : tensor<i64>
  %0:2 = loom.for %n init(%a, %b) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %y: tensor<8xf32>):
    loom.yield %y, %x : tensor<8xf32>, tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
func.func @leap2(%a: tensor<8xf32>, %b: tensor<8xf32>, %k: tensor<8xf32> {loom.strides = array<i64: -1>}) -> (tensor<8xf32>, tensor<8xf32>) {
  %n = loom.constant(2 : i64) : tensor<i64>
  %0:2 = loom.for %n init(%a, %b) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %y: tensor<8xf32>):
    %s = loom.mul %y, %k : tensor<8xf32>
    %z = loom.sub %s, %x : tensor<8xf32>
    loom.yield %y, %z : tensor<8xf32>, tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
func.func @cycle2(%a: tensor<8xf32>, %b: tensor<8xf32>, %k: tensor<f32> {loom.scalar}) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %n = loom.constant(2 : i64) : tensor<i64>
  %0:5 = loom.for %n init(%a, %b, %a, %b, %a) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>, %u: tensor<8xf32>, %w: tensor<8xf32>):
    %kk = loom.broadcast %k dims = [] : (tensor<f32>) -> tensor<8xf32>
    %s = loom.add %y, %kk : tensor<8xf32>
    %t = loom.mul %u, %w : tensor<8xf32>
    loom.yield %s, %z, %x, %s, %w : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
func.func @heat2(%a: tensor<40x30xf64> {loom.strides = array<i64: 1, 40>}) -> tensor<40x30xf64> {
  %n = loom.constant(2 : i64) : tensor<i64>
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<40x30xf64>):
    %l = loom.slice %x starts = [0, 1] sizes = [38, 28] steps = [1, 1] : (tensor<40x30xf64>) -> tensor<38x28xf64>
    %r = loom.slice %x starts = [2, 1] sizes = [38, 28] steps = [1, 1] : (tensor<40x30xf64>) -> tensor<38x28xf64>
    %s = loom.add %l, %r : tensor<38x28xf64>
    %h = loom.constant(5.0e-01 : f64) : tensor<38x28xf64>
    %m = loom.mul %s, %h : tensor<38x28xf64>
    %u = loom.update_slice %x, %m starts = [1, 1] steps = [1, 1] : (tensor<40x30xf64>, tensor<38x28xf64>) -> tensor<40x30xf64>
    loom.yield %u : tensor<40x30xf64>
  } : (tensor<i64>, tensor<40x30xf64>) -> tensor<40x30xf64>
  return %0 : tensor<40x30xf64>
}
func.func @nest2(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>) {
  %n = loom.constant(2 : i64) : tensor<i64>
  %z = loom.constant(0.0 : f32) : tensor<f32>
  %e = loom.exp %b : tensor<8xf32>
  %0:2 = loom.for %n init(%a, %z) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %t: tensor<f32>):
    %j:2 = loom.for %i init(%x, %b) {
    ^bb0(%q: tensor<i64>, %y: tensor<8xf32>, %fix: tensor<8xf32>):
      %c = loom.convert %q : (tensor<i64>) -> tensor<f32>
      %d = loom.broadcast %c dims = [] : (tensor<f32>) -> tensor<8xf32>
      %w = loom.add %y, %d : tensor<8xf32>
      %v = loom.mul %w, %e : tensor<8xf32>
      %m = loom.max %v, %fix : tensor<8xf32>
      loom.yield %m, %fix : tensor<8xf32>, tensor<8xf32>
    } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    %r = loom.reduce "max" %j#0 axes = [0] : (tensor<8xf32>) -> tensor<f32>
    %p = loom.compare "gt" %r, %t : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %g:2 = loom.if %p (%r) {
    ^bb0(%rr: tensor<f32>):
      %o = loom.neg %rr : tensor<f32>
      loom.yield %o, %j#0 : tensor<f32>, tensor<8xf32>
    } else {
    ^bb0(%rr: tensor<f32>):
      loom.yield %rr, %j#1 : tensor<f32>, tensor<8xf32>
    } : (tensor<i1>, tensor<f32>) -> (tensor<f32>, tensor<8xf32>)
    loom.yield %g#1, %g#0 : tensor<8xf32>, tensor<f32>
  } : (tensor<i64>, tensor<8xf32>, tensor<f32>) -> (tensor<8xf32>, tensor<f32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<f32>
}
func.func @swap3(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %n = loom.constant(3 : i64) : tensor<i64>
  %0:2 = loom.for %n init(%a, %b) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %y: tensor<8xf32>):
    loom.yield %y, %x : tensor<8xf32>, tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
func.func @leap3(%a: tensor<8xf32>, %b: tensor<8xf32>, %k: tensor<8xf32> {loom.strides = array<i64: -1>}) -> (tensor<8xf32>, tensor<8xf32>) {
  %n = loom.constant(3 : i64) : tensor<i64>
  %0:2 = loom.for %n init(%a, %b) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %y: tensor<8xf32>):
    %s = loom.mul %y, %k : tensor<8xf32>
    %z = loom.sub %s, %x : tensor<8xf32>
    loom.yield %y, %z : tensor<8xf32>, tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
func.func @cycle3(%a: tensor<8xf32>, %b: tensor<8xf32>, %k: tensor<f32> {loom.scalar}) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %n = loom.constant(3 : i64) : tensor<i64>
  %0:5 = loom.for %n init(%a, %b, %a, %b, %a) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>, %u: tensor<8xf32>, %w: tensor<8xf32>):
    %kk = loom.broadcast %k dims = [] : (tensor<f32>) -> tensor<8xf32>
    %s = loom.add %y, %kk : tensor<8xf32>
    %t = loom.mul %u, %w : tensor<8xf32>
    loom.yield %s, %z, %x, %s, %w : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
func.func @heat3(%a: tensor<40x30xf64> {loom.strides = array<i64: 1, 40>}) -> tensor<40x30xf64> {
  %n = loom.constant(3 : i64) : tensor<i64>
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<40x30xf64>):
    %l = loom.slice %x starts = [0, 1] sizes = [38, 28] steps = [1, 1] : (tensor<40x30xf64>) -> tensor<38x28xf64>
    %r = loom.slice %x starts = [2, 1] sizes = [38, 28] steps = [1, 1] : (tensor<40x30xf64>) -> tensor<38x28xf64>
    %s = loom.add %l, %r : tensor<38x28xf64>
    %h = loom.constant(5.0e-01 : f64) : tensor<38x28xf64>
    %m = loom.mul %s, %h : tensor<38x28xf64>
    %u = loom.update_slice %x, %m starts = [1, 1] steps = [1, 1] : (tensor<40x30xf64>, tensor<38x28xf64>) -> tensor<40x30xf64>
    loom.yield %u : tensor<40x30xf64>
  } : (tensor<i64>, tensor<40x30xf64>) -> tensor<40x30xf64>
  return %0 : tensor<40x30xf64>
}
func.func @nest3(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>) {
  %n = loom.constant(3 : i64) : tensor<i64>
  %z = loom.constant(0.0 : f32) : tensor<f32>
  %e = loom.exp %b : tensor<8xf32>
  %0:2 = loom.for %n init(%a, %z) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %t: tensor<f32>):
    %j:2 = loom.for %i init(%x, %b) {
    ^bb0(%q: tensor<i64>, %y: tensor<8xf32>, %fix: tensor<8xf32>):
      %c = loom.convert %q : (tensor<i64>) -> tensor<f32>
      %d = loom.broadcast %c dims = [] : (tensor<f32>) -> tensor<8xf32>
      %w = loom.add %y, %d : tensor<8xf32>
      %v = loom.mul %w, %e : tensor<8xf32>
      %m = loom.max %v, %fix : tensor<8xf32>
      loom.yield %m, %fix : tensor<8xf32>, tensor<8xf32>
    } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    %r = loom.reduce "max" %j#0 axes = [0] : (tensor<8xf32>) -> tensor<f32>
    %p = loom.compare "gt" %r, %t : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %g:2 = loom.if %p (%r) {
    ^bb0(%rr: tensor<f32>):
      %o = loom.neg %rr : tensor<f32>
      loom.yield %o, %j#0 : tensor<f32>, tensor<8xf32>
    } else {
    ^bb0(%rr: tensor<f32>):
      loom.yield %rr, %j#1 : tensor<f32>, tensor<8xf32>
    } : (tensor<i1>, tensor<f32>) -> (tensor<f32>, tensor<8xf32>)
    loom.yield %g#1, %g#0 : tensor<8xf32>, tensor<f32>
  } : (tensor<i64>, tensor<8xf32>, tensor<f32>) -> (tensor<8xf32>, tensor<f32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<f32>
}
func.func @swap6(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %n = loom.constant(6 : i64) : tensor<i64>
  %0:2 = loom.for %n init(%a, %b) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %y: tensor<8xf32>):
    loom.yield %y, %x : tensor<8xf32>, tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
func.func @leap6(%a: tensor<8xf32>, %b: tensor<8xf32>, %k: tensor<8xf32> {loom.strides = array<i64: -1>}) -> (tensor<8xf32>, tensor<8xf32>) {
  %n = loom.constant(6 : i64) : tensor<i64>
  %0:2 = loom.for %n init(%a, %b) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %y: tensor<8xf32>):
    %s = loom.mul %y, %k : tensor<8xf32>
    %z = loom.sub %s, %x : tensor<8xf32>
    loom.yield %y, %z : tensor<8xf32>, tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
func.func @cycle6(%a: tensor<8xf32>, %b: tensor<8xf32>, %k: tensor<f32> {loom.scalar}) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %n = loom.constant(6 : i64) : tensor<i64>
  %0:5 = loom.for %n init(%a, %b, %a, %b, %a) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>, %u: tensor<8xf32>, %w: tensor<8xf32>):
    %kk = loom.broadcast %k dims = [] : (tensor<f32>) -> tensor<8xf32>
    %s = loom.add %y, %kk : tensor<8xf32>
    %t = loom.mul %u, %w : tensor<8xf32>
    loom.yield %s, %z, %x, %s, %w : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
func.func @heat6(%a: tensor<40x30xf64> {loom.strides = array<i64: 1, 40>}) -> tensor<40x30xf64> {
  %n = loom.constant(6 : i64) : tensor<i64>
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<40x30xf64>):
    %l = loom.slice %x starts = [0, 1] sizes = [38, 28] steps = [1, 1] : (tensor<40x30xf64>) -> tensor<38x28xf64>
    %r = loom.slice %x starts = [2, 1] sizes = [38, 28] steps = [1, 1] : (tensor<40x30xf64>) -> tensor<38x28xf64>
    %s = loom.add %l, %r : tensor<38x28xf64>
    %h = loom.constant(5.0e-01 : f64) : tensor<38x28xf64>
    %m = loom.mul %s, %h : tensor<38x28xf64>
    %u = loom.update_slice %x, %m starts = [1, 1] steps = [1, 1] : (tensor<40x30xf64>, tensor<38x28xf64>) -> tensor<40x30xf64>
    loom.yield %u : tensor<40x30xf64>
  } : (tensor<i64>, tensor<40x30xf64>) -> tensor<40x30xf64>
  return %0 : tensor<40x30xf64>
}
func.func @nest6(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>) {
  %n = loom.constant(6 : i64) : tensor<i64>
  %z = loom.constant(0.0 : f32) : tensor<f32>
  %e = loom.exp %b : tensor<8xf32>
  %0:2 = loom.for %n init(%a, %z) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %t: tensor<f32>):
    %j:2 = loom.for %i init(%x, %b) {
    ^bb0(%q: tensor<i64>, %y: tensor<8xf32>, %fix: tensor<8xf32>):
      %c = loom.convert %q : (tensor<i64>) -> tensor<f32>
      %d = loom.broadcast %c dims = [] : (tensor<f32>) -> tensor<8xf32>
      %w = loom.add %y, %d : tensor<8xf32>
      %v = loom.mul %w, %e : tensor<8xf32>
      %m = loom.max %v, %fix : tensor<8xf32>
      loom.yield %m, %fix : tensor<8xf32>, tensor<8xf32>
    } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    %r = loom.reduce "max" %j#0 axes = [0] : (tensor<8xf32>) -> tensor<f32>
    %p = loom.compare "gt" %r, %t : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %g:2 = loom.if %p (%r) {
    ^bb0(%rr: tensor<f32>):
      %o = loom.neg %rr : tensor<f32>
      loom.yield %o, %j#0 : tensor<f32>, tensor<8xf32>
    } else {
    ^bb0(%rr: tensor<f32>):
      loom.yield %rr, %j#1 : tensor<f32>, tensor<8xf32>
    } : (tensor<i1>, tensor<f32>) -> (tensor<f32>, tensor<8xf32>)
    loom.yield %g#1, %g#0 : tensor<8xf32>, tensor<f32>
  } : (tensor<i64>, tensor<8xf32>, tensor<f32>) -> (tensor<8xf32>, tensor<f32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<f32>
}
func.func @swap7(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %n = loom.constant(7 : i64) : tensor<i64>
  %0:2 = loom.for %n init(%a, %b) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %y: tensor<8xf32>):
    loom.yield %y, %x : tensor<8xf32>, tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
func.func @leap7(%a: tensor<8xf32>, %b: tensor<8xf32>, %k: tensor<8xf32> {loom.strides = array<i64: -1>}) -> (tensor<8xf32>, tensor<8xf32>) {
  %n = loom.constant(7 : i64) : tensor<i64>
  %0:2 = loom.for %n init(%a, %b) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %y: tensor<8xf32>):
    %s = loom.mul %y, %k : tensor<8xf32>
    %z = loom.sub %s, %x : tensor<8xf32>
    loom.yield %y, %z : tensor<8xf32>, tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
func.func @cycle7(%a: tensor<8xf32>, %b: tensor<8xf32>, %k: tensor<f32> {loom.scalar}) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %n = loom.constant(7 : i64) : tensor<i64>
  %0:5 = loom.for %n init(%a, %b, %a, %b, %a) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>, %u: tensor<8xf32>, %w: tensor<8xf32>):
    %kk = loom.broadcast %k dims = [] : (tensor<f32>) -> tensor<8xf32>
    %s = loom.add %y, %kk : tensor<8xf32>
    %t = loom.mul %u, %w : tensor<8xf32>
    loom.yield %s, %z, %x, %s, %w : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
func.func @heat7(%a: tensor<40x30xf64> {loom.strides = array<i64: 1, 40>}) -> tensor<40x30xf64> {
  %n = loom.constant(7 : i64) : tensor<i64>
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<40x30xf64>):
    %l = loom.slice %x starts = [0, 1] sizes = [38, 28] steps = [1, 1] : (tensor<40x30xf64>) -> tensor<38x28xf64>
    %r = loom.slice %x starts = [2, 1] sizes = [38, 28] steps = [1, 1] : (tensor<40x30xf64>) -> tensor<38x28xf64>
    %s = loom.add %l, %r : tensor<38x28xf64>
    %h = loom.constant(5.0e-01 : f64) : tensor<38x28xf64>
    %m = loom.mul %s, %h : tensor<38x28xf64>
    %u = loom.update_slice %x, %m starts = [1, 1] steps = [1, 1] : (tensor<40x30xf64>, tensor<38x28xf64>) -> tensor<40x30xf64>
    loom.yield %u : tensor<40x30xf64>
  } : (tensor<i64>, tensor<40x30xf64>) -> tensor<40x30xf64>
  return %0 : tensor<40x30xf64>
}
func.func @nest7(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>) {
  %n = loom.constant(7 : i64) : tensor<i64>
  %z = loom.constant(0.0 : f32) : tensor<f32>
  %e = loom.exp %b : tensor<8xf32>
  %0:2 = loom.for %n init(%a, %z) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %t: tensor<f32>):
    %j:2 = loom.for %i init(%x, %b) {
    ^bb0(%q: tensor<i64>, %y: tensor<8xf32>, %fix: tensor<8xf32>):
      %c = loom.convert %q : (tensor<i64>) -> tensor<f32>
      %d = loom.broadcast %c dims = [] : (tensor<f32>) -> tensor<8xf32>
      %w = loom.add %y, %d : tensor<8xf32>
      %v = loom.mul %w, %e : tensor<8xf32>
      %m = loom.max %v, %fix : tensor<8xf32>
      loom.yield %m, %fix : tensor<8xf32>, tensor<8xf32>
    } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    %r = loom.reduce "max" %j#0 axes = [0] : (tensor<8xf32>) -> tensor<f32>
    %p = loom.compare "gt" %r, %t : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %g:2 = loom.if %p (%r) {
    ^bb0(%rr: tensor<f32>):
      %o = loom.neg %rr : tensor<f32>
      loom.yield %o, %j#0 : tensor<f32>, tensor<8xf32>
    } else {
    ^bb0(%rr: tensor<f32>):
      loom.yield %rr, %j#1 : tensor<f32>, tensor<8xf32>
    } : (tensor<i1>, tensor<f32>) -> (tensor<f32>, tensor<8xf32>)
    loom.yield %g#1, %g#0 : tensor<8xf32>, tensor<f32>
  } : (tensor<i64>, tensor<8xf32>, tensor<f32>) -> (tensor<8xf32>, tensor<f32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<f32>
}
func.func @while_(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<i64>) {
  %z = loom.constant(0 : i64) : tensor<i64>
  %m = loom.constant(17 : i64) : tensor<i64>
  %o = loom.constant(1 : i64) : tensor<i64>
  %0:2 = loom.while init(%a, %z) {
  ^bb0(%x: tensor<8xf32>, %i: tensor<i64>):
    %p = loom.compare "lt" %i, %m : (tensor<i64>, tensor<i64>) -> tensor<i1>
    loom.yield %p : tensor<i1>
  } do {
  ^bb0(%x: tensor<8xf32>, %i: tensor<i64>):
    %y = loom.sqrt %x : tensor<8xf32>
    %j = loom.add %i, %o : tensor<i64>
    loom.yield %y, %j : tensor<8xf32>, tensor<i64>
  } : (tensor<8xf32>, tensor<i64>) -> (tensor<8xf32>, tensor<i64>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<i64>
}
func.func @mandel(%a: tensor<6xcomplex<f64>>) -> tensor<6xcomplex<f64>> {
  %n = loom.constant(5 : i64) : tensor<i64>
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<6xcomplex<f64>>):
    %y = loom.mul %x, %x : tensor<6xcomplex<f64>>
    %z = loom.add %y, %a : tensor<6xcomplex<f64>>
    loom.yield %z : tensor<6xcomplex<f64>>
  } : (tensor<i64>, tensor<6xcomplex<f64>>) -> tensor<6xcomplex<f64>>
  return %0 : tensor<6xcomplex<f64>>
}
func.func @twice(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32> {loom.strides = array<i64: -1>}) {
  %n = loom.constant(4 : i64) : tensor<i64>
  %0:2 = loom.for %n init(%a, %b) {
  ^bb0(%i: tensor<i64>, %x: tensor<8xf32>, %y: tensor<8xf32>):
    %s = loom.add %x, %y : tensor<8xf32>
    loom.yield %s, %s : tensor<8xf32>, tensor<8xf32>
  } : (tensor<i64>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %1 = loom.add %0#0, %0#1 : tensor<8xf32>
  return %0#0, %0#0, %1 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
func.func @perm(%a: tensor<6x4xf32>) -> (tensor<6x4xf32> {loom.strides = array<i64: 1, 6>}) {
  %n = loom.constant(4 : i64) : tensor<i64>
  %0 = loom.for %n init(%a) {
  ^bb0(%i: tensor<i64>, %x: tensor<6x4xf32>):
    %s = loom.add %x, %a : tensor<6x4xf32>
    loom.yield %s : tensor<6x4xf32>
  } : (tensor<i64>, tensor<6x4xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}
// What the loop begins with lies in the buffer of its result, and is replaced part by part or as a whole.
func.func @parts(%a: tensor<64x64xf32>, %r: tensor<1x64xf32>) -> tensor<64x64xf32> {
  %n = loom.constant(3 : i64) : tensor<i64>
  %e = loom.sqrt %a : tensor<64x64xf32>
  %0 = loom.for %n init(%e) {
  ^bb0(%i: tensor<i64>, %x: tensor<64x64xf32>):
    %p = loom.slice %x starts = [5, 0] sizes = [1, 64] steps = [1, 1] : (tensor<64x64xf32>) -> tensor<1x64xf32>
    %q = loom.add %p, %r : tensor<1x64xf32>
    %y = loom.update_slice %x, %q starts = [5, 0] steps = [1, 1] : (tensor<64x64xf32>, tensor<1x64xf32>) -> tensor<64x64xf32>
    loom.yield %y : tensor<64x64xf32>
  } : (tensor<i64>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
func.func @wholes(%a: tensor<64x64xf32>, %r: tensor<1x64xf32>) -> tensor<64x64xf32> {
  %n = loom.constant(3 : i64) : tensor<i64>
  %e = loom.sqrt %a : tensor<64x64xf32>
  %0 = loom.for %n init(%e) {
  ^bb0(%i: tensor<i64>, %x: tensor<64x64xf32>):
    %p = loom.transpose %x perm = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %q = loom.add %p, %a : tensor<64x64xf32>
    %y = loom.update_slice %q, %r starts = [5, 0] steps = [1, 1] : (tensor<64x64xf32>, tensor<1x64xf32>) -> tensor<64x64xf32>
    loom.yield %y : tensor<64x64xf32>
  } : (tensor<i64>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
