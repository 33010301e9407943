#include "frontend/numpy/capture.h"
value *np_matmul(tracer *t, value *l, value *r) {
  return trace_break(t, BREAK_NUMPY_FUNCTION, "matmul");
}
