/* Element types. */
#include "graph/graph.h"

#include <string.h>

static const struct {
  const char *name;
  uint8_t size;
  char class; /* as in the op table's dtypes column: b bool, i signed, u unsigned, f float, c
                 complex */
} dtype_rows[LOOM_DTYPE_COUNT] = {
    [LOOM_BOOL] = {"bool", 1, 'b'},        [LOOM_I8] = {"int8", 1, 'i'},
    [LOOM_I16] = {"int16", 2, 'i'},        [LOOM_I32] = {"int32", 4, 'i'},
    [LOOM_I64] = {"int64", 8, 'i'},        [LOOM_U8] = {"uint8", 1, 'u'},
    [LOOM_U16] = {"uint16", 2, 'u'},       [LOOM_U32] = {"uint32", 4, 'u'},
    [LOOM_U64] = {"uint64", 8, 'u'},       [LOOM_F16] = {"float16", 2, 'f'},
    [LOOM_BF16] = {"bfloat16", 2, 'f'},    [LOOM_F32] = {"float32", 4, 'f'},
    [LOOM_F64] = {"float64", 8, 'f'},      [LOOM_C64] = {"complex64", 8, 'c'},
    [LOOM_C128] = {"complex128", 16, 'c'},
};

size_t loom_dtype_size(loom_dtype dtype) { return dtype_rows[dtype].size; }
const char *loom_dtype_name(loom_dtype dtype) {
  return (unsigned)dtype < LOOM_DTYPE_COUNT ? dtype_rows[dtype].name : "invalid";
}
char loom_dtype_class(loom_dtype dtype) { return dtype_rows[dtype].class; }

bool loom_dtype_from_name(const char *name, loom_dtype *out) {
  for (int i = 0; i < LOOM_DTYPE_COUNT; i++)
    if (strcmp(dtype_rows[i].name, name) == 0) {
      *out = (loom_dtype)i;
      return true;
    }
  return false;
}

bool loom_dtype_is_float(loom_dtype dtype) { return dtype_rows[dtype].class == 'f'; }
bool loom_dtype_is_signed(loom_dtype dtype) { return dtype_rows[dtype].class == 'i'; }
bool loom_dtype_is_unsigned(loom_dtype dtype) { return dtype_rows[dtype].class == 'u'; }
bool loom_dtype_is_integer(loom_dtype dtype) {
  return loom_dtype_is_signed(dtype) || loom_dtype_is_unsigned(dtype);
}
bool loom_dtype_is_complex(loom_dtype dtype) { return dtype_rows[dtype].class == 'c'; }
