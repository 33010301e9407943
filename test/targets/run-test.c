/* Compiles every function of a file as the compiler library does, runs the plans and compares the
 * results with the reference interpreter.
 *
 * run-test [-t|-T] [-s] [-c] [-b|-B] [-p] FILE: one line for each function: kernels, then "right"
 * or the first difference. With -t, the times of compiling (the second time in this process) and of
 * a run; with -T without the interpreter, for large sizes. With -s, every size of an input that is
 * at least 2 becomes a symbol first, and one plan runs for several values of them; a function whose
 * meaning is bound to its sizes is "static". With -c, as loom-compile does: one C function without
 * the runtime; of it -B shrinks the arguments. With -b, kernels are checked: every access is
 * compared with the bounds of its buffer; with -B, also with bounds that are too narrow by a byte,
 * which has to stop the run. Unless a run is timed, arenas are guarded, and what a plan gives back
 * of them is filled with NaNs. FRAMELOOM_TRACE=dir keeps the stages. With -p,
 * functions are printed as graphs are.
 */
#include <inttypes.h>
#include <math.h>
#include <mlir-c/IR.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "graph/arrays.h"
#include "loom_ops_control.h"
#include "loom_ops_shapes.h"
#include "run-program.h"
#include "runtime/runtime.h"
#include "targets/compiler.h"

