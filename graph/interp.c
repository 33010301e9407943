/* The reference interpreter: every op of the table, one element at a time. Slow and obvious, it is
 * the oracle for the compiler and a backend of its own. Reductions, contractions and random numbers
 * are in interp_reduce.c, control flow in interp_region.c. */
#include "graph/interp.h"
#include "loom_ops_control.h"
#include "loom_ops_elements.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"
#include "loom_ops_reductions.h"
#include "loom_ops_shapes.h"

#include <stdlib.h>
#include <string.h>

/* ---- elements of buffers ---- */

bool interp_next(const loom_type *type, int64_t *index) {
  for (int i = type->rank - 1; i >= 0; i--) {
    if (++index[i] < type->dims[i]) return i == type->rank - 1 || !interp_is_late();
    index[i] = 0;
  }
  interp_is_late();
  return false;
}

bool interp_empty(const loom_type *type) {
  for (int i = 0; i < type->rank; i++)
    if (type->dims[i] == 0) return true;
  return false;
}

static char *interp_at(const loom_buffer *buffer, const int64_t *index) {
  int64_t offset = 0;
  for (int i = 0; i < buffer->type.rank; i++)
    offset += index[i] * buffer->strides[i];
  return (char *)buffer->data + offset * (int64_t)loom_dtype_size(buffer->type.dtype);
}

loom_cell interp_load(const loom_buffer *buffer, const int64_t *index) {
  return loom_cell_load(buffer->type.dtype, interp_at(buffer, index));
}

void interp_store(const loom_buffer *buffer, const int64_t *index, loom_cell cell) {
  loom_cell_store(buffer->type.dtype, interp_at(buffer, index), cell);
}

void interp_copy_element(const loom_buffer *to, const int64_t *to_index, const loom_buffer *from,
                         const int64_t *from_index) {
  char *target = interp_at(to, to_index);
  const char *source = interp_at(from, from_index);
  memcpy(target, source, loom_dtype_size(to->type.dtype));
}

void interp_copy(const loom_buffer *to, const loom_buffer *from) {
  int64_t index[LOOM_MAX_RANK] = {0};
  if (interp_empty(&to->type)) return;
  do
    interp_copy_element(to, index, from, index);
  while (interp_next(&to->type, index));
}

/* ---- elementwise ---- */

static bool interp_element(const interp_call *c, const int64_t *index, loom_cell *out) {
  loom_opcode op = c->view->op;
  const loom_buffer *in = c->operands;
  loom_dtype dtype = c->view->operand_count ? in[0].type.dtype : LOOM_BOOL;
  loom_cell cells[LOOM_CELL_OPERANDS] = {0}, a;
  if (c->view->operand_count > LOOM_CELL_OPERANDS) return false;
  for (uint32_t i = 0; i < c->view->operand_count; i++)
    cells[i] = interp_load(&in[i], index);
  a = cells[0];
  switch (op) {
  case LOOM_OP_CONVERT: *out = loom_cell_convert(dtype, c->results[0].type.dtype, a); return true;
  case LOOM_OP_COMPARE:
    *out = (loom_cell){.i = loom_cell_compare(c->view->attrs[0].str, dtype, a, cells[1])};
    return true;
  case LOOM_OP_REAL: *out = (loom_cell){.re = a.re}; return true;
  case LOOM_OP_IMAG: *out = (loom_cell){.re = a.im}; return true;
  case LOOM_OP_COMPLEX: *out = (loom_cell){.re = a.re, .im = cells[1].re}; return true;
  default: return loom_cell_apply(op, dtype, cells, out);
  }
}

static bool interp_elementwise(const interp_call *c) {
  int64_t index[LOOM_MAX_RANK] = {0};
  loom_cell cell;
  if (interp_empty(&c->results[0].type)) return true;
  do {
    if (!interp_element(c, index, &cell))
      return loom_fail(c->err, "'%s' of %s has no interpreter", loom_op_table[c->view->op].name,
                       loom_dtype_name(c->operands[0].type.dtype));
    interp_store(&c->results[0], index, cell);
  } while (interp_next(&c->results[0].type, index));
  return true;
}

