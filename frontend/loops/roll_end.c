/* Loops that data may end (config.capture_data_dependent): `while np.abs(x - y).max() > tol`, or a
 * `for` with a `break`, captured once.
 *
 * Such a loop is a `while` of the graph. Its iterations cannot be evaluated one by one to see what
 * they change, since nobody knows whether there is a second one. So the first iteration is
 * evaluated as if it stood for all, with nothing hidden. What has changed at its end is noted in
 * the row of the loop (roll_learnt), and capture starts again with that hidden. This is repeated
 * until an iteration changes only what was hidden. Where the state has another form behind the
 * first iteration than before it (a name that was not bound, a float that becomes a value of the
 * graph), the first iteration is peeled: it stays in front of the loop.
 *
 * Ints that an iteration changes are induction variables: in the body they depend on the symbol
 * that counts iterations. Each is also carried as data, which is its value behind the loop.
 *
 * An iteration may end the loop in several places. At its end, the first of these that ended the
 * loop selects the carried values. When the function goes on in different places, a branch behind
 * the loop decides between them (branch.c). */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/core/tracer.h"
#include "frontend/loops/branch_internal.h"
#include "frontend/loops/internal.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/rolled.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_logic.h"
#include "loom_ops_shapes.h"

#include <string.h>

/* ---- where loops end ---- */

/* A jump that may end a loop: which of its ways stays, and the loop's head; false: it is none. */
static bool end_find(const loom_flow *flow, const branch_jumps *jumps, int *stays, int32_t *head) {
  for (int k = 0; k < 2; k++) {
    int32_t in = jumps->ways[k].pc, out = jumps->ways[1 - k].pc, loop = flow_loop(flow, in);
    if (loop < 0 || flow_within(flow, loop, out)) continue;
    if (!flow_within(flow, loop, jumps->pc) && in != loop) continue;
    *stays = k;
    *head = loop;
    return true;
  }
  return false;
}

/* Locals that are read from `at` on, or behind any way out of the loop. */
static bool *end_live(tracer *t, const frame *f, const loom_flow *flow, int32_t head, int32_t at) {
  bool *live = live_of(t, f->code, at);
  for (int32_t i = 0; live && i < f->code->count; i++) {
    int32_t target = f->code->instrs[i].target;
    if (!flow_within(flow, head, i)) continue;
    for (int k = 0; k < 2 && live; k++) {
      int32_t out = k ? i + 1 : target;
      if (out < 0 || out >= f->code->count || flow_within(flow, head, out)) continue;
      bool *more = live_of(t, f->code, out);
      for (int32_t v = 0; more && v < f->code->locals; v++)
        live[v] |= more[v];
      if (!more) return NULL;
    }
  }
  return live;
}

static roll_learnt *end_learn(tracer *t, roll_ban_row *row) {
  if (!row) return NULL;
  if (!row->learnt) row->learnt = calloc(1, sizeof *row->learnt);
  return row->learnt ? row->learnt : trace_fail(t);
}

/* ---- the hidden iteration ---- */

static bool end_counts(const roll *r) {
  bool counts = r->iterator != NULL;
  for (uint32_t i = 0; i < r->before->slot_count; i++)
    counts |= r->carried[i] && r->before->slots[i].whole;
  return counts;
}

/* From here on the contents of all loop-carried values are unknown. `truth`: a value of the graph
 * that says whether there is an iteration. */
static bool end_hide(tracer *t, roll *r, int64_t left, loom_value truth) {
  roll_ban_row *row = roll_row(t, r->frame->code->object, r->pc);
  uint32_t count = r->before->slot_count;
  r->carried = trace_alloc(t, count + 1u);
  r->steps = trace_alloc(t, sizeof *r->steps * (count + 1u));
  r->bases = trace_alloc(t, sizeof *r->bases * (count + 1u));
  r->inits = trace_alloc(t, sizeof *r->inits * (count + 1u));
  if (!r->carried || !r->steps || !r->bases || !r->inits || count > ROLL_LEARNT) return false;
  for (uint32_t i = 0; row && row->learnt && i < count; i++) {
    r->carried[i] = row->learnt->carried[i];
    r->steps[i] = row->learnt->steps[i];
    if (r->carried[i] && r->before->slots[i].number) return false;
  }
  r->started = truth;
  r->truth = roll_copy(t, truth);
  r->tested = true;
  r->period = 1;
  r->left = r->count = left;
  r->ending_count = 0;
  r->outcome = LOOM_NO_VALUE;
  if (r->iterator && !iter_prepare(t, r->iterator)) return false;
  if (end_counts(r)) {
    r->index = roll_copy(t, roll_number(t, LOOM_I64, 0));
    if (r->index == LOOM_NO_VALUE || !size_loop(t, left, r->index, &r->symbol)) return false;
  }
  return r->truth != LOOM_NO_VALUE && roll_hide_slots(t, r);
}