typedef struct run_array {
  loom_buffer buffer;
  char *block;
  size_t size;
} run_array;

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static uint64_t random_bits(void) {
  static uint64_t state = 0x243f6a8885a308d3u;
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

/* ---- arrays ---- */

static void fill(run_array *array) {
  loom_dtype dtype = array->buffer.type.dtype;
  size_t size = loom_dtype_size(dtype), count = array->size / size;
  char class = loom_dtype_class(dtype);
  for (size_t i = 0; i < count; i++) {
    uint64_t bits = random_bits() >> 20;
    loom_cell cell = {.re = (double)(bits % 40001) / 10000.0 - 2.0,
                      .im = (double)(bits / 40001 % 40001) / 10000.0 - 2.0};
    cell.i = class == 'b' ? (int64_t)(bits & 1) : (int64_t)(bits % 19) + 1;
    loom_cell_store(dtype, array->block + i * size, cell);
  }
}

/* Memory for an array of these strides: element [0, ..., 0] lies in the middle when some are
 * negative. */
static bool make(run_array *out, const loom_type *type, const int64_t *strides) {
  int64_t low = 0, high = 0, size = (int64_t)loom_dtype_size(type->dtype);
  out->buffer.type = *type;
  for (int i = 0; i < type->rank; i++) {
    int64_t last = (type->dims[i] > 0 ? type->dims[i] - 1 : 0) * strides[i];
    low += last < 0 ? last : 0;
    high += last > 0 ? last : 0;
    out->buffer.strides[i] = strides[i];
  }
  out->size = (size_t)((high - low + 1) * size);
  out->block = aligned_alloc(64, (out->size + 127) / 64 * 64);
  if (!out->block) return false;
  memset(out->block, 0x5a, out->size);
  out->buffer.data = out->block - low * size;
  return true;
}

static const char *element(const run_array *array, int64_t number) {
  const loom_type *type = &array->buffer.type;
  int64_t offset = 0;
  for (int i = type->rank - 1; i >= 0; i--) {
    offset += number % type->dims[i] * array->buffer.strides[i];
    number /= type->dims[i];
  }
  return (const char *)array->buffer.data + offset * (int64_t)loom_dtype_size(type->dtype);
}

/* Of a result: that of the widest rounding among all that it is computed from. */
static double bound_of_result(const loom_graph *graph, uint32_t output) {
  uint8_t *used = calloc(graph->value_count + 1, 1);
  double bound = loom_array_bound(loom_graph_type(graph, graph->outputs[output].value)->dtype);
  if (!used) return bound;
  used[graph->outputs[output].value] = 1;
  for (uint32_t n = graph->node_count; n-- > 0;) {
    const loom_node *node = &graph->nodes[n];
    for (uint32_t r = 0; r < node->result_count; r++) {
      if (!used[node->first_result + r]) continue;
      bound = fmax(bound, loom_array_bound(loom_graph_type(graph, node->first_result + r)->dtype));
      for (uint32_t i = 0; i < node->operand_count; i++)
        used[node->operands[i]] = 1;
    }
  }
  free(used);
  return bound;
}

static bool near(double x, double y, double bound) {
  return fabs(x - y) <= bound || (isnan(x) && isnan(y)) || x == y;
}

/* Compares two arrays; of floats, differences of `unit` in units of the largest are forgiven. */
static bool same(const run_array *got, const run_array *want, int output, double unit) {
  const loom_type *type = &got->buffer.type;
  int64_t count = loom_type_elements(type);
  char class = loom_dtype_class(type->dtype);
  bool real = class == 'f' || class == 'c';
  double largest = 1;
  for (int64_t i = 0; real && i < count; i++) {
    loom_cell y = loom_cell_load(type->dtype, element(want, i));
    if (isfinite(y.re)) largest = fmax(largest, fabs(y.re));
    if (class == 'c' && isfinite(y.im)) largest = fmax(largest, fabs(y.im));
  }
  for (int64_t i = 0; i < count; i++) {
    const char *a = element(got, i), *b = element(want, i);
    if (!memcmp(a, b, loom_dtype_size(type->dtype))) continue;
    loom_cell x = loom_cell_load(type->dtype, a), y = loom_cell_load(type->dtype, b);
    double bound = unit * largest;
    if (real && near(x.re, y.re, bound) && (class == 'f' || near(x.im, y.im, bound))) continue;
    if (real)
      printf("result %d element %" PRId64 " is %.9g, not %.9g\n", output, i, x.re, y.re);
    else
      printf("result %d element %" PRId64 " is %" PRId64 ", not %" PRId64 "\n", output, i, x.i,
             y.i);
    return false;
  }
  return true;
}

/* ---- one function ---- */

typedef struct run_case {
  const char *name;
  loom_graph graph;
  run_array inputs[64], outputs[64], wanted[64];
  uint64_t scalars[64];
  int64_t symbols[256];
  bool unchecked;
  run_program *program; /* in place of a plan */
  loom_error err;
  loom_compile_info info;
} run_case;

static bool evaluate(run_case *c, const loom_type *type, const int64_t *strides,
                     loom_type *type_out, int64_t *strides_out) {
  *type_out = *type;
  for (int d = 0; d < type->rank; d++)
    if (!loom_dim_eval(&c->graph, type->dims[d], c->symbols, &type_out->dims[d]) ||
        type_out->dims[d] < 0 ||
        !loom_stride_eval(&c->graph, strides[d], c->symbols, &strides_out[d]))
      return loom_fail(&c->err, "a size has no value");
  if (loom_type_elements(type_out) > 1 << 24) return loom_fail(&c->err, "too large");
  return true;
}

/* Results of host calls in one run: memory, and its size. */
static struct {
  void *data[16];
  int count;
} hosted;

/* The only library: "odd" takes the odd elements of a 1-d int32 array, whose size it is told as the
 * first symbol, and introduces the number that there are as the second. */
static int host(void *context, const loom_host_call *call) {
  if (strcmp(call->name, "odd") != 0 || call->buffers[1] || hosted.count == 16) return 1;
  const int32_t *from = call->buffers[0];
  int32_t *to = malloc(sizeof *to * (size_t)(call->symbols[0] + 1));
  int64_t count = 0;
  for (int64_t i = 0; i < call->symbols[0]; i++)
    if (from[i] & 1) to[count++] = from[i];
  call->symbols[1] = ((run_case *)context)->symbols[1] = count;
  call->buffers[1] = hosted.data[hosted.count++] = to;
  return 0;
}

/* The memory of an output whose size is known only now. */
static void *allocate(void *context, uint32_t output, size_t bytes, const int64_t *symbols) {
  run_case *c = context;
  const loom_output *out = &c->graph.outputs[output];
  loom_type type;
  int64_t strides[LOOM_MAX_RANK];
  free(c->outputs[output].block);
  c->outputs[output].block = NULL;
  if (!evaluate(c, loom_graph_type(&c->graph, out->value), out->strides, &type, strides) ||
      !make(&c->outputs[output], &type, strides))
    return NULL;
  size_t size = (size_t)loom_type_elements(&type) * loom_dtype_size(type.dtype);
  return size == bytes ? c->outputs[output].buffer.data : NULL;
}

static bool prepare(run_case *c) {
  const loom_graph *g = &c->graph;
  uint32_t scalar = 0;
  for (uint32_t v = 0; v < g->value_count && g->symbol_count; v++) {
    loom_type type = *loom_graph_type(g, v);
    for (int d = 0; d < type.rank; d++)
      if (!loom_dim_eval(g, type.dims[d], c->symbols, &type.dims[d])) type.dims[d] = 0;
    if (loom_type_elements(&type) > 1 << 20) return loom_fail(&c->err, "too large");
  }
  if (g->input_count > 64 || g->output_count > 64) return loom_fail(&c->err, "too many arrays");
  for (uint32_t i = 0; i < g->input_count; i++) {
    loom_type type;
    int64_t strides[LOOM_MAX_RANK];
    if (!evaluate(c, loom_graph_type(g, g->inputs[i].value), g->inputs[i].strides, &type, strides))
      return false;
    if (!make(&c->inputs[i], &type, strides)) return loom_fail(&c->err, "out of memory");
    fill(&c->inputs[i]);
    if (g->inputs[i].kind == LOOM_INPUT_SCALAR)
      memcpy(&c->scalars[scalar++], c->inputs[i].buffer.data, loom_dtype_size(type.dtype));
  }
  for (uint32_t i = 0; i < g->output_count; i++) {
    loom_type type;
    int64_t strides[LOOM_MAX_RANK], plain[LOOM_MAX_RANK];
    if (!evaluate(c, loom_graph_type(g, g->outputs[i].value), g->outputs[i].strides, &type,
                  strides))
      return false;
    loom_contiguous_strides(&type, plain);
    if (!make(&c->outputs[i], &type, strides) || !make(&c->wanted[i], &type, plain))
      return loom_fail(&c->err, "out of memory");
  }
  return true;
}

/* The graph with the results of its host calls as inputs. */
static bool without_calls(const loom_graph *from, loom_graph *to) {
  loom_region_init(to, from);
  for (uint32_t v = 0, n = 0; v < from->value_count; v++) {
    const loom_node *node = n < from->node_count ? &from->nodes[n] : NULL;
    bool input = from->values[v].node < 0;
    n += !input;
    if (input || node->op == LOOM_OP_HOST_CALL) {
      if (loom_graph_input(to, LOOM_INPUT_ARRAY, &from->values[v].type, NULL) != v) return false;
      continue;
    }
    int attrs = 0;
    while (attrs < LOOM_MAX_ATTRS && loom_op_table[node->op].attrs[attrs].name)
      attrs++;
    if (loom_graph_node(to, node->op, node->operands, node->operand_count, node->attrs,
                        (uint32_t)attrs, &from->values[v].type, 1, NULL, NULL) != v)
      return false;
  }
  for (uint32_t i = 0; i < from->output_count; i++)
    if (!loom_graph_output(to, from->outputs[i].value, NULL)) return false;
  return true;
}

static bool interpret_hosted(run_case *c) {
  loom_graph plain;
  loom_buffer inputs[80], outputs[64];
  bool good = without_calls(&c->graph, &plain) || loom_fail(&c->err, "no plain graph");
  for (uint32_t i = 0; good && i < plain.input_count; i++) {
    loom_type type;
    uint32_t call = i - c->graph.input_count;
    inputs[i] = c->inputs[i < 64 ? i : 63].buffer;
    if (i < c->graph.input_count) continue;
    good = evaluate(c, loom_graph_type(&plain, plain.inputs[i].value), plain.inputs[i].strides,
                    &type, inputs[i].strides);
    inputs[i].type = type;
    inputs[i].data = hosted.data[call];
  }
  for (uint32_t i = 0; good && i < c->graph.output_count; i++) {
    loom_type type;
    int64_t strides[LOOM_MAX_RANK];
    good = evaluate(c, loom_graph_type(&c->graph, c->graph.outputs[i].value),
                    c->graph.outputs[i].strides, &type, strides);
    free(c->wanted[i].block);
    c->wanted[i].block = NULL;
    good = good && make(&c->wanted[i], &type, strides);
    outputs[i] = c->wanted[i].buffer;
  }
  good = good && loom_interpret(&plain, inputs, outputs, c->symbols, &c->err);
  for (int i = 0; i < hosted.count; i++)
    free(hosted.data[i]);
  hosted.count = 0;
  loom_graph_fini(&plain);
  return good;
}

static bool calls_host(const loom_graph *g) {
  for (uint32_t n = 0; n < g->node_count; n++)
    if (g->nodes[n].op == LOOM_OP_HOST_CALL) return true;
  return false;
}

static bool interpret(run_case *c) {
  loom_buffer inputs[64], outputs[64];
  for (uint32_t i = 0; i < c->graph.input_count; i++)
    inputs[i] = c->inputs[i].buffer;
  for (uint32_t i = 0; i < c->graph.output_count; i++)
    outputs[i] = c->wanted[i].buffer;
  return loom_interpret(&c->graph, inputs, outputs, c->symbols, &c->err);
}

static bool run(run_case *c, const loom_plan *plan, bool timed) {
  void *inputs[64], *outputs[64];
  for (uint32_t i = 0; i < c->graph.input_count; i++)
    inputs[i] = c->inputs[i].buffer.data;
  for (uint32_t i = 0; i < c->graph.output_count; i++)
    outputs[i] = c->outputs[i].buffer.data;
  if (c->program) {
    c->err.message[0] = 0;
    int status =
        run_program_call(c->program, c->symbols, (const void *const *)inputs, outputs, &c->err);
    if (status > 0 && (status & (int)LOOM_STATUS_BOUNDS)) return false;
    return !(status & ~3) || loom_fail(&c->err, "the program returned %d", status);
  }
  loom_violation violation;
  loom_call call = {.inputs = inputs,
                    .scalars = c->scalars,
                    .outputs = outputs,
                    .symbols = c->symbols,
                    .host = host,
                    .host_context = c,
                    .allocate = allocate,
                    .violation = &violation};
  uint32_t status = loom_plan_run(plan, &call);
  if (status & LOOM_STATUS_BOUNDS) return loom_fail(&c->err, "%s", violation.text);
  if (status & ~15u) return loom_fail(&c->err, "the plan stopped with status %#x", status);
  double best = 1e9;
  for (int i = 0; timed && i < 60; i++) {
    double start = now_ms();
    loom_plan_run(plan, &call);
    double took = now_ms() - start;
    best = took < best ? took : best;
  }
  if (timed) printf("run %.4f ms  ", best);
  return true;
}

static const char *cpu;
static bool bounds, shrunk;
static loom_bytes compiled_bytes; /* with -B: of the last plan */

static loom_plan *compile(run_case *c, bool timed) {
  /* What is compared with bounds is there before LLVM optimizes; with -b, it does. */
  loom_compile_options options = {
      .cpu = cpu, .trace_dir = getenv("FRAMELOOM_TRACE"), .check = bounds, .quick = shrunk};
  loom_bytes bytes;
  for (int i = 0; i < (timed ? 3 : 1); i++) {
    if (i) free(bytes.data);
    if (!loom_compiler_compile(&c->graph, &options, &bytes, &c->info, &c->err)) return NULL;
  }
  printf("%s: %u ops, %u kernels  ", c->name, c->info.ops, c->info.fusions);
  if (timed)
    printf("compile %.2f ms (import %.2f passes %.2f lower %.2f emit %.2f)  ", c->info.total_ms,
           c->info.import_ms, c->info.passes_ms, c->info.lower_ms, c->info.emit_ms);
  loom_plan *plan = loom_plan_load(bytes.data, bytes.size, &c->err);
  free(compiled_bytes.data);
  compiled_bytes = bytes;
  return plan;
}

static void discard(run_case *c) {
  for (int i = 0; i < 64; i++) {
    run_array *arrays[] = {&c->inputs[i], &c->outputs[i], &c->wanted[i]};
    for (int k = 0; k < 3; k++) {
      free(arrays[k]->block);
      arrays[k]->block = NULL;
    }
  }
}

/* Arrays for the symbols' values, a run and the interpreter's answer. */
static bool trial(run_case *c, loom_plan *plan, bool timed) {
  bool good = prepare(c);
  for (uint32_t i = 0; good && i < c->graph.input_count; i++)
    if (plan && c->graph.inputs[i].kind == LOOM_INPUT_CONST)
      loom_plan_set_const(plan, i, c->inputs[i].buffer.data);
  /* The interpreter comes first: it refuses sizes that no graph of this kind is ever called with,
   * such as those that put a slice out of its operand, where a plan trusts its caller. */
  bool after = calls_host(&c->graph), checked = !c->unchecked;
  good = good && (!checked || after || interpret(c)) && run(c, plan, timed) &&
         (!checked || !after || interpret_hosted(c));
  for (uint32_t i = 0; good && !c->unchecked && i < c->graph.output_count; i++)
    good = same(&c->outputs[i], &c->wanted[i], (int)i, bound_of_result(&c->graph, i)) ||
           loom_fail(&c->err, "results differ");
  discard(c);
  return good;
}

/* ---- bounds that are too narrow ---- */

/* A plan whose buffer `number` seems to have a byte less at its end, or at its beginning; NULL when
 * that is no number. */
static loom_plan *shrink(uint32_t number, bool end) {
  loom_plan_header h;
  uint8_t *bytes = malloc(compiled_bytes.size);
  memcpy(bytes, compiled_bytes.data, compiled_bytes.size);
  memcpy(&h, bytes, sizeof h);
  loom_plan_extent *extent = (loom_plan_extent *)(void *)(bytes + h.extents.offset) + number;
  loom_plan *plan = NULL;
  if (!extent->flags && extent->size > 0) {
    extent->size--;
    extent->low += !end;
    size_t skipped = offsetof(loom_plan_header, checksum) + sizeof h.checksum;
    h.checksum = loom_checksum(bytes + skipped, compiled_bytes.size - skipped);
    memcpy(bytes, &h, sizeof h);
    plan = loom_plan_load(bytes, compiled_bytes.size, NULL);
  }
  free(bytes);
  return plan;
}

/* Each buffer of the plan shrunk, one after the other: is every run stopped that would touch the
 * byte? */
static bool shrink_all(run_case *c) {
  loom_plan_header h;
  memcpy(&h, compiled_bytes.data, sizeof h);
  int tried = 0, stopped = 0;
  for (uint32_t i = 0; i < 2 * h.extents.count; i++) {
    loom_plan *plan = shrink(i / 2, i % 2);
    if (!plan) continue;
    bool went = trial(c, plan, false);
    tried++;
    stopped += !went && strstr(c->err.message, "is outside of buffer") != NULL;
    loom_plan_unref(plan);
  }
  printf("%d of %d shrunk buffers stopped  ", stopped, tried);
  return true;
}

/* ---- sizes as symbols ---- */

typedef struct symbolic {
  const loom_graph *from;
  loom_graph *to;
  int64_t sizes[64]; /* what symbol i was; strides: what they are */
  loom_dim dims[64];
  uint32_t count;
  bool stride[64];
} symbolic;

/* What became of a size that some value has. */
static bool symbolic_known(const symbolic *s, int64_t size, loom_dim *out) {
  for (uint32_t v = 0; v < s->to->value_count; v++) {
    const loom_type *was = loom_graph_type(s->from, v), *is = loom_graph_type(s->to, v);
    for (int d = 0; d < was->rank; d++) {
      *out = is->dims[d];
      if (was->dims[d] == size && LOOM_DIM_IS_SYM(*out)) return true;
    }
  }
  for (uint32_t i = 0; i < s->count * s->count; i++) {
    uint32_t a = i / s->count, b = i % s->count;
    if (!s->stride[a] && !s->stride[b] && s->sizes[a] * s->sizes[b] == size)
      return loom_dim_combine(s->to, LOOM_EXPR_MUL, s->dims[a], s->dims[b], out);
  }
  return false;
}

static loom_dim symbolic_dim(symbolic *s, int64_t size, bool add) {
  loom_dim known_dim;
  for (uint32_t i = 0; i < s->count; i++)
    if (!s->stride[i] && s->sizes[i] == size) return s->dims[i];
  if (!add && size >= 2 && symbolic_known(s, size, &known_dim)) return known_dim;
  const loom_symbol known = {.min = 1, .max = 1 << 24, .divisor = 1, .hint = size};
  if (!add || size < 2 || s->count == 60) return size;
  s->sizes[s->count] = size;
  loom_dim_symbol(s->to, &known, &s->dims[s->count]);
  return s->dims[s->count++];
}

/* The same permutation of a dense layout, or a symbol for each stride; C order of no elements. */
static void symbolic_strides(symbolic *s, const loom_type *was, const int64_t *strides,
                             const loom_type *type, int64_t *out) {
  int order[LOOM_MAX_RANK];
  bool empty = loom_type_elements(was) == 0;
  for (int d = 0; d < was->rank; d++) {
    int at = d;
    for (; !empty && at > 0 && llabs(strides[order[at - 1]]) < llabs(strides[d]); at--)
      order[at] = order[at - 1];
    order[at] = d;
  }
  int64_t next = 1, made = 1;
  bool dense = true;
  for (int i = was->rank - 1; i >= 0; i--) {
    int d = order[i];
    dense &= empty || strides[d] == next || was->dims[d] == 1;
    out[d] = made;
    next *= was->dims[d];
    loom_stride_combine(s->to, LOOM_EXPR_MUL, made, loom_stride_of_dim(type->dims[d]), &made);
  }
  for (int d = 0; !dense && d < was->rank; d++) {
    out[d] = strides[d];
    if (llabs(strides[d]) < 2 || s->count == 60) continue;
    s->stride[s->count] = true;
    s->sizes[s->count] = strides[d];
    s->dims[s->count++] = 0;
    loom_stride_symbol(s->to, NULL, &out[d]);
  }
}

static bool symbolic_inputs(symbolic *s) {
  for (uint32_t i = 0; i < s->from->input_count; i++) {
    const loom_input *input = &s->from->inputs[i];
    loom_type type = *loom_graph_type(s->from, input->value), made = type;
    int64_t strides[LOOM_MAX_RANK];
    for (int d = 0; d < type.rank; d++)
      made.dims[d] = symbolic_dim(s, type.dims[d], true);
    symbolic_strides(s, &type, input->strides, &made, strides);
    if (loom_graph_input(s->to, input->kind, &made, strides) != input->value) return false;
  }
  return true;
}

/* Sizes of slices follow their operand's; declared types take the symbols of their sizes. */
static bool symbolic_node(symbolic *s, const loom_node *node) {
  loom_attr attrs[LOOM_MAX_ATTRS];
  int64_t sizes[LOOM_MAX_RANK];
  uint32_t attr_count = 0;
  const loom_op_info *info = &loom_op_table[node->op];
  for (; attr_count < LOOM_MAX_ATTRS && info->attrs[attr_count].name; attr_count++)
    attrs[attr_count] = node->attrs[attr_count];
  if (node->op == LOOM_OP_SLICE) {
    const loom_type *was = loom_graph_type(s->from, node->operands[0]),
                    *is = loom_graph_type(s->to, node->operands[0]);
    for (int d = 0; d < was->rank; d++) {
      sizes[d] = attrs[1].ints[d];
      if (attrs[2].ints[d] == 1 && LOOM_DIM_IS_SYM(is->dims[d]))
        loom_stride_combine(s->to, LOOM_EXPR_ADD, loom_stride_of_dim(is->dims[d]),
                            sizes[d] - was->dims[d], &sizes[d]);
    }
    attrs[1].ints = sizes;
  }
  loom_type declared = *loom_graph_type(s->from, node->first_result);
  for (int d = 0; d < declared.rank; d++)
    declared.dims[d] = symbolic_dim(s, declared.dims[d], false);
  bool declares = loom_op_declares_type(node->op);
  return node->result_count == 1 && !info->regions &&
         loom_graph_node(s->to, node->op, node->operands, node->operand_count, attrs, attr_count,
                         declares ? &declared : NULL, 1, NULL, NULL) == node->first_result;
}

static bool symbolic_graph(symbolic *s) {
  if (!symbolic_inputs(s)) return false;
  for (uint32_t n = 0; n < s->from->node_count; n++)
    if (!symbolic_node(s, &s->from->nodes[n])) return false;
  for (uint32_t i = 0; i < s->from->output_count; i++) {
    const loom_output *output = &s->from->outputs[i];
    int64_t strides[LOOM_MAX_RANK];
    symbolic_strides(s, loom_graph_type(s->from, output->value), output->strides,
                     loom_graph_type(s->to, output->value), strides);
    if (!loom_graph_output(s->to, output->value, strides)) return false;
  }
  return s->count > 0;
}

static bool test_symbolic(run_case *c, bool timed) {
  static const struct {
    int64_t times, plus;
  } trials[] = {{1, 0}, {1, 1}, {0, 2}, {0, 1}, {2, 3}, {0, 33}, {0, 100}};
  loom_graph from = c->graph;
  symbolic s = {.from = &from, .to = &c->graph};
  loom_graph_init(&c->graph);
  if (!symbolic_graph(&s)) {
    printf("%s: static\n", c->name);
    loom_graph_fini(&from);
    return true;
  }
  loom_graph_fini(&from);
  loom_plan *plan = compile(c, timed);
  bool good = plan != NULL;
  for (size_t t = 0; good && t < sizeof trials / sizeof *trials; t++) {
    for (uint32_t i = 0; i < s.count; i++)
      c->symbols[i] = s.stride[i] ? s.sizes[i] : s.sizes[i] * trials[t].times + trials[t].plus;
    good = trial(c, plan, timed && t == 0);
    if (!good) printf("(trial %zu) ", t);
    if (!good && t &&
        (strstr(c->err.message, "too large") || strstr(c->err.message, "sliced out") ||
         strstr(c->err.message, "no value") || strstr(c->err.message, "no valid value")))
      good = true;
  }
  if (plan) loom_plan_unref(plan);
  return good;
}

/* One C function; what is meant for a host or is late in its size has none. */
static bool test_program_with(run_case *c, run_program_check *check) {
  run_program program;
  c->program = &program;
  bool good = run_program_make(&c->graph, cpu, check, &program, &c->err);
  if (check->shrunk >= 0 && !check->bounds) good = false;
  for (int64_t t = 0; good && t < (c->graph.symbol_count ? 4 : 1); t++) {
    for (uint32_t i = 0; i < c->graph.symbol_count; i++)
      c->symbols[i] = i ? 0 : 1 + 37 * t * t;
    good = trial(c, NULL, false);
  }
  c->program = NULL;
  run_program_fini(&program);
  return good;
}

static bool test_program(run_case *c) {
  run_program_check check = {.wanted = bounds, .shrunk = -1};
  int tried = 0, stopped = 0;
  printf("%s: %u ops  ", c->name, c->graph.node_count);
  if (!test_program_with(c, &check)) return false;
  for (uint32_t i = 0; shrunk && i < 2 * (c->graph.input_count + c->graph.output_count); i++) {
    check.shrunk = (int)i;
    bool went = test_program_with(c, &check);
    tried += check.bounds;
    stopped += check.bounds && !went && strstr(c->err.message, "bytes in kernel") != NULL;
  }
  if (shrunk) printf("%d of %d shrunk arguments stopped  ", stopped, tried);
  return true;
}

static int test(MlirOperation function, bool timed, bool symbols, bool unchecked, bool compiled,
                bool printed) {
  run_case *c = calloc(1, sizeof *c);
  char name[64];
  MlirStringRef text = loom_get_str(function, "sym_name");
  snprintf(name, sizeof name, "%.*s", (int)text.length, text.data);
  c->name = name;
  c->unchecked = unchecked;
  loom_graph_init(&c->graph);
  bool good = loom_export(function, &c->graph, &c->err);
  if (printed) {
    if (good) loom_graph_print(&c->graph, stdout);
  } else if (compiled) {
    good = good && test_program(c);
  } else if (symbols && !c->graph.symbol_count) {
    good = good && test_symbolic(c, timed);
  } else {
    loom_plan *plan = good ? compile(c, timed) : NULL;
    good = plan != NULL;
    for (int64_t t = 0; good && t < (c->graph.symbol_count ? 4 : 1); t++) {
      for (uint32_t i = 0; i < c->graph.symbol_count; i++)
        c->symbols[i] = i ? 0 : 1 + 37 * t * t;
      good = trial(c, plan, timed);
    }
    if (plan) loom_plan_unref(plan);
    if (good && shrunk) good = shrink_all(c);
  }
  if (!good) printf("%s: error: %s\n", name, c->err.message);
  if (good && !printed) printf(unchecked ? "not checked\n" : "right\n");
  loom_graph_fini(&c->graph);
  free(c);
  return !good;
}

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  char *text = calloc(1, 1 << 20);
  if (text) text[fread(text, 1, (1 << 20) - 1, file)] = 0;
  fclose(file);
  return text;
}

