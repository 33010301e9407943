/* Arrays as NumPy saves them: a text header, which is not trusted, then the elements. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "targets/tools.h"

enum { NPY_HEADER = 1 << 16, NPY_BYTES = 1 << 30 };

static const struct {
  const char *text;
  loom_dtype dtype;
} npy_types[] = {{"b1", LOOM_BOOL}, {"i1", LOOM_I8},    {"i2", LOOM_I16}, {"i4", LOOM_I32},
                 {"i8", LOOM_I64},  {"u1", LOOM_U8},    {"u2", LOOM_U16}, {"u4", LOOM_U32},
                 {"u8", LOOM_U64},  {"f2", LOOM_F16},   {"f4", LOOM_F32}, {"f8", LOOM_F64},
                 {"c8", LOOM_C64},  {"c16", LOOM_C128}, {"V2", LOOM_BF16}};

typedef struct npy_header {
  loom_type type;
  bool swapped, fortran;
} npy_header;

/* The value behind 'key': in a dictionary of Python; NULL: there is none. */
static const char *npy_value(const char *header, const char *key) {
  const char *at = strstr(header, key);
  if (!at) return NULL;
  at += strlen(key);
  while (*at == '\'' || *at == '"' || *at == ':' || *at == ' ')
    at++;
  return at;
}

static bool npy_read_type(const char *at, npy_header *out, loom_error *err) {
  if (!at || !*at || !strchr("<>|=", *at)) return loom_fail(err, "a dtype that is no plain number");
  size_t length = strcspn(at + 1, "'\"");
  for (size_t i = 0; i < sizeof npy_types / sizeof *npy_types; i++)
    if (strlen(npy_types[i].text) == length && memcmp(npy_types[i].text, at + 1, length) == 0) {
      out->type.dtype = npy_types[i].dtype;
      out->swapped = *at == '>';
      return true;
    }
  return loom_fail(err, "dtype %.*s is none of the dialect's", (int)(length < 40 ? length : 40),
                   at + 1);
}

static bool npy_read_shape(const char *at, npy_header *out, loom_error *err) {
  if (!at || *at++ != '(') return loom_fail(err, "no shape");
  while (*at != ')') {
    char *end;
    while (*at == ' ' || *at == ',')
      at++;
    if (*at == ')') break;
    if (!isdigit((unsigned char)*at)) return loom_fail(err, "a wrong shape");
    errno = 0;
    long long size = strtoll(at, &end, 10);
    if (errno || size > NPY_BYTES || out->type.rank == LOOM_MAX_RANK)
      return loom_fail(err, "a shape that is too large");
    out->type.dims[out->type.rank++] = size;
    at = *end == 'L' ? end + 1 : end;
  }
  int64_t count = loom_type_elements(&out->type);
  return (count >= 0 && count <= NPY_BYTES / (int64_t)loom_dtype_size(out->type.dtype)) ||
         loom_fail(err, "a shape that is too large");
}

static bool npy_read_header(FILE *file, npy_header *out, loom_error *err) {
  unsigned char begin[12];
  char *text = NULL;
  memset(out, 0, sizeof *out);
  if (fread(begin, 1, 10, file) != 10 || memcmp(begin, "\x93NUMPY", 6) != 0)
    return loom_fail(err, "is no .npy file");
  uint32_t length = begin[8] + 256u * begin[9];
  if (begin[6] > 1 && fread(begin + 10, 1, 2, file) != 2)
    return loom_fail(err, "ends in its header");
  if (begin[6] > 1) length += 65536u * begin[10] + 16777216u * begin[11];
  if (length < NPY_HEADER) text = calloc(1, (size_t)length + 1);
  bool good = (text && fread(text, 1, length, file) == length) ||
              loom_fail(err, "its header cannot be read");
  const char *fortran = good ? npy_value(text, "fortran_order") : NULL;
  if (good) out->fortran = fortran && *fortran == 'T';
  good = good && npy_read_type(npy_value(text, "descr"), out, err) &&
         npy_read_shape(npy_value(text, "shape"), out, err);
  free(text);
  return good;
}