static bool interp_select(const interp_call *c) {
  int64_t index[LOOM_MAX_RANK] = {0};
  if (interp_empty(&c->results[0].type)) return true;
  do
    interp_copy_element(&c->results[0], index,
                        &c->operands[interp_load(&c->operands[0], index).i ? 1 : 2], index);
  while (interp_next(&c->results[0].type, index));
  return true;
}

static bool interp_bitcast(const interp_call *c) {
  loom_buffer as_result = c->operands[0];
  as_result.type.dtype = c->results[0].type.dtype;
  interp_copy(&c->results[0], &as_result);
  return true;
}

/* ---- creation ---- */

static bool interp_constant(const interp_call *c) {
  int64_t index[LOOM_MAX_RANK] = {0};
  const loom_buffer *out = &c->results[0];
  loom_cell cell = loom_cell_from_attr(out->type.dtype, &c->view->attrs[0]);
  if (interp_empty(&out->type)) return true;
  do
    interp_store(out, index, cell);
  while (interp_next(&out->type, index));
  return true;
}

static bool interp_iota(const interp_call *c) {
  int64_t index[LOOM_MAX_RANK] = {0}, axis = c->view->attrs[0].i;
  const loom_buffer *out = &c->results[0];
  if (interp_empty(&out->type)) return true;
  do
    interp_store(out, index,
                 loom_cell_convert(LOOM_I64, out->type.dtype, (loom_cell){.i = index[axis]}));
  while (interp_next(&out->type, index));
  return true;
}

/* ---- sizes ---- */

static bool interp_assume_shape(const interp_call *c) {
  const loom_type *from = &c->operands[0].type, *to = &c->results[0].type;
  for (int i = 0; i < from->rank; i++)
    if (from->dims[i] != to->dims[i])
      return loom_fail(c->err, "dimension %d has size %lld, not %lld", i, (long long)from->dims[i],
                       (long long)to->dims[i]);
  return interp_move(c, interp_map_same);
}

static bool interp_size(const interp_call *c) {
  loom_cell cell = {.i = c->operands[0].type.dims[c->view->attrs[0].i]};
  interp_store(&c->results[0], NULL, cell);
  return true;
}

/* ---- dispatch ---- */

static bool interp_dispatch(const interp_call *c) {
  switch (c->view->op) {
  case LOOM_OP_SELECT: return interp_select(c);
  case LOOM_OP_BITCAST: return interp_bitcast(c);
  case LOOM_OP_CONSTANT: return interp_constant(c);
  case LOOM_OP_IOTA: return interp_iota(c);
  case LOOM_OP_RANDOM: return interp_random(c);
  case LOOM_OP_BROADCAST: return interp_move(c, interp_map_broadcast);
  case LOOM_OP_RESHAPE: return interp_move(c, interp_map_reshape);
  case LOOM_OP_TRANSPOSE: return interp_move(c, interp_map_transpose);
  case LOOM_OP_SLICE: return interp_move(c, interp_map_slice);
  case LOOM_OP_WINDOWS: return interp_move(c, interp_map_windows);
  case LOOM_OP_COPY: return interp_move(c, interp_map_same);
  case LOOM_OP_CONCATENATE: return interp_move(c, interp_map_concatenate);
  case LOOM_OP_PAD: return interp_move(c, interp_map_pad);
  case LOOM_OP_UPDATE_SLICE: return interp_update_slice(c);
  case LOOM_OP_GATHER: return interp_gather(c);
  case LOOM_OP_SCATTER: return interp_scatter(c);
  case LOOM_OP_SORT: return interp_sort(c);
  case LOOM_OP_REDUCE: return interp_reduce(c);
  case LOOM_OP_SCAN: return interp_scan(c);
  case LOOM_OP_DOT_GENERAL: return interp_dot_general(c);
  case LOOM_OP_CONVOLUTION: return interp_convolution(c);
  case LOOM_OP_CONVOLUTION_GRADIENT: return interp_convolution_gradient(c);
  case LOOM_OP_CONVOLUTION_INPUT: return interp_convolution_input(c);
  case LOOM_OP_ATTENTION: return interp_attention(c);
  case LOOM_OP_ATTENTION_GRADIENT: return interp_attention_gradient(c);
  case LOOM_OP_ASSUME_SHAPE: return interp_assume_shape(c);
  case LOOM_OP_SIZE: return interp_size(c);
  case LOOM_OP_FOR:
  case LOOM_OP_WHILE:
  case LOOM_OP_IF: return interp_region(c);
  case LOOM_OP_HOST_CALL:
    return loom_fail(c->err, "a call of \"%s\" needs its library", c->view->attrs[0].str);
  default: return interp_elementwise(c);
  }
}