int main(int argc, char **argv) {
  bool timed = false, symbols = false, unchecked = false, compiled = false, printed = false;
  for (int i = 1; i + 1 < argc; i++) {
    unchecked |= strcmp(argv[i], "-T") == 0;
    timed |= unchecked || strcmp(argv[i], "-t") == 0;
    symbols |= strcmp(argv[i], "-s") == 0;
    compiled |= strcmp(argv[i], "-c") == 0;
    printed |= strcmp(argv[i], "-p") == 0;
    shrunk |= strcmp(argv[i], "-B") == 0;
    bounds |= shrunk || strcmp(argv[i], "-b") == 0;
    if (strncmp(argv[i], "-m", 2) == 0) cpu = argv[i] + 2;
  }
  char *text = argc > 1 ? read_file(argv[argc - 1]) : NULL;
  if (!text) return fprintf(stderr, "usage: run-test [-t|-T] [-s] [-c] [-b|-B] [-p] FILE\n"), 2;
  loom_block_check(!timed);
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  loom_register_dialects(registry);
  MlirContext ctx = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);
  MlirModule module = mlirModuleCreateParse(ctx, mlirStringRefCreateFromCString(text));
  int failed = mlirModuleIsNull(module);
  for (MlirOperation op = failed ? (MlirOperation){NULL}
                                 : mlirBlockGetFirstOperation(mlirModuleGetBody(module));
       op.ptr; op = mlirOperationGetNextInBlock(op))
    if (loom_is_named(op, "func.func"))
      failed |= test(op, timed, symbols, unchecked, compiled, printed);
  if (!mlirModuleIsNull(module)) mlirModuleDestroy(module);
  mlirContextDestroy(ctx);
  free(compiled_bytes.data);
  free(text);
  return failed;
}
