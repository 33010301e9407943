/* The captured graph: plain C structs that know neither Python nor MLIR.
 *
 * Both binaries link this folder: capture builds a graph, the cache hashes it, the interpreter runs
 * it, the compiler library imports it into the `loom` dialect. Shape and dtype rules live here
 * once, and the dialect's verifiers call them.
 *
 * Sections by file: dtype.c, expr.c (symbolic sizes), graph.c, copy.c, region.c, infer.c (shape
 * rules), print.c, serial.c, interp.c.
 */
#ifndef LOOM_GRAPH_H
#define LOOM_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ------------------------------------------------------------------------------ */

/* A message filled by whoever fails; the caller decides how to report it. */
typedef struct loom_error {
  char message[512];
  bool uncountable; /* a tensor has more elements than an int64 counts: the graph is well-formed,
                       but cannot be compiled */
} loom_error;

/* Formats into `err` (may be NULL) and returns false, so that a failing function can `return
 * loom_fail(...)`. */
bool loom_fail(loom_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

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

/* ---- types, attributes, ops -------------------------------------------------------------- */

#define LOOM_MAX_RANK 16
#define LOOM_ATTENTION_COLUMNS 512 /* depth and width of a head that its kernels take */

typedef struct loom_type {
  loom_dtype dtype;
  int32_t rank;
  loom_dim dims[LOOM_MAX_RANK]; /* entries past rank are 0 */
} loom_type;

bool loom_type_equal(const loom_type *a, const loom_type *b);
/* Number of elements, or -1 when no size is 0 and one is symbolic or the product overflows. */
int64_t loom_type_elements(const loom_type *type);

/* Opcodes, generated from dialects/loom.td: LOOM_OP_ADD, ... Those of graphs come first; behind
 * LOOM_OP_COUNT are those of the ops that only the compiler makes (LOOM_OP_FUSION, ...). */
typedef enum loom_opcode {
#define LOOM_OP(ENUM, NAME, ...) LOOM_OP_##ENUM,
#include "loom_ops.inc"
  LOOM_OP_COUNT, /* ops of a graph; as an opcode: no op of the table */
#define LOOM_OP_INTERNAL(ENUM, NAME) LOOM_OP_##ENUM,
#include "loom_ops.inc"
  LOOM_OP_END
} loom_opcode;

typedef enum loom_attr_kind {
  LOOM_ATTR_NONE,
  LOOM_ATTR_I64,    /* i */
  LOOM_ATTR_I64S,   /* ints, count; starts, sizes, steps and padding may be symbolic numbers */
  LOOM_ATTR_BOOL,   /* i */
  LOOM_ATTR_STR,    /* str */
  LOOM_ATTR_SCALAR, /* bits: an element of the result's dtype, bit-cast (complex128: bits and
                       bits_hi) */
  LOOM_ATTR_DTYPE   /* i */
} loom_attr_kind;

typedef struct loom_attr {
  loom_attr_kind kind;
  int32_t count;
  union {
    int64_t i;
    const int64_t *ints;
    const char *str; /* interned by the graph's arena */
    uint64_t bits;
  };
  uint64_t bits_hi;
} loom_attr;

#define LOOM_MAX_ATTRS 6

typedef enum loom_fp_flag { /* floating-point (and integer) exceptions as NumPy's errstate names
                               them */
                            LOOM_FP_DIVIDE = 1,
                            LOOM_FP_OVERFLOW = 2,
                            LOOM_FP_UNDERFLOW = 4,
                            LOOM_FP_INVALID = 8
} loom_fp_flag;

/* The form of the code for one element of an op's result. */
typedef enum loom_lowering {
  LOOM_LOWER_NONE,  /* code of its own */
  LOOM_LOWER_UNARY, /* arithmetic on one, two or three elements of the result's type */
  LOOM_LOWER_BINARY,
  LOOM_LOWER_TERNARY,
  LOOM_LOWER_PREDICATE, /* a bool from one element */
  LOOM_LOWER_COMPARE,
  LOOM_LOWER_SELECT,
  LOOM_LOWER_CONVERT,
  LOOM_LOWER_BITCAST,
  LOOM_LOWER_PART, /* a complex number from its parts, or a part of one */
  LOOM_LOWER_VIEW  /* an element of the operand, at another index */
} loom_lowering;

/* How an op takes part in fusion. */
typedef enum loom_class {
  LOOM_CLASS_OTHER,     /* not an op of a graph, or one with regions */
  LOOM_CLASS_CONSTANT,  /* constant, iota: made anew in each kernel that uses it */
  LOOM_CLASS_VIEW,      /* an index map */
  LOOM_CLASS_POINTWISE, /* one element of each operand gives one element of the result */
  LOOM_CLASS_MOVE,      /* pad, concatenate, update_slice, gather, random: by an element's index */
  LOOM_CLASS_REDUCE,
  LOOM_CLASS_SCAN,
  LOOM_CLASS_DOT,
  LOOM_CLASS_ALONE, /* a kernel of its own: sort, scatter, convolution_gradient */
  LOOM_CLASS_HOST   /* run by the plan itself */
} loom_class;

/* What loom-complex makes of an op on complex numbers. */
typedef enum loom_parts {
  LOOM_PARTS_NONE,   /* there is no kernel for them */
  LOOM_PARTS_EACH,   /* the same op on each part */
  LOOM_PARTS_FORMULA /* other ops on the parts */
} loom_parts;

/* One row of the op table, generated from loom.td, which explains the columns. */
typedef struct loom_op_info {
  const char *name;  /* without "loom." */
  int8_t operands;   /* -1: variadic */
  int8_t results;    /* -1: variadic */
  int8_t regions;    /* sub-graphs of a node: control flow */
  const char *shape; /* the rule in infer.c */
  loom_lowering lower;
  loom_class fusion;
  uint32_t fp;         /* loom_fp_flag bits that the op may raise in the library it stands for */
  uint32_t fp_integer; /* those that it may raise for integers */
  const char *dtypes;  /* classes of element types that the computing operands may have
                          (loom_dtype_class) */
  loom_parts parts;
  int16_t cost, cost_f64; /* rough instructions for an element: of any other type, of f64 */
  bool exact, rounded, whole, truth, strided;
  bool pure; /* may be dropped where nobody reads it: it checks nothing and calls nobody */
  struct {
    const char *name;
    loom_attr_kind kind;
  } attrs[LOOM_MAX_ATTRS]; /* in the order of loom_node.attrs */
} loom_op_info;

extern const loom_op_info loom_op_table[LOOM_OP_COUNT];
/* The opcode of a name of `length` bytes without "loom."; LOOM_OP_COUNT where there is none. */
loom_opcode loom_op_find(const char *name, size_t length);

/* Has an op that loom-complex takes apart (`parts`) its code where attribute `name` is this word? A
 * sum is that of the parts and a product is not; numbers without an order are only equal or not. */
bool loom_parts_take(const char *name, const char *word, size_t length);

/* The user's place in the source, or all zero. */
typedef struct loom_location {
  const char *file, *function;
  int32_t line, column; /* from 1 */
  int32_t warning; /* 1 + the row of what its library would warn of, for the frontend; 0: none */
} loom_location;

typedef uint32_t loom_value; /* index into loom_graph.values */
#define LOOM_NO_VALUE UINT32_MAX

typedef struct loom_node {
  loom_opcode op;
  uint32_t operand_count, result_count;
  const loom_value *operands;
  loom_value first_result; /* results are consecutive values */
  loom_attr attrs[LOOM_MAX_ATTRS];
  const struct loom_graph *const *regions; /* as many as the op has (region.c) */
  loom_location location;
} loom_node;

typedef struct loom_value_info {
  loom_type type;
  int32_t node;  /* defining node, or -1 for a graph input */
  int32_t index; /* result number of the node, or input number */
} loom_value_info;

typedef enum loom_input_kind {
  LOOM_INPUT_ARRAY,  /* a buffer with strides */
  LOOM_INPUT_SCALAR, /* a 0-d value passed as bits in a launch's parameters */
  LOOM_INPUT_CONST   /* a contiguous buffer known when the plan is loaded (large constants) */
} loom_input_kind;

typedef struct loom_input {
  loom_value value;
  loom_input_kind kind;
  int64_t strides[LOOM_MAX_RANK]; /* ARRAY: in elements (0 broadcast, negative reversed), maybe
                                     symbolic; the buffer points at element [0, ..., 0] */
  bool given; /* nobody else has it: its memory is given back once the plan has read it last */
} loom_input;

/* Each output is a buffer of its own; views and aliases of results are the frontend's affair. */
typedef struct loom_output {
  loom_value value;
  int64_t strides[LOOM_MAX_RANK]; /* in elements, maybe symbolic; a permutation of a contiguous
                                     layout */
  int32_t overwrites; /* an input of this type and layout whose buffer the caller would like to pass
                         for this output as well, or -1 */
  bool lent;          /* the caller makes it when the plan first writes to it */
} loom_output;

typedef struct loom_graph {
  loom_arena arena;
  loom_node *nodes;
  uint32_t node_count, node_capacity;
  loom_value_info *values;
  uint32_t value_count, value_capacity;
  loom_input *inputs;
  uint32_t input_count, input_capacity;
  loom_output *outputs;
  uint32_t output_count, output_capacity;
  loom_expr *exprs;
  uint32_t expr_count, expr_capacity;
  loom_symbol *symbols;
  uint32_t symbol_count, symbol_capacity;
} loom_graph;

/* ---- graph.c ----------------------------------------------------------------------------- */

void loom_graph_init(loom_graph *graph);
void loom_graph_fini(loom_graph *graph);

loom_value loom_graph_input(loom_graph *graph, loom_input_kind kind, const loom_type *type,
                            const int64_t *strides);
bool loom_graph_output(loom_graph *graph, loom_value value,
                       const int64_t *strides); /* NULL: C order */

/* Appends a node. `types` gives the result types, or NULL to have them inferred (infer.c).
 * Attributes are copied into the graph's arena, in the table's order. Returns the first result,
 * LOOM_NO_VALUE with `err` set on failure. */
loom_value loom_graph_node(loom_graph *graph, loom_opcode op, const loom_value *operands,
                           uint32_t operand_count, const loom_attr *attrs, uint32_t attr_count,
                           const loom_type *types, uint32_t type_count,
                           const loom_location *location, loom_error *err);

/* The same for a node with regions, which are in the graph's arena (region.c). */
loom_value loom_graph_add_node(loom_graph *graph, loom_opcode op, const loom_value *operands,
                               uint32_t operand_count, const loom_attr *attrs, uint32_t attr_count,
                               const loom_graph *const *regions, const loom_type *types,
                               uint32_t type_count, const loom_location *location, loom_error *err);

const loom_type *loom_graph_type(const loom_graph *graph, loom_value value);

/* Strides of a C-contiguous array of this (static) type, in elements. */
void loom_contiguous_strides(const loom_type *type, int64_t *out);
/* The same for symbolic sizes; false when a product cannot be expressed. */
bool loom_contiguous_strides_in(loom_graph *graph, const loom_type *type, int64_t *out);
/* Number of elements as a size; false when it cannot be expressed. */
bool loom_type_elements_in(loom_graph *graph, const loom_type *type, loom_dim *out);

/* Makes room for `more` entries behind `count` in one of the graph's arrays; NULL when out of
 * memory. */
void *loom_graph_grow(loom_graph *graph, void *array, uint32_t count, uint32_t more,
                      uint32_t *capacity, size_t size);

/* The floating-point exceptions (loom_fp_flag bits) that the library may report for a node, given
 * its dtypes. */
uint32_t loom_node_fp(const loom_graph *graph, const loom_node *node);

/* Has the compiler code for the op on complex numbers, with these attributes? (The column `parts`,
 * which passes/complex.c follows.) */
bool loom_complex_has_code(loom_opcode op, const loom_attr *attrs);

/* Has the node an effect besides its results: does it check something, or must it run in order? */
bool loom_node_has_effect(const loom_node *node);

/* Makes outputs of values that no output depends on but whose computation may raise a
 * floating-point exception, so that it is not dropped: the library would report the exception.
 * False when out of memory. */
bool loom_graph_keep_raising(loom_graph *graph);

/* Drops nodes that no output needs and that have no effect. Values are renumbered; inputs and
 * outputs stay. */
void loom_graph_prune(loom_graph *graph);

/* ---- copy.c: with locations and regions; false (and an empty graph) when out of memory ------ */

bool loom_graph_copy(const loom_graph *from, loom_graph *out);

/* ---- pack.c: graphs that are kept only to be shown ------------------------------------------ */

typedef struct loom_bytes {
  uint8_t *data; /* malloc'ed; the owner frees it */
  size_t size;
} loom_bytes;
/* The whole graph, locations and regions included, in malloc'ed bytes; false when out of memory. */
bool loom_graph_pack(loom_graph *graph, loom_bytes *out);
bool loom_graph_unpack(const loom_bytes *bytes, loom_graph *out);
/* A graph without nodes: the inputs, outputs, symbols and expressions of another, whose values are
 * its inputs and then its outputs. False (and an empty graph) when out of memory. */
bool loom_graph_interface(const loom_graph *graph, loom_graph *out);

/* ---- region.c: control flow ---------------------------------------------------------------

   A node of `for`, `while` or `if` has regions: sub-graphs that see nothing but their inputs. A
   value that they read from outside is an operand of the node and an input of each region. Operand
   i of the node is input i + shift of each region:

     for    operands count, carried, outside; inputs index (int64), carried, outside; shift 0
     while  operands and inputs carried, outside; shift 0; regions condition (0-d bool), body
     if     operands condition, outside; inputs outside; shift -1; regions then, else

   Types in a region use the sizes of the graph around it. The attribute `symbol` of a `for` is the
   symbol that stands for its index, or -1: no size may depend on it. */

/* An empty graph for a region of a node of `parent`, with the symbols and sizes known so far. */
void loom_region_init(loom_graph *region, const loom_graph *parent);
/* Appends a node with these regions, which it takes over with their memory (they are left empty,
 * also on failure); `symbol` is the attribute of a `for`. Returns the first result, LOOM_NO_VALUE
 * with `err` set on failure. */
loom_value loom_graph_region_node(loom_graph *graph, loom_opcode op, const loom_value *operands,
                                  uint32_t operand_count, loom_graph *regions, int64_t symbol,
                                  const loom_location *location, loom_error *err);
/* Operand i of the node is input i + shift of its regions. */
int loom_region_shift(loom_opcode op);
/* Inputs of a region that are not from outside: the index and what is carried. */
uint32_t loom_region_own_inputs(loom_opcode op, uint32_t results);

/* ---- infer.c: shape and dtype rules ------------------------------------------------------ */

/* What infer.c and interp.c need to know of one op, free of any graph. */
typedef struct loom_op_view {
  loom_opcode op;
  const loom_attr *attrs;
  const loom_type *operands;
  uint32_t operand_count;
  const struct loom_graph *const *regions;
} loom_op_view;

/* Result types from operand types and attributes. For ops whose result type is not determined by
 * these (convert, constant, iota, reshape, broadcast, host_call, ...: loom_op_declares_type) `out`
 * holds the `*out_count` declared types and is checked instead. `out` has room for at least one
 * type, for as many as the op has results or the regions outputs; `*out_count` is 0 when none is
 * declared. `graph` holds the symbolic sizes and may be NULL when all are static. */
bool loom_op_declares_type(loom_opcode op);
/* Is each index of a scatter that of an element along the axis, not that of a slice? */
bool loom_scatter_is_along(const loom_type *operand, const loom_type *indices,
                           const loom_type *updates);
bool loom_infer_region(const loom_op_view *view, loom_type *out, uint32_t *out_count,
                       loom_error *err); /* region.c: the rule of nodes with regions */
bool loom_infer(loom_graph *graph, const loom_op_view *view, loom_type *out, uint32_t *out_count,
                loom_error *err);

/* ---- print.c, serial.c ------------------------------------------------------------------- */

void loom_graph_print(const loom_graph *graph,
                      FILE *out); /* as loom-dialect MLIR text that loom-opt reads */

void loom_type_print(const loom_graph *graph, const loom_type *type, FILE *out);

/* Canonical bytes of a graph without locations: the key of the cache. */
bool loom_graph_serialize(const loom_graph *graph, loom_bytes *out);

/* ---- cell.c: one element ----------------------------------------------------------------- */

/* Any element: bool and integers in `i` (extended to 64 bits), floats in `re`, complex in `re` and
 * `im`. */
typedef struct loom_cell {
  int64_t i;
  double re, im;
} loom_cell;

loom_cell loom_cell_load(loom_dtype dtype, const void *at);
void loom_cell_store(loom_dtype dtype, void *at, loom_cell cell); /* rounds, wraps */
loom_cell loom_cell_round(loom_dtype dtype, loom_cell cell);      /* as storing and loading would */
/* x * y + z, rounded once to a float dtype. */
double loom_cell_mul_add(loom_dtype dtype, double x, double y, double z);
loom_cell loom_cell_from_attr(loom_dtype dtype, const loom_attr *attr);
void loom_cell_to_attr(loom_dtype dtype, loom_cell cell, loom_attr *out);
/* False when the op is not of this kind or not for this dtype. Results are rounded to the dtype. */
bool loom_cell_unary(loom_opcode op, loom_dtype dtype, loom_cell a, loom_cell *out);
bool loom_cell_binary(loom_opcode op, loom_dtype dtype, loom_cell a, loom_cell b, loom_cell *out);
bool loom_cell_predicate(loom_opcode op, loom_dtype dtype, loom_cell a, bool *out);
#define LOOM_CELL_UNORDERED 2
int loom_cell_order(loom_dtype dtype, loom_cell a,
                    loom_cell b); /* -1, 0, 1 or LOOM_CELL_UNORDERED */
bool loom_cell_compare(const char *direction, loom_dtype dtype, loom_cell a, loom_cell b);
loom_cell loom_cell_convert(loom_dtype from, loom_dtype to, loom_cell a);

/* ---- interp.c: the reference interpreter ------------------------------------------------- */

typedef struct loom_buffer {
  void *data;                     /* element [0, ..., 0] */
  loom_type type;                 /* static */
  int64_t strides[LOOM_MAX_RANK]; /* in elements */
} loom_buffer;

/* Runs one op on contiguous or strided operands into allocated results. */
bool loom_interpret_op(const loom_op_view *view, const loom_buffer *operands, loom_buffer *results,
                       uint32_t result_count, loom_error *err);
/* Runs a whole graph: slow and obvious, the oracle for the compiler. `symbols` has a value for each
 * symbol of the graph; NULL: those that are a size of an input are read from there. */
bool loom_interpret(const loom_graph *graph, const loom_buffer *inputs, loom_buffer *outputs,
                    const int64_t *symbols, loom_error *err);
/* Runs the host call in a slot: operands' buffers in C order, then the results'; not 0: it failed.
 */
typedef int (*loom_interpret_host)(void *context, uint32_t slot, void **buffers, uint32_t reads,
                                   uint32_t count, const int64_t *symbols);
/* The same for graphs with host calls (not in regions). */
bool loom_interpret_hosted(const loom_graph *graph, const loom_buffer *inputs, loom_buffer *outputs,
                           const int64_t *symbols, loom_interpret_host host, void *context,
                           loom_error *err);

#ifdef __cplusplus
}
#endif
#endif