static bool interp_op(const interp_call *call, uint32_t result_count) {
  const loom_op_view *view = call->view;
  const loom_op_info *info = &loom_op_table[view->op];
  for (uint32_t i = 0; i < view->operand_count; i++)
    if (!interp_empty(&call->operands[i].type) && loom_type_elements(&call->operands[i].type) < 0)
      return loom_fail(call->err, "'%s' has operands of unknown size", info->name);
  if (info->results >= 0 && result_count != (uint32_t)info->results)
    return loom_fail(call->err, "'%s' has %d results", info->name, info->results);
  return interp_dispatch(call) && loom_interpret_in_time(call->err);
}

bool loom_interpret_op(const loom_op_view *view, const loom_buffer *operands, loom_buffer *results,
                       uint32_t result_count, loom_error *err) {
  interp_call call = {view, operands, results, err, NULL, 0};
  return interp_op(&call, result_count);
}

/* ---- whole graphs ---- */

typedef struct interp_state {
  const loom_graph *graph;
  loom_buffer *values; /* by loom_value; `data` of a node's result is malloc'ed */
  uint32_t *last_use;  /* the node after which a value is dead; outputs outlive all */
  int64_t *symbols;
  uint32_t known; /* so many first symbols were given */
  loom_interpret_host host;
  void *context; /* of `host` */
  loom_error *err;
} interp_state;

static bool interp_static_type(const interp_state *s, const loom_type *type, loom_type *out) {
  *out = *type;
  for (int i = 0; i < type->rank; i++)
    if (!loom_dim_eval(s->graph, type->dims[i], s->symbols, &out->dims[i]) || out->dims[i] < 0)
      return loom_fail(s->err, "a symbolic size has no valid value");
  return true;
}

/* A symbol that is a size of an input, and not known yet, gets its value from there. */
static void interp_read_symbols(interp_state *s, const loom_type *type, const loom_type *given) {
  for (int d = 0; d < type->rank; d++) {
    const loom_expr *expr =
        LOOM_DIM_IS_SYM(type->dims[d]) ? &s->graph->exprs[LOOM_DIM_EXPR(type->dims[d])] : NULL;
    if (expr && expr->kind == LOOM_EXPR_SYMBOL && expr->value >= s->known)
      s->symbols[expr->value] = given->dims[d];
  }
}

/* Values of all symbols, then of the inputs; every size is checked. */
static bool interp_bind(interp_state *s, const loom_buffer *inputs) {
  const loom_graph *graph = s->graph;
  for (uint32_t i = 0; i < graph->input_count; i++) {
    const loom_type *type = &graph->values[graph->inputs[i].value].type;
    if (inputs[i].type.rank != type->rank || inputs[i].type.dtype != type->dtype)
      return loom_fail(s->err, "input %u has another type", i);
    interp_read_symbols(s, type, &inputs[i].type);
  }
  for (uint32_t i = 0; i < graph->input_count; i++) {
    loom_buffer *value = &s->values[graph->inputs[i].value];
    *value = inputs[i];
    if (!interp_static_type(s, &graph->values[graph->inputs[i].value].type, &value->type))
      return false;
    if (!loom_type_equal(&value->type, &inputs[i].type))
      return loom_fail(s->err, "input %u has another size", i);
  }
  return true;
}

static bool interp_allocate(interp_state *s, loom_value value) {
  loom_buffer *buffer = &s->values[value];
  if (!interp_static_type(s, &s->graph->values[value].type, &buffer->type)) return false;
  int64_t count = loom_type_elements(&buffer->type);
  if (count < 0) return loom_fail(s->err, "a size overflows");
  buffer->data = calloc(count ? (size_t)count : 1, loom_dtype_size(buffer->type.dtype));
  if (!buffer->data) return loom_fail(s->err, "out of memory");
  loom_contiguous_strides(&buffer->type, buffer->strides);
  return true;
}

static void interp_release(interp_state *s, loom_value value) {
  if (s->graph->values[value].node < 0) return;
  free(s->values[value].data);
  s->values[value].data = NULL;
}

