/* Liveness of locals: which ones may be read later, before they are assigned.
 *
 * The live set of an instruction has what it reads itself, what is live behind it and not assigned
 * by it, and what is live in the handler that covers it (an exception may occur anywhere in
 * between). This is the least fixed point, found by starting with empty sets, from the code's end
 * on, until nothing is added. It is computed once for each capture. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"

struct live_locals {
  const loom_code *code;
  int32_t words;   /* of a set */
  uint64_t *sets;  /* one for each instruction, and an empty one for the end */
  int32_t *covers; /* of each instruction: the target of its handler, or -1 */
};

static uint64_t *live_set(const live_locals *l, int32_t at) {
  return l->sets + (size_t)at * (size_t)l->words;
}

/* Updates the set of an instruction; true when that changed it. */
static bool live_step(live_locals *l, int32_t i) {
  const loom_instr *in = &l->code->instrs[i];
  bool ends =
      in->op == BC_JUMP || in->op == BC_RETURN || in->op == BC_RAISE || in->op == BC_RERAISE;
  bool reads =
      in->op == BC_LOAD_FAST || in->op == BC_LOAD_FAST_AND_CLEAR || in->op == BC_DELETE_FAST;
  int32_t local = reads || in->op == BC_STORE_FAST ? in->arg : -1;
  uint64_t *here = live_set(l, i), changed = 0;
  for (int32_t w = 0; w < l->words; w++) {
    uint64_t read = ends ? 0 : live_set(l, i + 1)[w];
    uint64_t own = local >= 0 && local / 64 == w ? (uint64_t)1 << (local % 64) : 0;
    if (in->target >= 0) read |= live_set(l, in->target)[w];
    read = reads ? read | own : read & ~own;
    if (l->covers[i] >= 0) read |= live_set(l, l->covers[i])[w];
    changed |= read & ~here[w];
    here[w] |= read;
  }
  return changed != 0;
}

/* The first row that covers an instruction is its handler. */
static void live_cover(live_locals *l) {
  for (int32_t i = 0; i < l->code->count; i++)
    l->covers[i] = -1;
  for (int32_t h = l->code->handler_count; h-- > 0;)
    for (int32_t i = l->code->handlers[h].begin; i < l->code->handlers[h].end; i++)
      l->covers[i] = l->code->handlers[h].target;
}

/* A local that is also a variable of an inner function is always live. */
static void live_cells(const loom_code *code, bool *out) {
  for (int32_t i = 0; i < code->count; i++) {
    const loom_instr *in = &code->instrs[i];
    bool cell = in->op == BC_MAKE_CELL || in->op == BC_LOAD_CLOSURE || in->op == BC_LOAD_DEREF ||
                in->op == BC_STORE_DEREF || in->op == BC_DELETE_DEREF ||
                in->op == BC_LOAD_CLASSDEREF;
    if (cell && in->arg >= 0 && in->arg < code->locals) out[in->arg] = true;
    if (in->op == BC_COPY_FREE)
      for (int32_t v = code->locals - in->arg; v >= 0 && v < code->locals; v++)
        out[v] = true;
  }
}

live_locals *live_locals_new(loom_arena *arena, const loom_code *code) {
  live_locals *l = loom_arena_alloc(arena, sizeof *l);
  if (!l) return NULL;
  *l = (live_locals){.code = code, .words = (code->locals + 63) / 64};
  l->sets =
      loom_arena_alloc(arena, sizeof *l->sets * (size_t)l->words * ((size_t)code->count + 1) + 1);
  l->covers = loom_arena_alloc(arena, sizeof *l->covers * ((size_t)code->count + 1));
  if (!l->sets || !l->covers) return NULL;
  live_cover(l);
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t i = code->count; i-- > 0;)
      changed |= live_step(l, i);
  }
  return l;
}

void live_from(const live_locals *l, int32_t at, bool *out) {
  for (int32_t v = 0; v < l->code->locals; v++)
    out[v] = live_set(l, at)[v / 64] >> (v % 64) & 1;
  live_cells(l->code, out);
}
