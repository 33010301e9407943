/* A plan on arrays: the caller's arrays and the arena lie in memory as the plan says, so that
 * values which share memory by mistake overwrite each other here, too. A kernel is the graph of its
 * body; it runs as a whole at the last launch of its last stage. The slots, which stages hand to
 * each other, are filled with ones at every launch. */
#include <stdlib.h>
#include <string.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "loom_ops_compiler.h"
#include "passes/interpret.h"

enum { PLAN_ARENA = 1 << 30 };

typedef struct plan_place {
  char *base, *low; /* first element; lowest byte */
  int64_t bytes;    /* from `low` on */
} plan_place;

typedef struct plan_walk {
  interpret_call *call;
  MlirOperation plan;
  loom_map numbers; /* memref or scalar -> number in `places` */
  plan_place *places;
  size_t count;
  uint32_t capacity;
  char *arena;
  int64_t arena_bytes;
  plan_place kept[64]; /* outside of the arena, by number */
  int64_t kept_numbers[64];
  int kept_count;
} plan_walk;

static bool plan_no_memory(plan_walk *w) { return loom_fail(&w->call->err, "out of memory"); }

static bool plan_bind(plan_walk *w, MlirValue value, plan_place place) {
  if (!loom_grow(&w->places, (size_t)w->count, &w->capacity, sizeof *w->places))
    return plan_no_memory(w);
  w->places[w->count] = place;
  return loom_map_put(&w->numbers, value.ptr, (int64_t)w->count++) || plan_no_memory(w);
}

static bool plan_find(plan_walk *w, MlirOperation op, intptr_t i, plan_place *out) {
  int64_t number = loom_map_get(&w->numbers, loom_operand(op, i).ptr, -1);
  *out = (plan_place){.low = NULL};
  if (number < 0) return interpret_refuse(w->call, op, "operand %d has no memory here", (int)i);
  *out = w->places[number];
  return true;
}

/* ---- buffers ---- */

/* The bytes of a buffer: those of its type in C order, or its attribute `bytes` where sizes are
 * symbolic. */
static bool plan_bytes_of(plan_walk *w, MlirOperation op, int64_t *out) {
  loom_type type;
  MlirAttribute bytes = loom_get_attr(op, "bytes");
  if (bytes.ptr && loom_get_i64(op, "bytes", -1) != -1)
    return interpret_number(w->call, loom_get_i64(op, "bytes", 0), out);
  if (!loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &type) ||
      loom_type_elements(&type) < 0 || !loom_type_is_static(&type))
    return interpret_refuse(w->call, op, "its size is not known");
  *out = loom_type_elements(&type) * (int64_t)loom_dtype_size(type.dtype);
  return true;
}

static bool plan_kept(plan_walk *w, MlirOperation op, int64_t number, int64_t bytes) {
  int i = 0;
  while (i < w->kept_count && w->kept_numbers[i] != number)
    i++;
  if (i == 64) return interpret_refuse(w->call, op, "too many buffers are kept");
  if (i == w->kept_count) {
    char *memory = malloc((size_t)bytes + 1);
    if (!memory) return plan_no_memory(w);
    memset(memory, 0xff, (size_t)bytes);
    w->kept_numbers[w->kept_count] = number;
    w->kept[w->kept_count++] = (plan_place){memory, memory, bytes};
  }
  return plan_bind(w, loom_result(op, 0), w->kept[i]);
}

static bool plan_buffer(plan_walk *w, MlirOperation op) {
  int64_t offset, bytes;
  if (loom_get_i64(op, loom_mark_late, 0))
    return interpret_refuse(w->call, op, "its size comes from a host call");
  if (!plan_bytes_of(w, op, &bytes) ||
      !interpret_number(w->call, loom_get_i64(op, "offset", 0), &offset))
    return false;
  if (bytes < 0 || bytes > PLAN_ARENA) return interpret_refuse(w->call, op, "a wrong size");
  int64_t kept = loom_get_i64(op, loom_mark_kept, -1);
  if (kept >= 0) return plan_kept(w, op, kept, bytes);
  if (offset < 0 || offset > w->arena_bytes || bytes > w->arena_bytes - offset)
    return interpret_refuse(w->call, op, "it lies outside of the arena");
  return plan_bind(w, loom_result(op, 0),
                   (plan_place){w->arena + offset, w->arena + offset, bytes});
}