static void npy_swap(char *data, size_t bytes, loom_dtype dtype) {
  size_t size = loom_dtype_size(dtype) / (loom_dtype_is_complex(dtype) ? 2 : 1);
  for (size_t at = 0; at + size <= bytes; at += size)
    for (size_t i = 0; i < size / 2; i++) {
      char byte = data[at + i];
      data[at + i] = data[at + size - 1 - i];
      data[at + size - 1 - i] = byte;
    }
}

/* A bool is 0 or 1, whatever a file says. */
static void npy_clean(char *data, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    data[i] = data[i] != 0;
}

/* Elements in Fortran's order, moved to C order. */
static bool npy_transpose(loom_buffer *array) {
  size_t size = loom_dtype_size(array->type.dtype);
  int64_t count = loom_type_elements(&array->type);
  char *moved = malloc((size_t)count * size + 1);
  if (!moved) return false;
  for (int64_t i = 0; i < count; i++) {
    int64_t rest = i, place = 0, steps[LOOM_MAX_RANK], step = 1;
    for (int d = 0; d < array->type.rank; d++) {
      steps[d] = step;
      step *= array->type.dims[d];
    }
    for (int d = array->type.rank - 1; d >= 0; d--) {
      place += rest % array->type.dims[d] * steps[d];
      rest /= array->type.dims[d];
    }
    memcpy(moved + (size_t)i * size, (char *)array->data + (size_t)place * size, size);
  }
  free(array->data);
  array->data = moved;
  return true;
}

static bool npy_read_data(FILE *file, const npy_header *header, loom_buffer *out, loom_error *err) {
  out->type = header->type;
  loom_contiguous_strides(&out->type, out->strides);
  size_t bytes = (size_t)loom_type_elements(&out->type) * loom_dtype_size(out->type.dtype);
  out->data = malloc(bytes + 1);
  if (!out->data) return loom_fail(err, "out of memory");
  if (fread(out->data, 1, bytes, file) != bytes) return loom_fail(err, "ends in its elements");
  if (header->swapped) npy_swap(out->data, bytes, out->type.dtype);
  if (out->type.dtype == LOOM_BOOL) npy_clean(out->data, bytes);
  return !header->fortran || npy_transpose(out) || loom_fail(err, "out of memory");
}

bool loom_npy_read(const char *path, loom_buffer *out, loom_error *err) {
  npy_header header;
  loom_error why = {0};
  memset(out, 0, sizeof *out);
  FILE *file = fopen(path, "rb");
  if (!file) return loom_fail(err, "%s: %s", path, strerror(errno));
  bool good = npy_read_header(file, &header, &why) && npy_read_data(file, &header, out, &why);
  fclose(file);
  if (good) return true;
  free(out->data);
  out->data = NULL;
  return loom_fail(err, "%.200s: %.200s", path, why.message);
}

bool loom_npy_write(const char *path, const loom_buffer *array, loom_error *err) {
  char header[512];
  const char *descr = "V2";
  for (size_t i = 0; i < sizeof npy_types / sizeof *npy_types; i++)
    if (npy_types[i].dtype == array->type.dtype) descr = npy_types[i].text;
  size_t size = loom_dtype_size(array->type.dtype);
  int used = snprintf(header, sizeof header, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                      size == 1 || *descr == 'V' ? '|' : '<', descr);
  for (int d = 0; d < array->type.rank; d++)
    used +=
        snprintf(header + used, sizeof header - (size_t)used, "%" PRId64 ",", array->type.dims[d]);
  used += snprintf(header + used, sizeof header - (size_t)used, "), }");
  while ((used + 11) % 64)
    header[used++] = ' ';
  header[used++] = '\n';
  unsigned char begin[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  begin[8] = (unsigned char)(used & 255);
  begin[9] = (unsigned char)(used >> 8);
  size_t bytes = (size_t)loom_type_elements(&array->type) * size;
  FILE *file = fopen(path, "wb");
  bool good = file && fwrite(begin, 1, sizeof begin, file) == sizeof begin &&
              fwrite(header, 1, (size_t)used, file) == (size_t)used &&
              fwrite(array->data, 1, bytes, file) == bytes;
  if (file && fclose(file) != 0) good = false;
  return good || loom_fail(err, "%s: %s", path, strerror(errno));
}