bool roll_end_begin(tracer *t, roll *r, int64_t left) {
  r->before = branch_realise(t, r->frame) ? roll_look(t, r) : NULL;
  if (!r->before) return false;
  if (!r->before->refused && end_hide(t, r, left, roll_number(t, LOOM_BOOL, 1))) return true;
  if (!trace_pending(t)) roll_restart(t, r, ROLL_NEVER, 1);
  return false;
}

/* Another place where the iteration may end the loop. */
static bool end_note(tracer *t, roll *r, loom_value stays, branch_way way) {
  frame *f = r->frame;
  if (r->ending_count == ROLL_ENDINGS) return false;
  int32_t pc = f->pc;
  f->pc = r->iterator ? r->pc : r->pc - ROLL_ENDS;
  roll_walk *state = roll_look(t, r);
  f->pc = pc;
  roll_ending e = {.stays = stays,
                   .pc = way.pc,
                   .sp = way.sp,
                   .state = state,
                   .locals = branch_copy(t, f->locals, f->code->locals),
                   .stack = branch_copy(t, f->stack, f->sp)};
  if (!state || state->refused || !e.locals || !e.stack) return false;
  r->endings[r->ending_count++] = e;
  return true;
}

/* ---- its end ---- */

/* Notes what else is changed; how many slots, or -1: something cannot be carried. */
static int end_compare(tracer *t, const roll *r, const roll_walk *now, bool at_end,
                       roll_learnt *learnt) {
  int more = 0;
  for (uint32_t i = 0; i < now->slot_count; i++) {
    const roll_slot *was = &r->before->slots[i], *is = &now->slots[i];
    int64_t step = 0;
    if (learnt->carried[i] || roll_slot_same(was, is)) continue;
    if (at_end && was->whole &&
        (!size_minus(t, is->size, was->size, &step) || !size_at_first(t, step, &step) ||
         LOOM_STRIDE_IS_SYM(step)))
      return -1;
    learnt->carried[i] = true;
    learnt->steps[i] = step;
    more++;
  }
  return more;
}

/* What else an iteration changes: at its end, and where it may end the loop. True: capture starts
 * again. */
static bool end_learns(tracer *t, roll *r, const roll_walk *now) {
  const roll_ban_row *row = roll_row(t, r->frame->code->object, r->pc);
  roll_learnt *learnt = trace_alloc(t, sizeof *learnt);
  if (!learnt) return true;
  if (row && row->learnt) *learnt = *row->learnt;
  int more = end_compare(t, r, now, true, learnt);
  for (int k = 0; k < r->ending_count && more >= 0 && !r->behind; k++)
    more += end_compare(t, r, r->endings[k].state, false, learnt);
  if (more <= 0 || trace_pending(t)) return trace_pending(t);
  roll_learnt *kept = end_learn(t, roll_learn(t, r->frame->code->object, r->pc));
  if (kept) *kept = *learnt;
  return true;
}

/* The first iteration differs from the others: it stays in front of the loop, unless as many do
 * already as may. */
static bool end_peel(tracer *t, roll *r) {
  const roll_ban_row *row = roll_row(t, r->frame->code->object, r->pc);
  int peeled = row && row->learnt ? row->learnt->peeled : 0;
  if (peeled == END_PEELED) return false;
  roll_learnt *learnt = end_learn(t, roll_learn(t, r->frame->code->object, r->pc));
  if (learnt) *learnt = (roll_learnt){.peeled = peeled + 1};
  return true;
}

/* `v` when the loop goes on, else `other`: of one type. */
static loom_value end_choose(tracer *t, loom_value stays, loom_value v, loom_value other) {
  if (v == other || v == LOOM_NO_VALUE || other == LOOM_NO_VALUE)
    return other == v ? v : LOOM_NO_VALUE;
  loom_type type = *loom_graph_type(trace_graph(t), v);
  type.dtype = LOOM_BOOL;
  if (type.rank) {
    const loom_attr none = {.kind = LOOM_ATTR_I64S};
    stays = trace_node(t, LOOM_OP_BROADCAST, &stays, 1, &none, 1, &type);
  }
  if (stays == LOOM_NO_VALUE) return stays;
  return trace_node(t, LOOM_OP_SELECT, (loom_value[]){stays, v, other}, 3, NULL, 0, NULL);
}

