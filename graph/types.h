/* What graphs are made of: errors, arenas, dtypes, symbolic sizes. Included by graph.h. */
#ifndef LOOM_GRAPH_TYPES_H
#define LOOM_GRAPH_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ------------------------------------------------------------------------------ */

/* A message that the failing function fills in; the caller decides how to report it. */
typedef struct loom_error {
  char message[512];
  bool uncountable; /* a tensor has more elements than an int64 counts: the graph is well-formed,
                       but cannot be compiled */
} loom_error;

/* Formats into `err` (may be NULL) and returns false, so that a failing function can `return
 * loom_fail(...)`. */
bool loom_fail(loom_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- lists (arena.c) ----------------------------------------------------------------------- */

/* Makes room for one item more in a malloc'ed array of `count` items; `items` is the address of the
 * array's pointer. False: out of memory. */
bool loom_grow(void *items, size_t count, uint32_t *capacity, size_t item_size);

/* ---- arena: one for each compilation, freed at its end (arena.c) ------------------------- */

typedef struct loom_arena {
  struct loom_arena_block *head;
} loom_arena;

void *loom_arena_alloc(loom_arena *arena,
                       size_t bytes); /* zeroed, 16-byte aligned; NULL when out of memory */
void *loom_arena_copy(loom_arena *arena, const void *data, size_t bytes);
char *loom_arena_strdup(loom_arena *arena, const char *text);
/* Takes over all that `other` holds. */
void loom_arena_adopt(loom_arena *arena, loom_arena *other);
void loom_arena_fini(loom_arena *arena);

/* ---- dtype.c ----------------------------------------------------------------------------- */

typedef enum loom_dtype {
  LOOM_BOOL, /* one byte, 0 or 1 */
  LOOM_I8,
  LOOM_I16,
  LOOM_I32,
  LOOM_I64,
  LOOM_U8,
  LOOM_U16,
  LOOM_U32,
  LOOM_U64,
  LOOM_F16,
  LOOM_BF16,
  LOOM_F32,
  LOOM_F64,
  LOOM_C64,
  LOOM_C128,
  LOOM_DTYPE_COUNT
} loom_dtype;

/* Bytes of one element. */
size_t loom_dtype_size(loom_dtype dtype);
/* NumPy's name: "bool", "int8", "float32", ... */
const char *loom_dtype_name(loom_dtype dtype);
bool loom_dtype_from_name(const char *name, loom_dtype *out);
bool loom_dtype_is_float(loom_dtype dtype);    /* f16, bf16, f32, f64 */
bool loom_dtype_is_half(loom_dtype dtype);     /* f16, bf16 */
bool loom_dtype_is_signed(loom_dtype dtype);   /* i8 to i64 */
bool loom_dtype_is_unsigned(loom_dtype dtype); /* u8 to u64 */
bool loom_dtype_is_integer(loom_dtype dtype);  /* signed or unsigned, not bool */
bool loom_dtype_is_complex(loom_dtype dtype);
bool loom_dtype_is_inexact(loom_dtype dtype); /* float or complex: has NaNs and infinities */
/* 'b' bool, 'i' signed, 'u' unsigned, 'f' float, 'c' complex: the letters of loom_op_info.dtypes.
 */
char loom_dtype_class(loom_dtype dtype);
/* float16 and bfloat16 as bits; the conversion to bits rounds once, to nearest even. */
double loom_half_to_double(uint16_t bits);
uint16_t loom_half_from_double(double value);
double loom_bfloat_to_double(uint16_t bits);
uint16_t loom_bfloat_from_double(double value);

/* ---- expr.c: symbolic sizes -------------------------------------------------------------- */

/* A size in a type: a static value >= 0, or the code of an expression in the graph's table.
 * Expressions are canonical and hash-consed: two equal sizes have equal codes. Codes lie below
 * INT64_MIN / 2, and plain numbers are kept above -LOOM_NUMBER_LIMIT where they come from outside:
 * a negative number by mistake is a size that is refused, never an expression. */
typedef int64_t loom_dim;
#define LOOM_DIM_SYM(e) (INT64_MIN + (int64_t)(e))
#define LOOM_DIM_IS_SYM(d) ((d) < INT64_MIN / 2)
#define LOOM_DIM_EXPR(d) ((uint32_t)((d) - INT64_MIN))
#define LOOM_DIM_UNKNOWN LOOM_DIM_SYM(UINT32_MAX) /* symbolic, by an expression of no table */
/* Sizes, strides, offsets and steps are smaller, so that the sum or difference of a few of them is
 * a plain number, too. Where one is larger there is no array that it could be used on. */
#define LOOM_NUMBER_LIMIT ((int64_t)1 << 60)

typedef enum loom_expr_kind {
  LOOM_EXPR_CONST,
  LOOM_EXPR_SYMBOL, /* value = symbol number */
  LOOM_EXPR_ADD,
  LOOM_EXPR_MUL,
  LOOM_EXPR_FLOORDIV,
  LOOM_EXPR_MOD,
  LOOM_EXPR_MIN,
  LOOM_EXPR_MAX
} loom_expr_kind;

typedef struct loom_expr {
  loom_expr_kind kind;
  int64_t value; /* CONST, SYMBOL */
  uint32_t lhs, rhs;
  uint32_t weight; /* its size as a tree: a shared part counts each time that it is read */
} loom_expr;

/* What is known of a symbol: min <= value <= max, and divisor (0 is read as 1) divides it. A hint
 * (0: none) is a value that is likely. */
typedef struct loom_symbol {
  int64_t min, max, divisor, hint;
} loom_symbol;
/* A hint as compilation, and so the cache's key, sees it: only its order of magnitude matters. */
int64_t loom_hint_round(int64_t hint);

struct loom_graph;
/* A new symbol as a size; `known` may be NULL. The functions of expr.c return false when out of
 * memory, on overflow, or when an expression grows beyond what is kept canonical. */
bool loom_dim_symbol(struct loom_graph *graph, const loom_symbol *known, loom_dim *out);
bool loom_dim_of_symbol(struct loom_graph *graph, uint32_t symbol, loom_dim *out);
/* A negative constant as part of an expression. */
bool loom_dim_constant(struct loom_graph *graph, int64_t value, loom_dim *out);
/* Any constant as an expression of the table. */
bool loom_expr_constant(struct loom_graph *graph, int64_t value, uint32_t *out);
/* a KIND b in canonical form; `graph` may be NULL when both are static. */
bool loom_dim_combine(struct loom_graph *graph, loom_expr_kind kind, loom_dim a, loom_dim b,
                      loom_dim *out);
/* a + offset, where the offset may be negative (the sum of a static size may not). */
bool loom_dim_offset(struct loom_graph *graph, loom_dim a, int64_t offset, loom_dim *out);
/* The size when symbol i has the value symbols[i]. */
bool loom_dim_eval(const struct loom_graph *graph, loom_dim dim, const int64_t *symbols,
                   int64_t *out);

/* A stride, and any other number that may be symbolic and of any sign (starts of slices, padding):
 * a value, or the code of an expression. As canonical as sizes: equal numbers have equal codes. */
#define LOOM_STRIDE_SYM(e) LOOM_DIM_SYM(e)
#define LOOM_STRIDE_IS_SYM(s) LOOM_DIM_IS_SYM(s)
#define LOOM_STRIDE_EXPR(s) LOOM_DIM_EXPR(s)

/* A size as a number, which has the same code; a number as a size (false when it is a negative
 * constant). */
int64_t loom_stride_of_dim(loom_dim dim);
bool loom_dim_of_stride(int64_t stride, loom_dim *out);
/* Is it a plain number, or the code of an expression that the graph has? `graph` may be NULL. */
bool loom_number_exists(const struct loom_graph *graph, int64_t number);
/* A new symbol of any sign, for a stride that nothing is known of; `known` may be NULL. */
bool loom_stride_symbol(struct loom_graph *graph, const loom_symbol *known, int64_t *out);
/* a KIND b; `graph` may be NULL when both are constants. */
bool loom_stride_combine(struct loom_graph *graph, loom_expr_kind kind, int64_t a, int64_t b,
                         int64_t *out);
/* a - b. */
bool loom_stride_minus(struct loom_graph *graph, int64_t a, int64_t b, int64_t *out);
bool loom_stride_eval(const struct loom_graph *graph, int64_t stride, const int64_t *symbols,
                      int64_t *out);
/* Bounds of a number by the ranges of its symbols (INT64_MIN, INT64_MAX: unbounded). They hold, but
 * need not be the tightest. */
void loom_stride_range(const struct loom_graph *graph, int64_t stride, int64_t *low, int64_t *high);
void loom_dim_range(const struct loom_graph *graph, loom_dim dim, int64_t *low, int64_t *high);
/* A positive number that divides it whatever the symbols are. */
int64_t loom_stride_divisor(const struct loom_graph *graph, int64_t stride);
/* A likely value: by the symbols' hints, kept within their ranges. */
int64_t loom_stride_hint(const struct loom_graph *graph, int64_t stride);

#ifdef __cplusplus
}
#endif

#endif