/* Symbolic numbers in attributes get their values; `lists` is to be freed. */
static bool interp_attrs(interp_state *s, const loom_node *node, loom_attr *attrs,
                         int64_t **lists) {
  size_t total = 0, used = 0;
  for (int a = 0; a < LOOM_MAX_ATTRS; a++)
    total += node->attrs[a].kind == LOOM_ATTR_I64S ? (size_t)node->attrs[a].count : 0;
  *lists = calloc(total + 1, sizeof **lists);
  if (!*lists) return loom_fail(s->err, "out of memory");
  for (int a = 0; a < LOOM_MAX_ATTRS; a++) {
    attrs[a] = node->attrs[a];
    if (attrs[a].kind != LOOM_ATTR_I64S) continue;
    for (int i = 0; i < attrs[a].count; i++)
      if (!loom_stride_eval(s->graph, attrs[a].ints[i], s->symbols, &(*lists)[used + (size_t)i]))
        return loom_fail(s->err, "a symbolic number has no valid value");
    attrs[a].ints = *lists + used;
    used += (size_t)attrs[a].count;
  }
  return true;
}

/* Symbols are not proven to fit: what is taken must exist, else the interpreter reads elsewhere. */
static bool interp_slice_fits(interp_state *s, const loom_node *node, const loom_attr *attrs,
                              const loom_buffer *operands, const loom_type *result) {
  bool update = node->op == LOOM_OP_UPDATE_SLICE;
  if (node->op != LOOM_OP_SLICE && !update) return true;
  const loom_type *part = update ? &operands[1].type : result;
  const int64_t *starts = attrs[0].ints, *steps = attrs[update ? 1 : 2].ints;
  for (int i = 0; i < part->rank; i++) {
    int64_t size = operands[0].type.dims[i], last;
    if (part->dims[i] == 0) continue;
    if (__builtin_mul_overflow(part->dims[i] - 1, steps[i], &last) ||
        __builtin_add_overflow(last, starts[i], &last) || starts[i] < 0 || starts[i] >= size ||
        last < 0 || last >= size)
      return loom_fail(s->err, "dimension %d is sliced out of bounds", i);
  }
  return true;
}

/* A buffer in C order: the operand's own, or a copy, which is then also in `copy`. */
static void *interp_in_order(const loom_buffer *operand, void **copy) {
  loom_buffer ordered = {.type = operand->type};
  int64_t size = 1;
  bool same = true;
  loom_contiguous_strides(&ordered.type, ordered.strides);
  for (int i = 0; i < operand->type.rank; i++) {
    size *= operand->type.dims[i];
    same &= operand->type.dims[i] <= 1 || operand->strides[i] == ordered.strides[i];
  }
  if (same || !size) return operand->data;
  *copy = ordered.data = malloc((size_t)size * loom_dtype_size(operand->type.dtype));
  if (ordered.data) interp_copy(&ordered, operand);
  return ordered.data;
}

static bool interp_host(interp_state *s, const loom_node *node, const loom_buffer *operands) {
  uint32_t reads = node->operand_count, count = reads + node->result_count;
  void **buffers = calloc(count + 1, sizeof *buffers), **copies = calloc(reads + 1, sizeof *copies);
  bool good = buffers && copies;
  for (uint32_t i = 0; i < reads && good; i++) {
    buffers[i] = interp_in_order(&operands[i], &copies[i]);
    good = buffers[i] || interp_empty(&operands[i].type);
  }
  for (uint32_t i = reads; i < count && good; i++)
    buffers[i] = s->values[node->first_result + i - reads].data;
  if (!good) loom_fail(s->err, "out of memory");
  good = good &&
         (!s->host(s->context, (uint32_t)node->attrs[2].i, buffers, reads, count, s->symbols) ||
          loom_fail(s->err, "a host call failed"));
  for (uint32_t i = 0; copies && i < reads; i++)
    free(copies[i]);
  free(copies);
  free(buffers);
  return good;
}

