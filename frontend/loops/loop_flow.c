/* What a capture knows of the flow of the codes that it evaluates: found once for each. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/core/tracer.h"
#include "frontend/loops/internal.h"

const loom_flow *flow_of(tracer *t, const loom_code *code) {
  const loom_flow *flow = pointer_map_get(&t->loops.flows, code);
  if (flow || code->count > FLOW_LONGEST) return flow;
  flow = flow_new(&t->memory.arena, code);
  if (!flow) return trace_fail(t);
  return trace_map_set(t, &t->loops.flows, code, (void *)flow) ? flow : NULL;
}

bool *live_of(tracer *t, const loom_code *code, int32_t at) {
  live_locals *l = pointer_map_get(&t->loops.lives, code);
  if (!l) {
    l = live_locals_new(&t->memory.arena, code);
    if (!l) return trace_fail(t);
    if (!trace_map_set(t, &t->loops.lives, code, l)) return NULL;
  }
  bool *out = trace_alloc(t, (size_t)code->locals + 1);
  if (out) live_from(l, at, out);
  return out;
}