static loom_value end_value(tracer *t, const roll_slot *slot) {
  if (slot->whole) return size_node(t, slot->size);
  return slot->node == LOOM_NO_VALUE ? roll_number(t, LOOM_F64, slot->bits) : slot->node;
}

/* The value of slot i behind the iteration, wherever the iteration ended the loop. */
static loom_value end_after(tracer *t, const roll *r, const roll_walk *now, uint32_t i) {
  loom_value v = end_value(t, &now->slots[i]);
  for (int k = r->ending_count; k-- > 0 && v != LOOM_NO_VALUE && !r->behind;) {
    const roll_slot *there = &r->endings[k].state->slots[i];
    if (roll_slot_same(there, &now->slots[i]) && k == r->ending_count - 1) continue;
    v = end_choose(t, r->endings[k].stays, v, end_value(t, there));
  }
  return v;
}

static loom_value end_and(tracer *t, loom_value a, loom_value b) {
  if (a == LOOM_NO_VALUE || b == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  return trace_node(t, LOOM_OP_AND, (loom_value[]){a, b}, 2, NULL, 0, NULL);
}

/* Is it made by an iteration, or one of the values that iterations hand on? */
static bool end_is_inside(const roll *r, loom_value v) {
  bool inside = v >= r->first_value;
  for (uint32_t i = 0; i < r->before->slot_count; i++)
    inside |= r->carried[i] && !r->before->slots[i].whole && r->before->slots[i].node == v;
  return inside;
}

/* Carries what slot i holds where the loop is ended in the middle, when an iteration makes it. */
static bool end_carry_ending(tracer *t, const roll *r, uint32_t i, uint32_t *n, loom_value *inits,
                             loom_value *before, loom_value *after) {
  const roll_slot *slot = &r->behind->state->slots[i];
  bool inside = slot->whole ? size_is_looped(t, slot->size)
                            : slot->node != LOOM_NO_VALUE && end_is_inside(r, slot->node);
  r->behind->results[i] = LOOM_NO_VALUE;
  if (!inside) return true;
  loom_value v = end_value(t, slot);
  if (v == LOOM_NO_VALUE || slot->number) return false;
  loom_type type = *loom_graph_type(trace_graph(t), v);
  const loom_attr zero = {.kind = LOOM_ATTR_SCALAR};
  if (loom_dtype_is_complex(type.dtype)) return false;
  inits[*n] = trace_node(t, LOOM_OP_CONSTANT, NULL, 0, &zero, 1, &type);
  before[*n] = inits[*n] == LOOM_NO_VALUE ? LOOM_NO_VALUE : roll_copy(t, inits[*n]);
  after[*n] = v;
  r->behind->results[i] = (*n)++;
  return before[*n - 1] != LOOM_NO_VALUE;
}

/* Fills the lists of loop-carried values: the slots of the state, whether the loop was ended
 * elsewhere, the index, the truth of the test. The result is their number, or 0 after a failure. */
static uint32_t end_carry(tracer *t, roll *r, const roll_walk *now, loom_value *inits,
                          loom_value *before, loom_value *after) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < now->slot_count; i++) {
    if (!r->carried[i]) continue;
    bool whole = now->slots[i].whole;
    inits[n] = whole ? size_node(t, r->bases[i]) : r->inits[i];
    before[n] = whole ? roll_copy(t, inits[n]) : r->before->slots[i].node;
    after[n] = end_after(t, r, now, i);
    if (inits[n] == LOOM_NO_VALUE || before[n] == LOOM_NO_VALUE || after[n] == LOOM_NO_VALUE)
      return 0;
    n++;
  }
  loom_value all = r->condition;
  for (int k = 0; k < r->ending_count; k++)
    all = end_and(t, all, r->endings[k].stays);
  if (r->behind) {
    inits[n] = roll_number(t, LOOM_BOOL, 1);
    before[n] = roll_copy(t, inits[n]);
    after[n] = r->behind->stays;
    if (before[n] == LOOM_NO_VALUE) return 0;
    n++;
    for (uint32_t i = 0; i < r->behind->state->slot_count; i++)
      if (!end_carry_ending(t, r, i, &n, inits, before, after)) return 0;
  }
  if (r->symbol) {
    inits[n] = roll_number(t, LOOM_I64, 0);
    before[n] = r->index;
    loom_value one = roll_number(t, LOOM_I64, 1);
    if (one == LOOM_NO_VALUE || inits[n] == LOOM_NO_VALUE) return 0;
    after[n] = trace_node(t, LOOM_OP_ADD, (loom_value[]){r->index, one}, 2, NULL, 0, NULL);
    n++;
  }
  inits[n] = r->started;
  before[n] = r->truth;
  after[n] = all;
  return after[n] == LOOM_NO_VALUE || trace_pending(t) ? 0 : n + 1;
}

