/* How much work a graph is, before anything is known of its kernels.
 *
 * Fusion is taken into account in a simple way. Results of reductions, scans, contractions and
 * operations that have kernels of their own lie in memory, and so do inputs and outputs. Each of
 * these results is a kernel of its own. Outputs with the same number of elements that are none of
 * these share a kernel. A kernel reads what its elementwise operations, moves and views lead back
 * to. Through a slice it reads no more elements than the slice has.
 *
 * A loop does its body's work as often as it runs. Where that is not known, WORK_GUESS times. A
 * branch does the work of its longer side. */
#include "graph/work.h"

#include <math.h>
#include <stdlib.h>

#include "loom_ops_control.h"
#include "loom_ops_elements.h"
#include "loom_ops_reductions.h"

#define WORK_GUESS 16
#define WORK_STEPS 200000 /* nodes that are looked at on the way back from kernels */

typedef struct work_walk {
  const loom_graph *graph;
  const int64_t *symbols;
  uint32_t *seen; /* for each value the kernel that has last read it */
  uint32_t kernel, steps;
  loom_work *out;
} work_walk;

/* ---- sizes ---- */

static double work_elements(const work_walk *w, loom_value v) {
  const loom_type *type = loom_graph_type(w->graph, v);
  double elements = 1;
  for (int i = 0; i < type->rank; i++) {
    int64_t size = type->dims[i];
    if (LOOM_DIM_IS_SYM(size) && !loom_dim_eval(w->graph, size, w->symbols, &size)) size = 1;
    elements *= (double)size;
  }
  return elements;
}

static double work_itemsize(const work_walk *w, loom_value v) {
  return (double)loom_dtype_size(loom_graph_type(w->graph, v)->dtype);
}

static double work_bytes(const work_walk *w, loom_value v) {
  return work_elements(w, v) * work_itemsize(w, v);
}

static double work_least(double a, double b) { return a < b ? a : b; }
static double work_most(double a, double b) { return a > b ? a : b; }

/* ---- one operation ---- */

static double work_contracted(const work_walk *w, const loom_node *node) {
  const loom_type *type = loom_graph_type(w->graph, node->operands[0]);
  double depth = 1;
  for (int32_t i = 0; i < node->attrs[2].count; i++) {
    int64_t size = type->dims[node->attrs[2].ints[i]];
    if (LOOM_DIM_IS_SYM(size) && !loom_dim_eval(w->graph, size, w->symbols, &size)) size = 1;
    depth *= (double)size;
  }
  return depth;
}

static double work_row(const work_walk *w, loom_value v, int axis_from_end) {
  const loom_type *type = loom_graph_type(w->graph, v);
  int64_t size = type->rank >= axis_from_end ? type->dims[type->rank - axis_from_end] : 1;
  if (LOOM_DIM_IS_SYM(size) && !loom_dim_eval(w->graph, size, w->symbols, &size)) size = 1;
  return (double)size;
}

/* Operations for all elements of a node without regions. */
static double work_operations(const work_walk *w, const loom_node *node) {
  const loom_op_info *info = &loom_op_table[node->op];
  double results = work_elements(w, node->first_result), most = results;
  for (uint32_t i = 0; i < node->operand_count; i++)
    most = work_most(most, work_elements(w, node->operands[i]));
  loom_dtype dtype = loom_graph_type(w->graph, node->first_result)->dtype;
  double wide = dtype == LOOM_F64 || loom_dtype_is_complex(dtype) ? 2 : 1;
  double each = wide * info->cost;
  switch (node->op) {
  case LOOM_OP_DOT_GENERAL: return wide * results * work_contracted(w, node);
  case LOOM_OP_CONVOLUTION: {
    const loom_type *weight = loom_graph_type(w->graph, node->operands[1]);
    double channels = weight->rank ? work_row(w, node->operands[1], weight->rank) : 1;
    return wide * results * work_elements(w, node->operands[1]) / work_most(channels, 1);
  }
  case LOOM_OP_ATTENTION: return 2 * results * work_row(w, node->operands[1], 2);
  case LOOM_OP_SORT: return 8 * most * log2(work_row(w, node->operands[0], 1) + 2);
  default: break;
  }
  switch (info->fusion) {
  case LOOM_CLASS_POINTWISE:
  case LOOM_CLASS_MOVE: return each * results;
  case LOOM_CLASS_REDUCE:
  case LOOM_CLASS_SCAN: return each * most;
  case LOOM_CLASS_DOT:
  case LOOM_CLASS_ALONE: return 8 * each * most;
  default: return 0;
  }
}

/* Are the node's results in memory? */
static bool work_is_kept(const loom_node *node) {
  loom_class fusion = loom_op_table[node->op].fusion;
  return fusion == LOOM_CLASS_REDUCE || fusion == LOOM_CLASS_SCAN || fusion == LOOM_CLASS_DOT ||
         fusion == LOOM_CLASS_ALONE || fusion == LOOM_CLASS_HOST || fusion == LOOM_CLASS_OTHER;
}

/* ---- kernels ---- */

