/* Loops and branches over memory, for loom.control and loom.run: regions are functions or plans,
 * and what is carried is copied between iterations. `carry` says for each carried value which
 * result of the body it becomes, or as -1 - k that it becomes the carried value k as it was. */
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "passes/interpret.h"

enum { CONTROL_DEPTH = 64, CONTROL_CARRIED = 256 };

typedef struct control_loop {
  interpret_call *call;
  const interpret_control *control;
  intptr_t first; /* input of the body that is the first carried value */
  int64_t carry[CONTROL_CARRIED], *symbol;
  interpret_memory now[CONTROL_CARRIED], next[CONTROL_CARRIED]; /* what the body reads, writes */
  interpret_memory *inputs, outputs[CONTROL_CARRIED];
} control_loop;

static bool control_bad(const control_loop *l, const char *text) {
  return interpret_refuse(l->call, l->control->op, "%s", text);
}

/* Which memory each result of the body goes to. */
static bool control_aim(control_loop *l) {
  for (intptr_t i = 0; i < l->control->result_count; i++) {
    int64_t from = l->carry[i];
    if (from >= CONTROL_CARRIED || from < -l->control->result_count)
      return control_bad(l, "carry: a wrong number");
    int64_t bytes = from < 0 ? l->now[-1 - from].bytes : l->now[i].bytes;
    if (from >= 0 && !l->outputs[from].data) l->outputs[from] = l->next[i];
    if (bytes != l->now[i].bytes || (from >= 0 && l->outputs[from].bytes != bytes))
      return control_bad(l, "carry: a value of another size");
  }
  return true;
}

static bool control_call(control_loop *l, int number, const interpret_memory *outputs,
                         intptr_t output_count) {
  interpret_region region = {.number = number,
                             .inputs = l->inputs,
                             .outputs = outputs,
                             .input_count = l->control->read_count,
                             .output_count = output_count};
  return l->control->run(l->call, l->control->op, &region);
}

static bool control_step(control_loop *l, int number) {
  if (!loom_interpret_iteration(&l->call->err) ||
      !control_call(l, number, l->outputs, CONTROL_CARRIED))
    return false;
  for (intptr_t i = 0; i < l->control->result_count; i++) {
    int64_t from = l->carry[i];
    const void *source = from < 0 ? l->now[-1 - from].data : l->outputs[from].data;
    if (source != l->next[i].data) memcpy(l->next[i].data, source, (size_t)l->next[i].bytes);
  }
  for (intptr_t i = 0; i < l->control->result_count; i++)
    memcpy(l->now[i].data, l->next[i].data, (size_t)l->now[i].bytes);
  return true;
}

static bool control_for(control_loop *l) {
  int64_t count, index = 0;
  memcpy(&count, l->control->reads[0].data, sizeof count);
  l->inputs[0].data = &index;
  for (; index < count; index++) {
    if (l->symbol) *l->symbol = index;
    if (!control_step(l, 0)) return false;
  }
  return true;
}

static bool control_while(control_loop *l) {
  uint8_t more = 0;
  interpret_memory truth = {&more, 1};
  for (int64_t index = 0;; index++) {
    if (l->symbol) *l->symbol = index;
    if (!control_call(l, 0, &truth, 1)) return false;
    if (!more) return true;
    if (!control_step(l, 1)) return false;
  }
}

static bool control_begin(control_loop *l, bool counts) {
  const interpret_control *k = l->control;
  int64_t symbol = loom_get_i64(k->op, loom_mark_symbol, -1);
  l->first = counts;
  if (loom_get_i64s(k->op, "carry", l->carry, CONTROL_CARRIED) != k->result_count ||
      k->read_count < l->first + k->result_count)
    return control_bad(l, "carry: not one number for each result");
  if (counts && k->reads[0].bytes != sizeof(int64_t))
    return control_bad(l, "a loop counts in 64 bits");
  if (symbol >= (int64_t)l->call->symbol_count) return control_bad(l, "a loop counts in no symbol");
  if (symbol >= 0) l->symbol = &l->call->symbols[symbol];
  l->inputs = malloc(sizeof *l->inputs * (size_t)(k->read_count + 1));
  if (!l->inputs) return loom_fail(&l->call->err, "out of memory");
  memcpy(l->inputs, k->reads, sizeof *l->inputs * (size_t)k->read_count);
  for (intptr_t i = 0; i < k->result_count; i++) {
    interpret_memory read = k->reads[l->first + i];
    if (read.bytes != k->results[i].bytes) return control_bad(l, "carry: a value of another size");
    l->now[i] = (interpret_memory){calloc((size_t)read.bytes + 1, 1), read.bytes};
    l->next[i] = (interpret_memory){calloc((size_t)read.bytes + 1, 1), read.bytes};
    if (!l->now[i].data || !l->next[i].data) return loom_fail(&l->call->err, "out of memory");
    memcpy(l->now[i].data, read.data, (size_t)read.bytes);
    l->inputs[l->first + i] = l->now[i];
  }
  return control_aim(l);
}

static bool control_loop_run(interpret_call *c, const interpret_control *k) {
  control_loop *l = calloc(1, sizeof *l);
  if (!l) return loom_fail(&c->err, "out of memory");
  *l = (control_loop){.call = c, .control = k};
  bool counts = loom_str_is(loom_get_str(k->op, "kind"), "for");
  bool good = control_begin(l, counts);
  int64_t before = l->symbol ? *l->symbol : 0;
  good = good && (counts ? control_for(l) : control_while(l));
  if (l->symbol) *l->symbol = before;
  for (intptr_t i = 0; i < k->result_count; i++) {
    if (good) memcpy(k->results[i].data, l->now[i].data, (size_t)l->now[i].bytes);
    free(l->now[i].data);
    free(l->next[i].data);
  }
  free(l->inputs);
  free(l);
  return good;
}

static bool control_branch(interpret_call *c, const interpret_control *k) {
  interpret_region region = {.number = *(const uint8_t *)k->reads[0].data ? 0 : 1,
                             .inputs = k->reads + 1,
                             .outputs = k->results,
                             .input_count = k->read_count - 1,
                             .output_count = k->result_count};
  return k->run(c, k->op, &region);
}

bool interpret_control_run(interpret_call *c, const interpret_control *k) {
  bool branch = loom_str_is(loom_get_str(k->op, "kind"), "if");
  if (c->depth >= CONTROL_DEPTH) return interpret_refuse(c, k->op, "it is nested too deeply");
  if (k->result_count > CONTROL_CARRIED || k->read_count < 1 || k->reads[0].bytes < 1)
    return interpret_refuse(c, k->op, "it takes or gives too much or too little");
  c->depth++;
  bool good = branch ? control_branch(c, k) : control_loop_run(c, k);
  c->depth--;
  return good;
}