/* Behind the loop all slots hold its results. */
static bool end_leave(tracer *t, roll *r, roll_walk *now, const loom_value *results) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < now->slot_count; i++)
    if (r->carried[i] && !roll_put(t, &now->slots[i], results[n++])) return false;
  if (r->behind) {
    roll_ending *e = r->behind;
    r->outcome = results[n];
    for (uint32_t i = 0; i < e->state->slot_count; i++)
      if (e->results[i] != LOOM_NO_VALUE) e->results[i] = results[e->results[i]];
  }
  for (int32_t i = 0; i < r->frame->code->locals; i++)
    if (!r->live[i]) r->frame->locals[i] = NULL;
  if (r->iterator) iter_finish(r->iterator);
  r->rolled = true;
  trace_note_loop(t, LOOP_ROLLED, r->length, "%s", "");
  return true;
}

static bool end_close(tracer *t, roll *r, roll_walk *now) {
  uint32_t most = now->slot_count + 4 + (r->behind ? r->behind->state->slot_count : 0);
  loom_value *lists = trace_alloc(t, 3 * sizeof *lists * most);
  if (!lists) return false;
  if (r->behind &&
      !(r->behind->results = trace_alloc(t, sizeof *lists * (r->behind->state->slot_count + 1u))))
    return false;
  loom_value *inits = lists, *before = lists + most, *after = lists + 2 * (size_t)most;
  uint32_t carried = end_carry(t, r, now, inits, before, after);
  roll_body body = {.first = r->first,
                    .first_value = r->first_value,
                    .index = r->index,
                    .symbol = r->symbol ? (int64_t)roll_symbol(t, r) : -1,
                    .tested = true,
                    .carried = carried,
                    .inits = inits,
                    .before = before,
                    .after = after};
  r->stage = ROLL_OVER;
  return carried && roll_make_loop(t, &body) && end_leave(t, r, now, after);
}

/* Is there a place where the loop is ended and from which the function does not go on as from its
 * end, at `out`? False: there are several. */
static bool end_behind(roll *r, const roll_walk *now, int32_t out) {
  r->behind = NULL;
  for (int k = 0; k < r->ending_count; k++) {
    roll_ending *e = &r->endings[k];
    if (!r->iterator && e->pc == out && roll_alike(e->state, now)) continue;
    if (r->ending_count > 1) return false;
    r->behind = e;
  }
  return true;
}

/* Why the hidden iteration does not stand for all iterations; NULL: it does. *learnt: the reason is
 * something that the next attempt knows beforehand. */
static const char *end_refuses(tracer *t, roll *r, const roll_walk *now, int32_t out,
                               bool *learnt) {
  *learnt = false;
  if (now->refused) return now->refused;
  if (!end_behind(r, now, out)) return "data may end it in several places";
  if (!roll_alike(r->before, now)) {
    *learnt = end_peel(t, r);
    return "its first iteration leaves something else behind";
  }
  *learnt = end_learns(t, r, now);
  if (*learnt) return "what it changes was not known";
  if (roll_steps_hold(t, r, now)) return NULL;
  if (trace_pending(t)) return "";
  *learnt = end_peel(t, r);
  return "numbers do not grow by as much in every iteration";
}

/* At the end of the hidden iteration: the loop goes on under r->condition, else at `out`. True: it
 * is in the graph. */
static bool end_check(tracer *t, roll *r, int32_t out) {
  roll_walk *now = roll_look(t, r);
  bool learnt;
  if (!now) return false;
  const char *why = end_refuses(t, r, now, out, &learnt);
  if (learnt || trace_pending(t)) return false;
  if (!why && !end_close(t, r, now)) why = "what an iteration does cannot be repeated";
  if (trace_pending(t)) return false;
  if (!why) return true;
  trace_note_loop(t, LOOP_LEFT, r->length, "%s", why);
  roll_restart(t, r, ROLL_NEVER, 1);
  return false;
}