/* What a kernel reads for a value of which it needs at most `elements`. */
static void work_read(work_walk *w, loom_value v, double elements, int depth) {
  if (w->seen[v] == w->kernel || w->steps == WORK_STEPS || depth > 200) return;
  w->seen[v] = w->kernel;
  w->steps++;
  elements = work_least(elements, work_elements(w, v));
  int32_t number = w->graph->values[v].node;
  const loom_node *node = number < 0 ? NULL : &w->graph->nodes[number];
  if (!node || work_is_kept(node)) {
    w->out->bytes += elements * work_itemsize(w, v);
    return;
  }
  bool views = loom_op_table[node->op].fusion == LOOM_CLASS_VIEW ||
               loom_op_table[node->op].fusion == LOOM_CLASS_MOVE;
  for (uint32_t i = 0; i < node->operand_count; i++)
    work_read(w, node->operands[i], views ? elements : INFINITY, depth + 1);
}

static void work_kernel(work_walk *w, const loom_node *node) {
  w->kernel++;
  w->out->kernels++;
  for (uint32_t i = 0; i < node->operand_count; i++)
    work_read(w, node->operands[i], INFINITY, 0);
  for (uint32_t i = 0; i < node->result_count; i++)
    w->out->bytes += work_bytes(w, node->first_result + i);
}

static bool work_is_fused(const loom_graph *graph, loom_value v) {
  int32_t number = graph->values[v].node;
  return number >= 0 && !work_is_kept(&graph->nodes[number]);
}

/* Outputs that are made by elementwise operations, moves and views. */
static void work_outputs(work_walk *w) {
  const loom_graph *graph = w->graph;
  for (uint32_t i = 0; i < graph->output_count; i++) {
    loom_value v = graph->outputs[i].value;
    double elements = work_elements(w, v);
    bool first = work_is_fused(graph, v);
    for (uint32_t k = 0; k < i && first; k++)
      first = !work_is_fused(graph, graph->outputs[k].value) ||
              work_elements(w, graph->outputs[k].value) != elements;
    if (!first) continue;
    w->kernel++;
    w->out->kernels++;
    for (uint32_t k = i; k < graph->output_count; k++) {
      loom_value other = graph->outputs[k].value;
      if (!work_is_fused(graph, other) || work_elements(w, other) != elements) continue;
      work_read(w, other, INFINITY, 0);
      w->out->bytes += work_bytes(w, other);
    }
  }
}

/* ---- control flow ---- */

static bool work_graph(const loom_graph *graph, const int64_t *symbols, loom_work *out);

/* How often the body of a loop runs: a constant, else a guess. */
static double work_count(const work_walk *w, const loom_node *node) {
  loom_value v = node->operand_count ? node->operands[0] : LOOM_NO_VALUE;
  int32_t number = node->op == LOOM_OP_FOR && v != LOOM_NO_VALUE ? w->graph->values[v].node : -1;
  while (number >= 0 && w->graph->nodes[number].operand_count == 1)
    number = w->graph->values[w->graph->nodes[number].operands[0]].node;
  const loom_node *from = number < 0 ? NULL : &w->graph->nodes[number];
  if (from && loom_op_table[from->op].constant) {
    int64_t count = (int64_t)from->attrs[0].bits;
    if (count >= 0 && count < LOOM_NUMBER_LIMIT) return (double)count;
  }
  w->out->guessed = true;
  return WORK_GUESS;
}

static bool work_regions(work_walk *w, const loom_node *node) {
  loom_work all = {.guessed = w->out->guessed};
  double times = node->op == LOOM_OP_IF ? 1 : work_count(w, node);
  for (int r = 0; r < loom_op_table[node->op].regions; r++) {
    loom_work part = {.guessed = false};
    if (!work_graph(node->regions[r], w->symbols, &part)) return false;
    bool either = node->op == LOOM_OP_IF;
    all.bytes = either ? work_most(all.bytes, part.bytes) : all.bytes + part.bytes;
    all.operations =
        either ? work_most(all.operations, part.operations) : all.operations + part.operations;
    all.kernels = either ? work_most(all.kernels, part.kernels) : all.kernels + part.kernels;
    w->out->guessed |= part.guessed;
  }
  w->out->bytes += times * all.bytes;
  w->out->operations += times * all.operations;
  w->out->kernels += times * all.kernels;
  return true;
}

static bool work_graph(const loom_graph *graph, const int64_t *symbols, loom_work *out) {
  work_walk w = {.graph = graph, .symbols = symbols, .out = out};
  w.seen = calloc((size_t)graph->value_count + 1, sizeof *w.seen);
  if (!w.seen) return false;
  bool good = true;
  for (uint32_t n = 0; n < graph->node_count && good; n++) {
    const loom_node *node = &graph->nodes[n];
    if (loom_op_table[node->op].regions > 0 && node->regions) {
      good = work_regions(&w, node);
      continue;
    }
    if (node->result_count) out->operations += work_operations(&w, node);
    if (node->result_count && work_is_kept(node)) work_kernel(&w, node);
  }
  work_outputs(&w);
  free(w.seen);
  return good;
}

bool loom_graph_work(const loom_graph *graph, const int64_t *symbols, loom_work *out) {
  *out = (loom_work){.bytes = 0};
  return work_graph(graph, symbols, out);
}