static bool interp_node(interp_state *s, uint32_t n) {
  const loom_node *node = &s->graph->nodes[n];
  loom_attr attrs[LOOM_MAX_ATTRS];
  int64_t *lists = NULL;
  loom_buffer *operands = calloc(node->operand_count + 1, sizeof *operands);
  loom_type *types = calloc(node->operand_count + 1, sizeof *types);
  bool good = operands && types;
  if (!good) loom_fail(s->err, "out of memory");
  for (uint32_t i = 0; good && i < node->operand_count; i++) {
    operands[i] = s->values[node->operands[i]];
    types[i] = operands[i].type;
  }
  for (uint32_t i = 0; good && i < node->result_count; i++)
    good = interp_allocate(s, node->first_result + i);
  good = good && interp_attrs(s, node, attrs, &lists) &&
         interp_slice_fits(s, node, attrs, operands, &s->values[node->first_result].type);
  loom_op_view view = {node->op, attrs, types, node->operand_count, node->regions};
  interp_call call = {&view,  operands,   &s->values[node->first_result],
                      s->err, s->symbols, s->graph->symbol_count};
  bool hosted = node->op == LOOM_OP_HOST_CALL && s->host;
  good = good && (hosted ? interp_host(s, node, operands) : interp_op(&call, node->result_count));
  for (uint32_t i = 0; good && i < node->operand_count; i++)
    if (s->last_use[node->operands[i]] == n) interp_release(s, node->operands[i]);
  free(operands);
  free(types);
  free(lists);
  return good;
}

static void interp_find_last_uses(interp_state *s) {
  const loom_graph *graph = s->graph;
  for (uint32_t n = 0; n < graph->node_count; n++)
    for (uint32_t i = 0; i < graph->nodes[n].operand_count; i++)
      s->last_use[graph->nodes[n].operands[i]] = n;
  for (uint32_t i = 0; i < graph->output_count; i++)
    s->last_use[graph->outputs[i].value] = UINT32_MAX;
}

static bool interp_outputs(interp_state *s, const loom_buffer *outputs) {
  for (uint32_t i = 0; i < s->graph->output_count; i++) {
    const loom_buffer *value = &s->values[s->graph->outputs[i].value];
    if (!loom_type_equal(&value->type, &outputs[i].type))
      return loom_fail(s->err, "output %u has another type", i);
    interp_copy(&outputs[i], value);
  }
  return true;
}

static bool interp_run(interp_state state, const int64_t *symbols, uint32_t symbol_count,
                       const loom_buffer *inputs, loom_buffer *outputs) {
  interp_state s = state;
  const loom_graph *graph = s.graph;
  s.values = calloc(graph->value_count + 1, sizeof *s.values);
  s.last_use = calloc(graph->value_count + 1, sizeof *s.last_use);
  s.symbols = calloc(graph->symbol_count + 1, sizeof *s.symbols);
  bool good = s.values && s.last_use && s.symbols;
  if (!good) loom_fail(s.err, "out of memory");
  for (uint32_t i = 0; good && i < graph->symbol_count; i++)
    s.symbols[i] = i < symbol_count ? symbols[i] : -1;
  s.known = symbol_count;
  if (good) interp_find_last_uses(&s);
  good = good && interp_bind(&s, inputs);
  for (uint32_t n = 0; good && n < graph->node_count; n++)
    good = interp_node(&s, n);
  good = good && interp_outputs(&s, outputs);
  for (uint32_t v = 0; s.values && v < graph->value_count; v++)
    interp_release(&s, v);
  free(s.values);
  free(s.last_use);
  free(s.symbols);
  return good;
}

bool interp_graph(const loom_graph *graph, const int64_t *symbols, uint32_t symbol_count,
                  const loom_buffer *inputs, loom_buffer *outputs, loom_error *err) {
  interp_state s = {.graph = graph, .err = err};
  return interp_run(s, symbols, symbol_count, inputs, outputs);
}

bool loom_interpret_hosted(const loom_graph *graph, const loom_buffer *inputs, loom_buffer *outputs,
                           const int64_t *symbols, loom_interpret_host host, void *context,
                           loom_error *err) {
  interp_state s = {.graph = graph, .host = host, .context = context, .err = err};
  return interp_run(s, symbols, symbols ? graph->symbol_count : 0, inputs, outputs);
}

bool loom_interpret(const loom_graph *graph, const loom_buffer *inputs, loom_buffer *outputs,
                    const int64_t *symbols, loom_error *err) {
  return interp_graph(graph, symbols, symbols ? graph->symbol_count : 0, inputs, outputs, err);
}
