/* Branches on data of arrays (config.capture_data_dependent).
 *
 * Both ways are evaluated, one after the other, up to the instruction where they meet. In between,
 * the evaluator's state is restored: locals and stack are copies, and the contents of arrays and
 * numbers are known from a walk (values/walk.c). After that a second walk finds out whether
 * anything else has changed (a list that is longer, an object with another attribute); then the
 * branch is left to Python. Where the ways meet, their states have to be alike, too. Only the
 * contents of arrays and numbers may differ: they become results of an `if` of the graph, whose
 * regions are the nodes of the two ways.
 *
 * When a way has a break or an exception, capture starts again, and breaks in front of the branch
 * as it does without the option. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/eval/eval.h"
#include "frontend/loops/branch_internal.h"
#include "frontend/loops/internal.h"
#include "frontend/size/size.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"

#include <string.h>

typedef struct branch_job {
  tracer *t;
  frame *f;
  int32_t join;
  bool *live;        /* there */
  roll_walk *before; /* everything, in front of the branch */
  value **locals, **stack;
  int32_t pc, sp;
  value *handled, *kwnames;
  uint32_t first, middle, end; /* nodes: of the one way, of the other */
  loom_value first_value;
  roll_walk *ends[2];
  uint64_t written; /* blocks of the caller, in front of the branch, and how many there are */
  uint32_t blocks;
} branch_job;

void branch_ban(tracer *t, PyCodeObject *code, int32_t pc) {
  roll_ban_row *row = roll_learn(t, code, ROLL_BRANCH + pc);
  if (row) row->delay = ROLL_NEVER;
}

/* ---- the state ---- */

static bool branch_is_plain(PyObject *object) {
  bool plain = object_is_scalar(object);
  for (const loom_adapter *const *a = loom_adapters(); *a && !plain; a++)
    plain = (*a)->words && PyObject_CheckBuffer(object);
  return plain;
}

/* Wraps the live arrays and numbers that no instruction has read yet. Otherwise one side of the
 * branch would be the first to read such an object, and the other side would not know it. */
bool branch_realise(tracer *t, frame *f) {
  for (int32_t i = 0; i < f->code->locals; i++) {
    value *v = f->locals[i];
    if (!v || !value_is_lazy(v) || !branch_is_plain(v->object)) continue;
    if (!(f->locals[i] = value_wrap(t, v->object, v->source))) return false;
  }
  return true;
}

static roll_walk *branch_look(branch_job *j, bool *live, loom_value scrub) {
  roll_walk *w = trace_alloc(j->t, sizeof *w);
  if (!w) return NULL;
  *w = (roll_walk){
      .t = j->t, .head = live ? j->f : NULL, .live = live, .merges = live != NULL, .scrub = scrub};
  roll_walk_state(w);
  return trace_pending(j->t) || w->refused ? NULL : w;
}

value **branch_copy(tracer *t, value **from, int32_t count) {
  value **copy = trace_alloc(t, sizeof *copy * ((size_t)count + 1));
  if (copy && count) memcpy(copy, from, sizeof *copy * (size_t)count);
  return copy;
}

static bool branch_save(branch_job *j) {
  frame *f = j->f;
  if (!branch_realise(j->t, f)) return false;
  j->pc = f->pc;
  j->sp = f->sp;
  j->handled = j->t->handled;
  j->kwnames = f->kwnames;
  j->before = branch_look(j, NULL, LOOM_NO_VALUE);
  j->locals = branch_copy(j->t, f->locals, f->code->locals);
  j->stack = branch_copy(j->t, f->stack, f->sp);
  j->first = trace_graph(j->t)->node_count;
  j->first_value = trace_graph(j->t)->value_count;
  return j->before && j->locals && j->stack;
}

/* Puts back what a slot held; false: it cannot be. */
static bool branch_restore_slot(tracer *t, const roll_slot *was, roll_slot *is) {
  if (is->number) return was->size == is->size;
  if (is->holder) return *is->holder = was->held, true;
  if (is->node == was->node) return true;
  *is->at = was->node;
  if (is->changed) is->changed(t, is->owner);
  return true;
}

static bool branch_restore(branch_job *j) {
  frame *f = j->f;
  memcpy(f->locals, j->locals, sizeof *f->locals * (size_t)f->code->locals);
  memcpy(f->stack, j->stack, sizeof *f->stack * (size_t)j->sp);
  f->sp = j->sp;
  f->pc = j->pc;
  f->kwnames = j->kwnames;
  if (j->t->handled != j->handled) return false;
  roll_walk *now = branch_look(j, NULL, j->first_value);
  if (!now || !roll_alike(j->before, now)) return false;
  for (uint32_t i = 0; i < now->slot_count; i++)
    if (!branch_restore_slot(j->t, &j->before->slots[i], &now->slots[i])) return false;
  return true;
}