/* ---- while ---- */

static roll *end_open(tracer *t, const frame *f, int32_t head) {
  for (roll *r = t->loops.rolls; r; r = r->next)
    if (r->ended && r->stage == ROLL_HIDDEN && r->frame == f && r->head == head) return r;
  return NULL;
}

/* Behind a loop that may have been ended in two places. */
static bool end_split(tracer *t, frame *f, roll *r, branch_way usual, step *out) {
  branch_jumps jumps = {.pc = r->head,
                        .condition = r->outcome,
                        .ways = {usual, {r->behind->pc, r->behind->sp}},
                        .first = 1,
                        .ended = r};
  bool good = branch_both(t, f, &jumps, out);
  r->behind = NULL;
  return good;
}

bool roll_end_enter(tracer *t, roll *r) {
  const roll_ending *e = r->behind;
  frame *f = r->frame;
  memcpy(f->locals, e->locals, sizeof *f->locals * (size_t)f->code->locals);
  memcpy(f->stack, e->stack, sizeof *f->stack * (size_t)e->sp);
  f->sp = e->sp;
  f->pc = r->iterator ? r->pc : r->pc - ROLL_ENDS;
  roll_walk *now = roll_look(t, r);
  if (!now || now->refused || !roll_alike(e->state, now)) return false;
  for (uint32_t i = 0; i < now->slot_count; i++) {
    const roll_slot *was = &e->state->slots[i];
    roll_slot *is = &now->slots[i];
    if (e->results[i] != LOOM_NO_VALUE) {
      if (!roll_put(t, is, e->results[i])) return false;
    } else if (!roll_slot_same(was, is)) {
      if (is->number) return false;
      if (is->holder)
        *is->holder = was->held;
      else if (!roll_put(t, is, was->node))
        return false;
    }
  }
  return true;
}

/* A loop that is not captured once may be short: each of its tests is a branch in another then, a
 * few times. */
static roll_end end_again(const tracer *t, const frame *f, branch_jumps *jumps) {
  int deep = 0;
  jumps->stays = -1;
  for (const branch *b = t->loops.branches; b; b = b->outer)
    deep += b->code == f->code->object && b->pc == jumps->pc;
  return deep < END_NESTED ? ROLL_END_NONE : ROLL_END_REFUSED;
}

static roll_end end_while(tracer *t, frame *f, const loom_flow *flow, branch_jumps *jumps,
                          int stays, int32_t head, loom_value condition, step *out) {
  branch_way way = jumps->ways[stays], other = jumps->ways[1 - stays];
  int32_t key = ROLL_ENDS + way.pc;
  roll *r = end_open(t, f, head);
  roll_ban_row *row = roll_row(t, f->code->object, key);
  bool entry = !flow_within(flow, head, jumps->pc);
  if (row && row->delay < 0 && !r) return end_again(t, f, jumps);
  if (entry && row && row->learnt && row->learnt->peeled) return ROLL_END_NONE;
  f->sp = way.sp;
  f->pc = way.pc;
  if (r && r->pc != key) {
    if (end_note(t, r, condition, other)) return ROLL_END_TAKEN;
    if (!trace_pending(t)) roll_restart(t, r, ROLL_NEVER, 1);
    return ROLL_END_REFUSED;
  }
  if (r) {
    r->condition = condition;
    if (!end_check(t, r, other.pc)) return ROLL_END_REFUSED;
    f->pc = other.pc;
    f->sp = other.sp;
    bool split = !r->behind || end_split(t, f, r, other, out);
    if (!split && !trace_pending(t)) roll_restart(t, r, ROLL_NEVER, 1);
    r->frame = NULL; /* the next time it is another loop */
    return split ? ROLL_END_TAKEN : ROLL_END_REFUSED;
  }
  r = trace_alloc(t, sizeof *r);
  if (!r) return ROLL_END_REFUSED;
  *r = (roll){.next = t->loops.rolls,
              .frame = f,
              .pc = key,
              .head = head,
              .ended = true,
              .live = end_live(t, f, flow, head, way.pc),
              .stage = ROLL_HIDDEN,
              .period = 1,
              .given = 1,
              .length = -1};
  t->loops.rolls = r;
  r->before = r->live && branch_realise(t, f) ? roll_look(t, r) : NULL;
  if (!r->before) return ROLL_END_REFUSED;
  if (!r->before->refused && end_hide(t, r, ROLL_FOREVER, condition)) return ROLL_END_TAKEN;
  if (!trace_pending(t)) roll_restart(t, r, ROLL_NEVER, 1);
  return ROLL_END_REFUSED;
}

