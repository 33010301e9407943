/* What is done with whole graphs: copies, regions, shape rules, text and bytes, the reference
 * interpreter. Included by graph.h. */
#ifndef LOOM_GRAPH_TOOLS_H
#define LOOM_GRAPH_TOOLS_H

#include "graph/graph.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

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
loom_cell loom_cell_from_attr(loom_dtype dtype, const loom_attr *attr);
void loom_cell_to_attr(loom_dtype dtype, loom_cell cell, loom_attr *out);
#define LOOM_CELL_OPERANDS 3 /* at most, of an elementwise op */
/* What an elementwise op of `in`, which has as many elements as the op operands, computes by its
 * formula in loom.td; rounded to the dtype of its result. False: it has none for this dtype. */
bool loom_cell_apply(loom_opcode op, loom_dtype dtype, const loom_cell *in, loom_cell *out);
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
/* From now on loops of graphs that this thread interprets run so many iterations in all, and then
 * fail; negative: any number. (interp_region.c) */
void loom_interpret_bound(int64_t iterations);
/* What this thread interprets from now on fails when the seconds are over; 0: it takes its time. */
void loom_interpret_within(int seconds);
bool loom_interpret_in_time(loom_error *err);
/* Counts one iteration; false, with an error, when there may be no more. */
bool loom_interpret_iteration(loom_error *err);
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