static bool plan_copy(plan_walk *w, MlirOperation op) {
  plan_place from, to;
  if (!plan_find(w, op, 0, &from) || !plan_find(w, op, 1, &to)) return false;
  if (from.bytes != to.bytes || to.base - to.low != from.base - from.low)
    return interpret_refuse(w->call, op, "the buffers are not laid out alike");
  memmove(to.low, from.low, (size_t)from.bytes);
  return true;
}

static bool plan_trim(plan_walk *w, MlirOperation op) {
  int64_t offset = loom_get_i64(op, "offset", -1), bytes = loom_get_i64(op, "bytes", -1);
  if (offset < 0 || bytes < 0 || offset > w->arena_bytes || bytes > w->arena_bytes - offset)
    return interpret_refuse(w->call, op, "it lies outside of the arena");
  memset(w->arena + offset, 0xff, (size_t)bytes);
  return true;
}

/* ---- launches ---- */

typedef struct plan_kernel_run {
  MlirOperation launch, kernel;
  loom_graph graph;
  intptr_t buffers; /* operands of the launch that are buffers */
} plan_kernel_run;

/* Operand `number` of a launch as the kernel's buffer `index`. */
static bool plan_view(plan_walk *w, plan_kernel_run *k, intptr_t number, loom_value value,
                      intptr_t index, loom_buffer *out) {
  plan_place place;
  MlirStringRef name = loom_get_str(k->kernel, "sym_name");
  if (!plan_find(w, k->launch, number, &place) ||
      !interpret_view(w->call, k->kernel, index, &k->graph, loom_graph_type(&k->graph, value), out))
    return false;
  out->data = place.base;
  return interpret_within(out, place.low, place.bytes) ||
         interpret_refuse(w->call, k->launch, "@%.*s reaches beyond buffer %d", (int)name.length,
                          name.data, (int)number);
}

static bool plan_is_scalar(MlirOperation kernel, intptr_t input) {
  int64_t scalars[256];
  intptr_t count = loom_get_i64s(kernel, "scalars", scalars, 256);
  for (intptr_t i = 0; i < count && i < 256; i++)
    if (scalars[i] == input) return true;
  return false;
}

/* All operands are read before a result is written. */
static bool plan_run_kernel(plan_walk *w, plan_kernel_run *k) {
  uint32_t inputs = k->graph.input_count, outputs = k->graph.output_count, made = 0;
  loom_buffer *views = calloc((size_t)inputs + outputs + 1, sizeof *views);
  loom_buffer *results = calloc((size_t)outputs + 1, sizeof *results);
  intptr_t buffer = 0, scalar = k->buffers;
  bool good = (views && results) || plan_no_memory(w);
  for (uint32_t i = 0; good && i < inputs; i++) {
    intptr_t number = plan_is_scalar(k->kernel, i) ? scalar++ : buffer++;
    good = plan_view(w, k, number, k->graph.inputs[i].value, i, &views[i]);
  }
  for (uint32_t i = 0; good && i < outputs; i++)
    good = plan_view(w, k, buffer++, k->graph.outputs[i].value, inputs + i, &views[inputs + i]);
  for (; good && made < outputs; made++) {
    results[made].type = views[inputs + made].type;
    loom_contiguous_strides(&results[made].type, results[made].strides);
    results[made].data = calloc((size_t)loom_type_elements(&results[made].type) + 1,
                                loom_dtype_size(results[made].type.dtype));
    good = results[made].data || plan_no_memory(w);
  }
  if (good && !loom_interpret(&k->graph, views, results, w->call->symbols, &w->call->err)) {
    char text[300];
    memcpy(text, w->call->err.message, sizeof text - 1);
    text[sizeof text - 1] = 0;
    good = interpret_refuse(w->call, k->launch, "%s", text);
  }
  for (uint32_t i = 0; i < made; i++) {
    if (good) interpret_copy(&views[inputs + i], &results[i]);
    free(results[i].data);
  }
  free(views);
  free(results);
  return good;
}

