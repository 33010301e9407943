/* The reference interpreter's control flow: a region is a graph that is run with buffers of its
 * own, once for each iteration. */
#include "graph/interp.h"
#include "loom_ops_control.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Buffers of a node's own, beside the results that carry the state. */
typedef struct region_state {
  const interp_call *call;
  loom_buffer *inputs, *outputs;
  uint32_t results;
  int64_t *symbols; /* of the body, or NULL: those around it */
} region_state;

static bool region_allocate(const interp_call *c, const loom_type *type, loom_buffer *out) {
  int64_t count = loom_type_elements(type);
  if (count < 0) return loom_fail(c->err, "a size overflows");
  out->type = *type;
  loom_contiguous_strides(type, out->strides);
  out->data = calloc(count ? (size_t)count : 1, loom_dtype_size(type->dtype));
  return out->data || loom_fail(c->err, "out of memory");
}

static bool region_init(const interp_call *c, region_state *s) {
  const loom_op_info *info = &loom_op_table[c->view->op];
  memset(s, 0, sizeof *s);
  s->call = c;
  uint32_t results = c->view->regions[info->regions - 1]->output_count;
  s->inputs = calloc(c->view->operand_count + 1, sizeof *s->inputs);
  s->outputs = calloc(results + 1, sizeof *s->outputs);
  if (!s->inputs || !s->outputs) return loom_fail(c->err, "out of memory");
  s->results = results;
  for (uint32_t i = 0; i < results; i++)
    if (!region_allocate(c, &c->results[i].type, &s->outputs[i])) return false;
  return true;
}

static void region_fini(region_state *s) {
  for (uint32_t i = 0; i < s->results; i++)
    free(s->outputs[i].data);
  free(s->inputs);
  free(s->symbols);
  free(s->outputs);
}

/* Operands to inputs; what is carried is read from the node's results. */
static void region_bind(region_state *s, uint32_t carried) {
  const interp_call *c = s->call;
  uint32_t shift = (uint32_t)-loom_region_shift(c->view->op);
  uint32_t first = c->view->op == LOOM_OP_FOR;
  for (uint32_t i = 0; i + shift < c->view->operand_count; i++)
    s->inputs[i] = c->operands[i + shift];
  for (uint32_t i = 0; i < carried; i++) {
    interp_copy(&c->results[i], &c->operands[first + i]);
    s->inputs[first + i] = c->results[i];
  }
}

static bool region_run(region_state *s, int region, loom_buffer *outputs) {
  const interp_call *c = s->call;
  const int64_t *symbols = s->symbols ? s->symbols : c->symbols;
  return interp_graph(c->view->regions[region], symbols, c->symbol_count, s->inputs, outputs,
                      c->err);
}

/* Symbols of the body's own: one of them is the index. */
static bool region_symbols(region_state *s, int64_t **index) {
  const interp_call *c = s->call;
  int64_t symbol = c->view->attrs[0].i;
  if (symbol < 0) return true;
  if (symbol >= c->symbol_count) return loom_fail(c->err, "a loop counts in no symbol");
  s->symbols = malloc(sizeof *s->symbols * c->symbol_count);
  if (!s->symbols) return loom_fail(c->err, "out of memory");
  memcpy(s->symbols, c->symbols, sizeof *s->symbols * c->symbol_count);
  *index = &s->symbols[symbol];
  return true;
}

static _Thread_local int64_t region_iterations = -1;

void loom_interpret_bound(int64_t iterations) { region_iterations = iterations; }

/* ---- time: the clock is read once in many steps ---- */

enum { REGION_STEPS = 1 << 12 };

static _Thread_local int region_seconds; /* 0: any number */
static _Thread_local time_t region_end;
static _Thread_local uint32_t region_steps;
static _Thread_local bool region_late; /* as the clock was when it was read last */

static time_t region_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

void loom_interpret_within(int seconds) {
  region_late = false;
  region_seconds = seconds;
  region_end = seconds ? region_now() + seconds : 0;
}

static bool region_is_over(void) { return region_seconds && region_now() > region_end; }

bool interp_is_late(void) {
  if (++region_steps % REGION_STEPS == 0) region_late = region_is_over();
  return region_late;
}

bool loom_interpret_in_time(loom_error *err) {
  return !region_is_over() ||
         loom_fail(err, "it runs longer than %d seconds: it may never end", region_seconds);
}

bool loom_interpret_iteration(loom_error *err) {
  if (!loom_interpret_in_time(err)) return false;
  if (!region_iterations) return loom_fail(err, "a loop runs too often");
  region_iterations -= region_iterations > 0;
  return true;
}

/* One iteration: all outputs are computed before a carried value changes. */
static bool region_step(region_state *s, int region) {
  if (!loom_interpret_iteration(s->call->err) || !region_run(s, region, s->outputs)) return false;
  for (uint32_t i = 0; i < s->results; i++)
    interp_copy(&s->call->results[i], &s->outputs[i]);
  return true;
}

static bool region_for(region_state *s) {
  int64_t count = interp_load(&s->call->operands[0], NULL).i, index = 0, *symbol = NULL;
  if (!region_symbols(s, &symbol)) return false;
  region_bind(s, s->results);
  s->inputs[0].data = &index;
  for (; index < count; index++) {
    if (symbol) *symbol = index;
    if (!region_step(s, 0)) return false;
  }
  return true;
}

static bool region_while(region_state *s) {
  uint8_t truth = 0;
  loom_buffer test = {.data = &truth, .type = {.dtype = LOOM_BOOL}};
  int64_t *symbol = NULL;
  if (!region_symbols(s, &symbol)) return false;
  region_bind(s, s->results);
  for (int64_t index = 0;; index++) {
    if (symbol) *symbol = index;
    if (!region_run(s, 0, &test)) return false;
    if (!truth) return true;
    if (!region_step(s, 1)) return false;
  }
}

static bool region_if(region_state *s) {
  region_bind(s, 0);
  return region_step(s, interp_load(&s->call->operands[0], NULL).i ? 0 : 1);
}

bool interp_region(const interp_call *c) {
  region_state s;
  bool good = region_init(c, &s);
  if (good && c->view->op == LOOM_OP_FOR) good = region_for(&s);
  if (good && c->view->op == LOOM_OP_WHILE) good = region_while(&s);
  if (good && c->view->op == LOOM_OP_IF) good = region_if(&s);
  region_fini(&s);
  return good;
}