/* ---- a way ---- */

/* To where they meet; the value that the function returns is what is on the stack there. */
static roll_walk *branch_take(branch_job *j, branch_way way) {
  frame *f = j->f;
  bool met;
  f->pc = way.pc;
  f->sp = way.sp;
  value *result = frame_until(j->t, f, j->join, &met);
  if (j->t->outer.stopped || trace_pending(j->t)) return NULL;
  if (met == (j->join == f->code->count)) return NULL;
  if (!met) {
    f->pc = j->join;
    f->sp = 0;
    frame_push(f, result);
  }
  return branch_look(j, j->live, LOOM_NO_VALUE);
}

/* ---- where they meet ---- */

static loom_value branch_value(tracer *t, const roll_slot *slot) {
  if (slot->whole) return slot->holder ? size_node(t, slot->size) : LOOM_NO_VALUE;
  return slot->node == LOOM_NO_VALUE ? roll_number(t, LOOM_F64, slot->bits) : slot->node;
}

/* The values that differ, of both ways; how many, or -1. */
static int64_t branch_differ(branch_job *j, loom_value *one, loom_value *other, uint32_t *slots) {
  int64_t count = 0;
  for (uint32_t i = 0; i < j->ends[0]->slot_count; i++) {
    const roll_slot *a = &j->ends[0]->slots[i], *b = &j->ends[1]->slots[i];
    if (roll_slot_same(a, b)) continue;
    one[count] = branch_value(j->t, a);
    other[count] = branch_value(j->t, b);
    if (one[count] == LOOM_NO_VALUE || other[count] == LOOM_NO_VALUE) return -1;
    slots[count++] = i;
  }
  return count;
}

/* Does a way do more than to compute what nobody asks for? */
static bool branch_acts(const branch_job *j) {
  const loom_graph *graph = trace_graph(j->t);
  for (uint32_t n = j->first; n < j->end; n++)
    if (loom_node_has_effect(&graph->nodes[n]) || loom_node_fp(graph, &graph->nodes[n]))
      return true;
  return false;
}

static bool branch_merge(branch_job *j, const branch_jumps *jumps) {
  tracer *t = j->t;
  if (!roll_alike(j->ends[0], j->ends[1])) return false;
  uint32_t most = j->ends[0]->slot_count + 1;
  loom_value *values = trace_alloc(t, 3 * sizeof *values * most);
  uint32_t *slots = trace_alloc(t, sizeof *slots * most);
  if (!values || !slots) return false;
  loom_value *one = values, *other = values + most, *results = values + 2 * most;
  int64_t count = branch_differ(j, one, other, slots);
  if (count < 0) return false;
  if (count == 0 && branch_acts(j)) {
    one[0] = other[0] = roll_number(t, LOOM_BOOL, 1);
    count = 1;
    slots[0] = UINT32_MAX;
  }
  roll_ways ways = {.condition = jumps->condition,
                    .bounds = {j->first, j->middle, j->end},
                    .true_way = jumps->first,
                    .count = (uint32_t)count,
                    .values = {one, other},
                    .results = results};
  if (!roll_make_branch(t, &ways)) return false;
  for (int64_t i = 0; i < count; i++) {
    if (slots[i] == UINT32_MAX) continue;
    roll_slot *slot = &j->ends[1]->slots[slots[i]];
    if (!roll_put(t, slot, results[i])) return false;
  }
  return true;
}

/* ---- what a way writes ------------------------------------------------------------------------
 *
 * An array of the caller that is written on one way only is written on both: on the other with what
 * it holds. */

static uint64_t branch_written(tracer *t, uint32_t *count) {
  uint64_t written = 0;
  *count = 0;
  for (const loom_adapter *const *a = loom_adapters(); *a && !written; a++)
    if ((*a)->written) written = (*a)->written(t, count);
  return written;
}

static bool branch_write_back(tracer *t, uint64_t which) {
  for (const loom_adapter *const *a = loom_adapters(); *a; a++)
    if (which && (*a)->write_back && !(*a)->write_back(t, which)) return false;
  return true;
}

/* Does it write what it was not known to? Then capture starts again. `count`: of what there was
 * before. */
static bool branch_writes_more(tracer *t, const branch_job *j, const branch_jumps *jumps) {
  uint32_t count;
  uint64_t more = branch_written(t, &count) & ~j->written;
  if (j->blocks < 64) more &= ((uint64_t)1 << j->blocks) - 1;
  if (!more || trace_pending(t)) return false;
  roll_ban_row *row = roll_learn(t, j->f->code->object, ROLL_BRANCH + jumps->pc);
  if (row) row->writes |= more;
  return true;
}

