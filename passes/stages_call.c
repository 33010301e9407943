/* Calls of the functions of a module, for loom-check-stages: with the same arguments at each stage.
 * The results of the first stage are kept for comparison. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dialects/dialect.h"
#include "loom_ops_control.h"
#include "passes/check_stages.h"

enum {
  CALL_ITERATIONS = 1 << 16, /* of loops in one call of the module as it was given; later: twice */
  CALL_COUNT = 4             /* what may count a loop is less */
};

/* ---- what a function is ---- */

typedef struct call_facts {
  double bound;
  bool loops, adds; /* adds up terms: where a sum is too large depends on the order */
} call_facts;

static void call_note_type(call_facts *facts, MlirType type) {
  loom_type known;
  if (!mlirTypeIsARankedTensor(type) || !loom_type_from_mlir(type, &known)) return;
  double bound = loom_array_bound(known.dtype);
  if (bound > facts->bound) facts->bound = bound;
}

static MlirWalkResult call_note(MlirOperation op, void *user) {
  call_facts *facts = user;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++)
    call_note_type(facts, mlirValueGetType(loom_operand(op, i)));
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++)
    call_note_type(facts, mlirValueGetType(loom_result(op, i)));
  loom_opcode code = loom_op_of(op);
  const loom_op_info *info = loom_info(op);
  loom_class class = info->fusion;
  facts->adds |= class == LOOM_CLASS_REDUCE || class == LOOM_CLASS_SCAN ||
                 class == LOOM_CLASS_DOT || class == LOOM_CLASS_ALONE;
  facts->loops |= info->control || code == LOOM_OP_FOR || code == LOOM_OP_WHILE;
  return MlirWalkResultAdvance;
}

/* ---- time ---- */

static _Thread_local int call_seconds;
static _Thread_local time_t call_end;

static time_t call_left(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return call_end - now.tv_sec;
}

void stages_time(int seconds, int limit) {
  call_end = 0;
  call_seconds = seconds;
  call_end = limit - call_left();
}

bool stages_is_late(void) { return call_left() <= 0; }

/* ---- calls ---- */

/* Around an interpreter, which reads the module's table of sizes. */
static bool call_run(interpret_call *c) {
  time_t left = call_left();
  if (left <= 0) return loom_fail(&c->err, "no time is left");
  loom_interpret_seconds = left < call_seconds ? (int)left : call_seconds;
  bool good = loom_sizes_enter(c->module) && interpret_run(c);
  loom_interpret_seconds = 0;
  loom_sizes_leave(c->module);
  return good || c->err.message[0] ? good : loom_fail(&c->err, "no table of sizes");
}

static void call_fill(stages_case *c, uint32_t index, bool loops, uint64_t *state) {
  loom_buffer *array = &c->call.inputs[index].buffer;
  loom_dtype dtype = array->type.dtype;
  loom_array_fill(array, c->fill, state);
  if (loops && !array->type.rank && loom_dtype_is_integer(dtype))
    loom_cell_store(dtype, array->data,
                    (loom_cell){.i = (int64_t)(loom_random_next(state) >> 32) % CALL_COUNT});
}

static bool call_begin(stages_case *c, MlirOperation root, const call_facts *facts, int64_t size,
                       uint64_t *state) {
  c->bound = facts->bound;
  if (!interpret_open(&c->call, root)) return false;
  if (size >= 0) interpret_resize(&c->call, size);
  if (!interpret_allocate(&c->call)) return false;
  for (uint32_t i = 0; i < c->call.input_count; i++)
    if (!c->call.inputs[i].values.ptr)
      call_fill(c, i, facts->loops, state);
    else if (!interpret_fill(&c->call, i))
      return false;
  if (!interpret_unify(&c->call)) return false;
  loom_interpret_bound(CALL_ITERATIONS);
  bool good = call_run(&c->call);
  loom_interpret_bound(-1);
  return good;
}

/* The size of the first symbol: as it is in the first round of fills (-1), then 0, 1 and others. */
static int64_t call_size(int trial, uint64_t *state) {
  int behind = trial - LOOM_FILLS;
  if (behind < 2) return behind < 0 ? -1 : behind;
  return (int64_t)(loom_random_next(state) >> 40) % 20;
}

/* Trials use all fills, except for huge values where values are added up. From the second round of
 * fills on, sizes differ. */
static stages_case *call_make(MlirOperation root, const call_facts *facts, int trial, int64_t size,
                              uint64_t *state, loom_error *err) {
  stages_case *c = calloc(1, sizeof *c);
  if (!c) return loom_fail(err, "out of memory"), NULL;
  c->fill = (loom_fill)(trial % (facts->adds ? LOOM_FILL_EXTREME : LOOM_FILLS));
  c->trial = trial;
  if (!size) size = call_size(trial, state);
  if (call_begin(c, root, facts, size, state)) return c;
  *err = c->call.err;
  interpret_close(&c->call);
  free(c);
  return NULL;
}

static bool call_add(stages_cases *out, stages_case *c) {
  stages_case **grown = realloc(out->list, sizeof *grown * (size_t)(out->count + 1));
  if (!grown) return false;
  out->list = grown;
  out->list[out->count++] = c;
  return true;
}

