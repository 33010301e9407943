/* The captured graph: plain C structs that know neither Python nor MLIR.
 *
 * Both binaries link this folder: capture builds a graph, the cache hashes it, the interpreter runs
 * it, the compiler library imports it into the `loom` dialect. Shape and dtype rules live here
 * once, and the dialect's verifiers call them.
 *
 * types.h has what graphs are made of, tools.h what is done with whole ones.
 */
#ifndef LOOM_GRAPH_H
#define LOOM_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "graph/types.h"
#include "loom_op_ranges.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* LOOM_OP_ADD and so on, of the headers of the groups of ops (ops.h): only what names an op of a
 * group includes its header, so that a new op does not build everything anew. */
typedef unsigned int loom_opcode;

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
  LOOM_PARTS_ANY,    /* a predicate: does it hold for any part? */
  LOOM_PARTS_ALL,    /* a predicate: does it hold for all parts? */
  LOOM_PARTS_FORMULA /* other ops on the parts */
} loom_parts;

/* One row of the op table, generated from loom.td, which explains the columns. Rows of ops that no
 * graph holds have only the name and the columns that are true. */
typedef struct loom_op_info {
  const char *name;   /* without "loom." */
  const char *format; /* the assembly format, for print.c (dialects/gen_ops.py) */
  int8_t operands;    /* -1: variadic */
  int8_t results;     /* -1: variadic */
  int8_t regions;     /* sub-graphs of a node: control flow */
  const char *shape;  /* the rule in infer.c */
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
  bool constant, ends; /* a loom.constant; it ends a block */
  bool alias, updates, indexed, windowed, body, applies, control;
  struct {
    const char *name;
    loom_attr_kind kind;
  } attrs[LOOM_MAX_ATTRS]; /* in the order of loom_node.attrs */
} loom_op_info;

extern const loom_op_info loom_op_table[];
/* Is it an op of graphs? Groups have room for more opcodes than there are. */
bool loom_op_exists(loom_opcode op);
/* How many attributes its nodes have. */
uint32_t loom_op_attr_count(loom_opcode op);
/* The opcode of a name of `length` bytes without "loom."; LOOM_OP_COUNT where there is none. */
loom_opcode loom_op_find(const char *name, size_t length);

/* Has an op with `parts` code for complex numbers where attribute `name` is this word? A sum is
 * taken of each part, a product is not; numbers without an order can only be equal or not. */
bool loom_parts_take(const char *name, const char *word, size_t length);

/* The user's place in the source, or all zero. */
typedef struct loom_location {
  const char *file, *function;
  int32_t line, column; /* from 1 */
  int32_t warning;    /* 1 + the row of what its library would warn of, for the frontend; 0: none */
  int32_t checkpoint; /* the checkpointed call that the node belongs to (gradient.h); 0: none */
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
  const char *name; /* the user's name for it, for readers of the graph; or NULL */
  loom_input_kind kind;
  int64_t strides[LOOM_MAX_RANK]; /* ARRAY: in elements (0 broadcast, negative reversed), maybe
                                     symbolic; the buffer points at element [0, ..., 0] */
  bool given; /* nobody else has it: its memory is given back once the plan has read it for the last
                 time */
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
  bool assumes; /* a status of an index may stand for what capture has assumed of values */
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
/* Appends a node of another graph; map[] maps values of that graph to values of this one
 * (region.c). */
bool loom_graph_copy_node(const loom_graph *from, const loom_node *node, loom_graph *to,
                          loom_value *map, loom_error *err);

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

/* `marks`, by value: marks what depends on a value that is marked. */
void loom_graph_mark(const loom_graph *graph, bool *marks);

/* Drops nodes that no output needs and that have no effect. Values are renumbered; inputs and
 * outputs stay. */
void loom_graph_prune(loom_graph *graph);

#ifdef __cplusplus
}
#endif

#include "graph/tools.h"

#endif