/* What a kernel's stages hand to each other is nobody else's memory. */
static bool plan_spoil(plan_walk *w, plan_kernel_run *k) {
  int64_t scalars = 0;
  for (uint32_t i = 0; i < k->graph.input_count; i++)
    scalars += plan_is_scalar(k->kernel, i);
  for (intptr_t i = (intptr_t)k->graph.input_count - scalars + k->graph.output_count;
       i < k->buffers; i++) {
    plan_place place;
    if (!plan_find(w, k->launch, i, &place)) return false;
    memset(place.low, 0xff, (size_t)place.bytes);
  }
  return true;
}

/* Does the launch behind this one go on with the same run of the kernel? The launches of a run are
 * one behind the other; the first is chunk 0 of stage 0. */
static bool plan_goes_on(MlirOperation launch) {
  MlirOperation next = mlirOperationGetNextInBlock(launch);
  intptr_t count = mlirOperationGetNumOperands(launch);
  if (!next.ptr || !loom_is(next, LOOM_OP_LAUNCH) || mlirOperationGetNumOperands(next) != count ||
      !mlirAttributeEqual(loom_get_attr(next, "kernel"), loom_get_attr(launch, "kernel")))
    return false;
  for (intptr_t i = 0; i < count; i++)
    if (!mlirValueEqual(loom_operand(next, i), loom_operand(launch, i))) return false;
  return loom_get_i64(next, "stage", 0) || loom_get_i64(next, loom_mark_first, 0);
}

/* The chunks of the last stage may be fewer than the kernel has: of a product in blocks of batches,
 * the last block may be smaller. */
static bool plan_is_last(plan_walk *w, MlirOperation launch, MlirOperation kernel, bool *out) {
  int64_t stages[64], stage = loom_get_i64(launch, "stage", 0);
  intptr_t count = loom_get_i64s(kernel, "stages", stages, 64);
  *out = false;
  if (count < 1 || count > 64 || stage < 0 || stage >= count)
    return interpret_refuse(w->call, launch, "the kernel has no such stage");
  *out = stage == count - 1 && !plan_goes_on(launch);
  return true;
}

static bool plan_launch(plan_walk *w, MlirOperation op) {
  plan_kernel_run k = {.launch = op, .kernel = loom_find_kernel(op)};
  MlirAttribute segments = loom_get_attr(op, "operandSegmentSizes");
  bool last;
  if (!k.kernel.ptr) return interpret_refuse(w->call, op, "there is no such kernel");
  k.buffers = mlirDenseI32ArrayGetElement(segments, 0);
  if (!plan_is_last(w, op, k.kernel, &last)) return false;
  bool good = loom_export(k.kernel, &k.graph, &w->call->err);
  if (good && k.graph.symbol_count > w->call->symbol_count)
    good = loom_fail(&w->call->err, "too many symbolic sizes");
  good = good && plan_spoil(w, &k) && (!last || plan_run_kernel(w, &k));
  loom_graph_fini(&k.graph);
  return good;
}

/* ---- loops and branches ---- */

static bool plan_block(plan_walk *w, const plan_place *arguments);

/* Where an argument of a region's plan lies: in the memory that it is given, from its beginning. */
static bool plan_argument(interpret_call *c, interpret_call *signature,
                          const interpret_array *array, const interpret_memory *given,
                          plan_place *out) {
  int64_t strides[LOOM_MAX_RANK], low, bytes;
  loom_type type;
  if (!interpret_size(c, &signature->table, &array->declared, &type)) return false;
  for (int d = 0; d < type.rank; d++)
    if (!loom_stride_eval(&signature->table, array->strides[d], c->symbols, &strides[d]))
      return loom_fail(&c->err, "a stride has no value");
  if (!interpret_extent(&type, strides, &low, &bytes) || low || bytes > given->bytes ||
      !given->data)
    return interpret_refuse(c, signature->root, "an argument is larger than what it gets");
  *out = (plan_place){given->data, given->data, bytes};
  return true;
}