/* ---- for ---- */

/* At the head, after the hidden iteration: there are as many as the iterator has items, unless data
 * ends them. */
void roll_end_check(tracer *t, roll *r) {
  int64_t next;
  const loom_attr less = {.kind = LOOM_ATTR_STR, .str = "lt"};
  if (!size_op(t, LOOM_EXPR_ADD, r->symbol, 1, &next)) return;
  loom_value sides[2] = {size_node(t, next), size_node(t, r->count)};
  if (sides[0] == LOOM_NO_VALUE || sides[1] == LOOM_NO_VALUE) return;
  r->condition = trace_node(t, LOOM_OP_COMPARE, sides, 2, &less, 1, NULL);
  if (r->condition != LOOM_NO_VALUE) end_check(t, r, -1);
}

static roll_end end_for(tracer *t, frame *f, branch_jumps *jumps, int stays, int32_t head,
                        loom_value condition) {
  roll_ban_row *row = roll_row(t, f->code->object, head + 1);
  roll *r = end_open(t, f, head);
  if (row && row->delay < 0) return end_again(t, f, jumps);
  if (!row || !row->learnt) {
    end_learn(t, roll_learn(t, f->code->object, head + 1));
    return ROLL_END_REFUSED;
  }
  if (!r) { /* an iteration that stays in front of the loop, when there is one to come */
    for (r = t->loops.rolls; r && (r->frame != f || r->head != head || !r->ended);)
      r = r->next;
    return r && r->stage == ROLL_WATCHING ? ROLL_END_NONE : ROLL_END_REFUSED;
  }
  f->sp = jumps->ways[stays].sp;
  f->pc = jumps->ways[stays].pc;
  if (end_note(t, r, condition, jumps->ways[1 - stays])) return ROLL_END_TAKEN;
  if (!trace_pending(t)) roll_restart(t, r, ROLL_NEVER, 1);
  return ROLL_END_REFUSED;
}

bool *roll_end_live(tracer *t, const frame *f, int32_t head) {
  const loom_flow *flow = flow_of(t, f->code);
  return flow ? end_live(t, f, flow, head, head) : NULL;
}

bool roll_end_behind(tracer *t, frame *f, int32_t head, step *out) {
  for (roll *r = t->loops.rolls; r; r = r->next) {
    if (!r->behind || !r->rolled || r->frame != f || r->head != head) continue;
    branch_way usual = {flow_settle(f->code, f->code->instrs[head].target), f->sp};
    if (end_split(t, f, r, usual, out)) return true;
    if (!trace_pending(t)) roll_restart(t, r, ROLL_NEVER, 1);
    return false;
  }
  return true;
}

bool roll_end_has(tracer *t, const frame *f) {
  bool any = false;
  for (roll *r = t->loops.rolls; r && !any; r = r->next)
    any = r->ended && r->stage == ROLL_HIDDEN && r->frame == f;
  const loom_flow *flow = any ? flow_of(t, f->code) : NULL;
  return flow && end_open(t, f, flow_loop(flow, f->pc));
}

bool roll_end_counts(tracer *t, int64_t number) {
  for (roll *r = t->loops.rolls; r; r = r->next)
    if (r->ended && r->stage == ROLL_HIDDEN && r->symbol && LOOM_STRIDE_IS_SYM(number) &&
        size_symbols(trace_graph(t), LOOM_STRIDE_EXPR(number)) >> roll_symbol(t, r) & 1)
      return true;
  return false;
}

roll_end roll_end_jump(tracer *t, frame *f, branch_jumps *jumps, step *out) {
  const loom_flow *flow = flow_of(t, f->code);
  int stays;
  int32_t head;
  if (!flow || !end_find(flow, jumps, &stays, &head)) return ROLL_END_NONE;
  loom_value condition = jumps->condition;
  jumps->stays = stays;
  jumps->first = 1 - stays;
  if (stays) condition = trace_node(t, LOOM_OP_NOT, &condition, 1, NULL, 0, NULL);
  if (condition == LOOM_NO_VALUE) return ROLL_END_REFUSED;
  if (f->code->instrs[head].op == BC_FOR_ITER) return end_for(t, f, jumps, stays, head, condition);
  return end_while(t, f, flow, jumps, stays, head, condition, out);
}