static bool call_make_all(MlirOperation root, uint64_t seed, int64_t trials, int64_t size,
                          stages_cases *out) {
  call_facts facts = {0};
  loom_error err = {0};
  int before = out->count;
  mlirOperationWalk(root, call_note, &facts, MlirWalkPreOrder);
  for (int t = 0; t < trials; t++) {
    uint64_t state = (seed + 1) * 0x9e3779b97f4a7c15u + (uint64_t)t;
    stages_case *c = call_make(root, &facts, t, size, &state, &err);
    out->refused += !c;
    if (c && !call_add(out, c)) return false;
    if (stages_is_late()) return false;
  }
  if (out->count > before) return true;
  return loom_emit_error(mlirOperationGetLocation(root), "no stage can be checked: %s",
                         err.message);
}

bool stages_cases_make(MlirOperation module, uint64_t seed, int64_t trials, int64_t size,
                       stages_cases *out) {
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(module, 0));
  bool any = false, good = true;
  for (MlirOperation op = mlirBlockGetFirstOperation(body); op.ptr && good;
       op = mlirOperationGetNextInBlock(op)) {
    if (!interpret_is_root(op)) continue;
    any = true;
    good = call_make_all(op, seed, trials, size, out);
  }
  return good && (any || loom_emit_error(mlirOperationGetLocation(module),
                                         "no stage can be checked: the module has neither a "
                                         "function of tensors nor a loom.plan"));
}

void stages_cases_fini(stages_cases *cases) {
  for (int i = 0; i < cases->count; i++) {
    interpret_close(&cases->list[i]->call);
    free(cases->list[i]);
  }
  free(cases->list);
}

/* ---- the same call at another stage ---- */

MlirOperation stages_case_root(const stages_case *c, MlirOperation module) {
  MlirStringRef name = loom_get_str(c->call.root, "sym_name");
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(module, 0));
  MlirOperation op = mlirBlockGetFirstOperation(body);
  while (op.ptr &&
         !(interpret_is_root(op) && mlirStringRefEqual(loom_get_str(op, "sym_name"), name)))
    op = mlirOperationGetNextInBlock(op);
  return op;
}

bool stages_case_call(const stages_case *c, MlirOperation module, interpret_call *out) {
  MlirOperation root = stages_case_root(c, module);
  memset(out, 0, sizeof *out);
  if (!root.ptr) return loom_fail(&out->err, "the function is gone");
  if (!interpret_open(out, root)) return false;
  uint32_t symbols = c->call.table.symbol_count;
  if (symbols > out->symbol_count) symbols = out->symbol_count;
  memcpy(out->symbols, c->call.symbols, sizeof *out->symbols * symbols);
  if (!interpret_allocate(out)) return false;
  if (out->input_count != c->call.input_count)
    return loom_fail(&out->err, "the function takes other arguments");
  for (uint32_t i = 0; i < out->input_count; i++) {
    const loom_buffer *from = &c->call.inputs[i].buffer, *to = &out->inputs[i].buffer;
    if (!loom_type_equal(&from->type, &to->type))
      return loom_fail(&out->err, "argument %u is of another type", i);
    memcpy(to->data, from->data,
           (size_t)loom_type_elements(&to->type) * loom_dtype_size(to->type.dtype));
  }
  loom_interpret_bound(2 * CALL_ITERATIONS);
  bool good = call_run(out);
  loom_interpret_bound(-1);
  return good;
}

/* ", element [1, 2]" of a result; nothing of a scalar. */
static int call_index(const loom_type *type, int64_t element, char *out, size_t size) {
  int64_t index[LOOM_MAX_RANK];
  int used = 0;
  for (int d = type->rank - 1; d >= 0; d--) {
    index[d] = element % type->dims[d];
    element /= type->dims[d];
  }
  for (int d = 0; d < type->rank && (size_t)used < size; d++)
    used +=
        snprintf(out + used, size - (size_t)used, "%s%" PRId64, d ? ", " : ", element [", index[d]);
  if (type->rank && (size_t)used < size) used += snprintf(out + used, size - (size_t)used, "]");
  return used;
}

static void call_describe(uint32_t result, const loom_type *type, const loom_array_difference *at,
                          char *out, size_t size) {
  char got[80], want[80], index[200] = "";
  call_index(type, at->element, index, sizeof index);
  loom_cell_print(type->dtype, at->got, got, sizeof got);
  loom_cell_print(type->dtype, at->want, want, sizeof want);
  snprintf(out, size, "result %u%s is %s and was %s", result, index, got, want);
}

stages_verdict stages_case_compare(const stages_case *c, MlirOperation module,
                                   const interpret_call *want, char *text, size_t size) {
  interpret_call got;
  stages_verdict verdict = STAGES_SAME;
  bool good = stages_case_call(c, module, &got);
  if (good && got.output_count != want->output_count)
    good = loom_fail(&got.err, "the function gives other results");
  for (uint32_t i = 0; good && i < got.output_count && verdict == STAGES_SAME; i++) {
    const loom_buffer *x = &got.outputs[i].buffer, *y = &want->outputs[i].buffer;
    loom_array_difference at;
    good = loom_type_equal(&x->type, &y->type) ||
           loom_fail(&got.err, "result %u is of another type", i);
    if (!good || loom_array_agree(x, y, c->bound, &at)) continue;
    call_describe(i, &y->type, &at, text, size);
    verdict = STAGES_DIFFERS;
  }
  if (!good) snprintf(text, size, "%s", got.err.message);
  interpret_close(&got);
  return good ? verdict : STAGES_FAILS;
}