static bool plan_region(interpret_call *c, MlirOperation op, const interpret_region *region) {
  plan_walk w = {.call = c};
  interpret_call signature;
  w.plan = interpret_find(c, mlirArrayAttrGetElement(loom_get_attr(op, "plans"), region->number));
  if (!w.plan.ptr || !loom_is(w.plan, LOOM_OP_PLAN))
    return interpret_refuse(c, op, "there is no such plan");
  bool good = interpret_open(&signature, w.plan) || loom_fail(&c->err, "%s", signature.err.message);
  uint32_t inputs = signature.input_count, count = inputs + signature.output_count;
  plan_place *arguments = calloc((size_t)count + 1, sizeof *arguments);
  if (!arguments) good = loom_fail(&c->err, "out of memory");
  if (good && (inputs != region->input_count || signature.output_count > region->output_count))
    good = interpret_refuse(c, op, "the plan of a region takes or gives something else");
  for (uint32_t i = 0; good && i < count; i++)
    good = i < inputs ? plan_argument(c, &signature, &signature.inputs[i], &region->inputs[i],
                                      &arguments[i])
                      : plan_argument(c, &signature, &signature.outputs[i - inputs],
                                      &region->outputs[i - inputs], &arguments[i]);
  good = good && plan_block(&w, arguments);
  free(arguments);
  interpret_close(&signature);
  return good;
}

static bool plan_run(plan_walk *w, MlirOperation op) {
  intptr_t count = mlirOperationGetNumOperands(op), reads = loom_get_i64(op, "reads", 0);
  if (reads < 1 || reads > count) return interpret_refuse(w->call, op, "reads: a wrong number");
  interpret_memory *memory = calloc((size_t)count + 1, sizeof *memory);
  bool good = memory || plan_no_memory(w);
  for (intptr_t i = 0; good && i < count; i++) {
    plan_place place;
    good = plan_find(w, op, i, &place);
    if (good && place.base != place.low)
      good =
          interpret_refuse(w->call, op, "operand %d does not begin with its first element", (int)i);
    if (good) memory[i] = (interpret_memory){place.base, place.bytes};
  }
  interpret_control control = {.op = op,
                               .reads = memory,
                               .results = good ? memory + reads : NULL,
                               .read_count = reads,
                               .result_count = count - reads,
                               .run = plan_region};
  good = good && interpret_control_run(w->call, &control);
  free(memory);
  return good;
}

/* ---- plans ---- */

static bool plan_op(plan_walk *w, MlirOperation op) {
  switch (loom_op_of(op)) {
  case LOOM_OP_BUFFER: return plan_buffer(w, op);
  case LOOM_OP_LAUNCH: return plan_launch(w, op);
  case LOOM_OP_COPY_BUFFER: return plan_copy(w, op);
  case LOOM_OP_TRIM_ARENA: return plan_trim(w, op);
  case LOOM_OP_RUN: return plan_run(w, op);
  case LOOM_OP_CALL_HOST: return interpret_refuse(w->call, op, "it needs its library");
  default: return interpret_refuse(w->call, op, "a plan has no such instruction");
  }
}

static bool plan_block(plan_walk *w, const plan_place *arguments) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(w->plan, 0));
  intptr_t count = mlirBlockGetNumArguments(block);
  bool good = interpret_number(w->call, loom_get_i64(w->plan, "arena", 0), &w->arena_bytes);
  if (good && (w->arena_bytes < 0 || w->arena_bytes > PLAN_ARENA))
    good = interpret_refuse(w->call, w->plan, "the arena is too large");
  if (good) w->arena = malloc((size_t)w->arena_bytes + 1);
  if (good && !w->arena) good = plan_no_memory(w);
  if (good) memset(w->arena, 0xff, (size_t)w->arena_bytes);
  for (intptr_t i = 0; good && i < count; i++)
    good = plan_bind(w, mlirBlockGetArgument(block, i), arguments[i]);
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr && good;
       op = mlirOperationGetNextInBlock(op))
    good = plan_op(w, op);
  for (int i = 0; i < w->kept_count; i++)
    free(w->kept[i].low);
  free(w->arena);
  free(w->places);
  loom_map_fini(&w->numbers);
  return good;
}

bool interpret_plan(interpret_call *c, const loom_buffer *laid) {
  plan_walk w = {.call = c, .plan = c->root};
  size_t count = (size_t)c->input_count + c->output_count;
  plan_place *arguments = loom_arena_alloc(&c->table.arena, sizeof *arguments * (count + 1));
  if (!arguments) return loom_fail(&c->err, "out of memory");
  for (size_t i = 0; i < count; i++) {
    int64_t low, bytes;
    if (!interpret_extent(&laid[i].type, laid[i].strides, &low, &bytes))
      return loom_fail(&c->err, "an array is too large");
    arguments[i] = (plan_place){laid[i].data, (char *)laid[i].data - low, bytes};
  }
  return plan_block(&w, arguments);
}