static bool branch_run(branch_job *j, const branch_jumps *jumps) {
  tracer *t = j->t;
  if (!branch_save(j) || (jumps->ended && !roll_end_enter(t, jumps->ended)) ||
      !(j->ends[0] = branch_take(j, jumps->ways[jumps->first])))
    return false;
  j->middle = trace_graph(t)->node_count;
  if (!branch_restore(j) || !(j->ends[1] = branch_take(j, jumps->ways[1 - jumps->first])))
    return false;
  j->end = trace_graph(t)->node_count;
  return branch_merge(j, jumps);
}

bool branch_both(tracer *t, frame *f, const branch_jumps *jumps, step *out) {
  const loom_flow *flow = flow_of(t, f->code);
  const roll_ban_row *row = roll_row(t, f->code->object, ROLL_BRANCH + jumps->pc);
  if (row && row->delay != ROLL_NEVER && !branch_write_back(t, row->writes)) return false;
  branch_job j = {.t = t, .f = f};
  if (!flow || (row && row->delay == ROLL_NEVER) || t->kept->bans.all) return false;
  j.join = flow_join(flow, jumps->ways[0].pc, jumps->ways[1].pc);
  int32_t loop = flow_loop(flow, jumps->pc);
  bool inside = loop >= 0 && flow_within(flow, loop, jumps->ways[0].pc) &&
                flow_within(flow, loop, jumps->ways[1].pc);
  if (j.join < 0 || (inside && (j.join == f->code->count || !flow_within(flow, loop, j.join))))
    return false;
  j.live = j.join < f->code->count ? live_of(t, f->code, j.join)
                                   : trace_alloc(t, (size_t)f->code->locals + 1);
  branch *open = trace_alloc(t, sizeof *open);
  if (!j.live || !open) return false;
  f->sp = jumps->ways[jumps->ways[0].sp < jumps->ways[1].sp].sp; /* the higher one */
  *open = (branch){t->loops.branches, f->code->object, jumps->pc, t->loops.rolls};
  t->loops.branches = open;
  j.written = branch_written(t, &j.blocks);
  bool good = branch_run(&j, jumps);
  if (t->outer.stopped) return false; /* roll_is_open() sees it */
  if (!good && !trace_pending(t) && !branch_writes_more(t, &j, jumps))
    branch_ban(t, f->code->object, jumps->pc);
  if (t->state == TRACE_RAISING) { /* an exception that one way alone raises */
    t->state = TRACE_GOING;
    branch_ban(t, f->code->object, jumps->pc);
  }
  t->loops.branches = open->outer;
  *out = j.join == f->code->count ? STEP_RETURN : STEP_NEXT;
  return good && !trace_pending(t);
}

/* Whether there is a first iteration of a loop may decide what kind of thing a name stands for: an
 * argument, or an array that the loop has made. When that cannot be a branch of the graph, the
 * graph takes it that there is one, and checks it: else the plain function runs. */
static bool branch_suppose(tracer *t, frame *f, const branch_jumps *jumps) {
  const roll_ban_row *row = roll_row(t, f->code->object, ROLL_BRANCH + jumps->pc);
  if (jumps->stays < 0 || !row || row->delay != ROLL_NEVER) return false;
  for (const branch *b = t->loops.branches; b; b = b->outer)
    if (b->code == f->code->object && b->pc == jumps->pc) return false;
  if (!trace_assume(t, jumps->condition, jumps->stays == 0)) return false;
  f->pc = jumps->ways[jumps->stays].pc;
  f->sp = jumps->ways[jumps->stays].sp;
  return true;
}

bool branch_jump(tracer *t, frame *f, const loom_instr *in, bool when, step *out) {
  if (t->kept->bans.all || f->sp < 1 || f->generator) return false;
  loom_value condition = trace_condition(t, f->stack[f->sp - 1]);
  if (condition == LOOM_NO_VALUE) return false;
  int32_t sp = f->sp - 1, taken = flow_settle(f->code, in->target),
          passed = flow_settle(f->code, f->pc);
  branch_jumps jumps = {.pc = (int32_t)(in - f->code->instrs),
                        .condition = condition,
                        .stays = -1,
                        .first = 1,
                        .ways = {{when ? taken : passed, sp}, {when ? passed : taken, sp}}};
  roll_end ends = roll_end_jump(t, f, &jumps, out);
  if (ends != ROLL_END_NONE) return ends == ROLL_END_TAKEN && !trace_pending(t);
  if (trace_pending(t)) return false;
  return branch_suppose(t, f, &jumps) || (!trace_pending(t) && branch_both(t, f, &jumps, out));
}
