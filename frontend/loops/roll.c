/* Loops captured once.
 *
 * A `for` over a range, an array, or several of them at once, is evaluated iteration by iteration,
 * and each adds its operations to the graph: that is unrolling, and right for short loops. For a
 * long one the evaluator's state (all that the code can see) is compared at the loop's head from
 * one iteration to the next. When two states differ in nothing but the contents of arrays and
 * floats, the next iteration is evaluated with these contents unknown. It is called the hidden
 * iteration: each content that had changed (a loop-carried value) is hidden behind a copy, and so
 * is the index. When the state after it again differs in nothing else, every further iteration
 * would do the same, since what the evaluator does depends on the state alone. So the operations of
 * this iteration become the body of a loop of the graph, and evaluation goes on behind the loop.
 *
 * Numbers (ints, and offsets of slices) may be induction variables: they grow by the same step in
 * every iteration. In the hidden iteration such a number is base + step * index, where the index is
 * a symbol of the graph (size_loop.c). At the end of the iteration it has to be base + step *
 * (index + 1): then, by induction, the formula holds in every iteration.
 *
 * Two names may exchange their arrays in each iteration, or a decision may depend on `i % n`. The
 * state is then the same every few iterations only: these are the loop's period. As many iterations
 * are evaluated as one, and the iterations that are left over at the end are unrolled.
 *
 * Nothing is lost when the loop cannot be captured once: the copies change nothing, and the
 * operations so far are right as unrolled ones. If some of them use the symbol of the index,
 * capture starts again, and watches the loop for longer. When the code asks for a content that is
 * hidden, capture starts again and unrolls that loop (roll_bans). */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/captured.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/loops/branch_internal.h"
#include "frontend/loops/internal.h"
#include "frontend/loops/loops.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"
#include "loom_ops_shapes.h"

#include <string.h>

uint64_t roll_symbol(tracer *t, const roll *r) {
  return (uint64_t)trace_graph(t)->exprs[LOOM_STRIDE_EXPR(r->symbol)].value;
}

/* ---- looking ---- */

roll_walk *roll_look(tracer *t, const roll *r) {
  roll_walk *w = trace_alloc(t, sizeof *w);
  if (!w) return NULL;
  *w = (roll_walk){.t = t,
                   .head = r->frame,
                   .live = r->live,
                   .own = r->iterator,
                   .lists = r->lists,
                   .scrub = r->stage == ROLL_HIDDEN ? r->first_value : LOOM_NO_VALUE};
  roll_walk_state(w);
  t->kept->bans.walked += w->token_count;
  t->kept->bans.all |= t->kept->bans.walked > ROLL_WALKED;
  return trace_pending(t) ? NULL : w;
}

bool roll_alike(const roll_walk *a, const roll_walk *b) {
  return a->token_count == b->token_count && a->slot_count == b->slot_count &&
         !memcmp(a->tokens, b->tokens, sizeof *a->tokens * a->token_count);
}

bool roll_slot_same(const roll_slot *a, const roll_slot *b) {
  if (a->whole || b->whole) return a->whole && b->whole && a->size == b->size;
  return a->node == b->node && (a->node != LOOM_NO_VALUE || a->bits == b->bits);
}

/* Marks the slots that differ as carried. How many were added. */
static uint32_t roll_differ(tracer *t, roll *r, const roll_walk *before, const roll_walk *now) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < now->slot_count; i++) {
    const roll_slot *was = &before->slots[i], *is = &now->slots[i];
    bool differs = !roll_slot_same(was, is);
    if (was->whole && !size_minus(t, is->size, was->size, &r->steps[i])) return 0;
    count += differs && !r->carried[i];
    r->carried[i] |= differs;
  }
  return count;
}

/* Are all numbers, behind the hidden iteration, what the next one begins with? */
bool roll_steps_hold(tracer *t, const roll *r, const roll_walk *now) {
  for (uint32_t i = 0; i < now->slot_count; i++) {
    const roll_slot *was = &r->before->slots[i];
    int64_t next;
    if (!was->whole) continue;
    if (!size_op(t, LOOM_EXPR_ADD, was->size, r->carried[i] ? r->steps[i] : 0, &next)) return false;
    if (now->slots[i].size != next) return false;
  }
  return true;
}

static bool roll_attr_looped(tracer *t, const loom_attr *attr) {
  for (int32_t k = 0; attr->kind == LOOM_ATTR_I64S && k < attr->count; k++)
    if (size_is_looped(t, attr->ints[k])) return true;
  return false;
}

static bool roll_node_looped(tracer *t, const loom_node *node) {
  const loom_op_info *info = &loom_op_table[node->op];
  for (int a = 0; a < LOOM_MAX_ATTRS && info->attrs[a].name; a++)
    if (roll_attr_looped(t, &node->attrs[a])) return true;
  for (int r = 0; node->regions && r < info->regions; r++)
    for (uint32_t n = 0; n < node->regions[r]->node_count; n++)
      if (roll_node_looped(t, &node->regions[r]->nodes[n])) return true;
  return false;
}

/* Does anything of the hidden iteration depend on the symbol of its index? Behind it there may be
 * more slots than before, of which `carried` knows nothing. */
static bool roll_is_looped(tracer *t, const roll *r, const roll_walk *now) {
  const loom_graph *graph = trace_graph(t);
  bool looped = now->looped;
  for (uint32_t i = 0; i < r->before->slot_count && r->carried && !looped; i++)
    looped = r->before->slots[i].whole && r->carried[i];
  for (uint32_t n = r->first; n < graph->node_count && !looped; n++)
    looped = roll_node_looped(t, &graph->nodes[n]);
  return looped;
}

/* ---- the hidden iteration ---- */

loom_value roll_number(tracer *t, loom_dtype dtype, uint64_t bits) {
  const loom_type type = {.dtype = dtype};
  loom_attr attr = {.kind = LOOM_ATTR_SCALAR, .bits = bits};
  return trace_node(t, LOOM_OP_CONSTANT, NULL, 0, &attr, 1, &type);
}

loom_value roll_copy(tracer *t, loom_value v) {
  return v == LOOM_NO_VALUE ? v : trace_node(t, LOOM_OP_COPY, &v, 1, NULL, 0, NULL);
}

/* A number takes the place of another, which may be lent. */
static bool roll_hold(roll_slot *slot, value *number) {
  if (!number) return false;
  number->lent = slot->held->lent;
  number->from = slot->held->from;
  *slot->holder = slot->hidden = number;
  return true;
}

bool roll_put_whole(tracer *t, roll_slot *slot, int64_t number) {
  slot->size = number;
  if (slot->holder) return roll_hold(slot, value_size(t, number));
  *slot->number = number;
  slot->changed(t, slot->owner);
  return true;
}

bool roll_put(tracer *t, roll_slot *slot, loom_value v) {
  if (v == LOOM_NO_VALUE) return false;
  slot->node = v;
  if (slot->at) {
    *slot->at = v;
    if (slot->changed) slot->changed(t, slot->owner);
    return true;
  }
  value *number = value_new(t, &value_number_type);
  if (number) number->number.node = v;
  return roll_hold(slot, number);
}

/* Hides a number: it becomes its present value + step * index. */
static bool roll_hide_whole(tracer *t, roll *r, uint32_t i) {
  int64_t number;
  r->bases[i] = r->before->slots[i].size;
  return size_at_iteration(t, r->bases[i], r->steps[i], r->symbol, &number) &&
         roll_put_whole(t, &r->before->slots[i], number);
}

/* The operands of the copies stay in `inits`. */
bool roll_hide_slots(tracer *t, roll *r) {
  roll_walk *w = r->before;
  r->stage = ROLL_HIDDEN; /* it is to blame for what now goes wrong */
  for (uint32_t i = 0; i < w->slot_count; i++) {
    roll_slot *slot = &w->slots[i];
    if (!r->carried[i]) continue;
    if (slot->whole && !roll_hide_whole(t, r, i)) return false;
    if (slot->whole) continue;
    r->inits[i] = slot->node == LOOM_NO_VALUE ? roll_number(t, LOOM_F64, slot->bits) : slot->node;
    if (!roll_put(t, slot, roll_copy(t, r->inits[i]))) return false;
  }
  r->first = trace_graph(t)->node_count;
  r->first_value = trace_graph(t)->value_count;
  return true;
}

/* Without an index, no number may change. */
static bool roll_hide_tested(tracer *t, roll *r) {
  for (uint32_t i = 0; i < r->before->slot_count; i++)
    if (r->before->slots[i].whole && r->carried[i]) return false;
  r->started = roll_number(t, LOOM_BOOL, 1);
  r->truth = roll_copy(t, r->started);
  return r->truth != LOOM_NO_VALUE && roll_lists_hide(t, r) && roll_hide_slots(t, r) &&
         roll_lists_note(t, r);
}

/* The loop of the graph ends some iterations earlier: at least one is left to it. */
static bool roll_leave_tail(tracer *t, roll *r) {
  bool jumps = !r->iterator || iter_jumps(r->iterator) || !LOOM_STRIDE_IS_SYM(r->left);
  return jumps && size_op(t, LOOM_EXPR_ADD, r->left, -r->tail, &r->count) &&
         size_less(t, 0, r->count) > 0;
}

bool roll_hide(tracer *t, roll *r, int64_t left) {
  const roll_walk *w = r->before;
  r->inits = trace_alloc(t, sizeof *r->inits * (w->slot_count + 1u));
  r->bases = trace_alloc(t, sizeof *r->bases * (w->slot_count + 1u));
  if (!r->inits || !r->bases) return false;
  if (r->tested) return roll_hide_tested(t, r);
  if (r->iterator && !iter_prepare(t, r->iterator)) return false;
  bool few = r->period > 1 && (LOOM_STRIDE_IS_SYM(left) || left < 2 * r->period);
  r->left = left;
  r->count = r->period > 1 ? left / r->period : left;
  if (r->tail && !roll_leave_tail(t, r)) return false;
  r->phase = 0;
  r->index = roll_copy(t, roll_number(t, LOOM_I64, 0));
  return r->index != LOOM_NO_VALUE && left != -1 && left != 0 && !few &&
         size_loop(t, r->count, r->index, &r->symbol) && roll_lists_hide(t, r) &&
         roll_hide_slots(t, r) && roll_lists_note(t, r);
}

/* ---- the loop ---- */

static uint16_t roll_own_place(tracer *t, const roll *r);

/* Gives all slots the values that they have after the last iteration. */
static bool roll_leave(tracer *t, roll *r, roll_walk *now, const loom_value *results) {
  uint32_t slots = 0;
  if (!roll_objects_leave(t, r, now, results, &slots)) return false;
  if (!roll_lists_leave(t, r, now, results + slots)) return false;
  if (r->iterator && !now->lent) iter_lent_over(t, r->iterator);
  if (!now->lent) gather_leave(t, roll_own_place(t, r));
  for (int32_t i = 0; i < r->frame->code->locals; i++)
    if (!r->live[i]) r->frame->locals[i] = NULL; /* nobody reads it before it is assigned */
  int64_t more;
  if (!r->iterator) return !trace_pending(t);
  if (r->period == 1 && !r->tail) return iter_finish(r->iterator), !trace_pending(t);
  return size_op(t, LOOM_EXPR_ADD, r->count, -1, &more) &&
         size_op(t, LOOM_EXPR_MUL, more, r->period, &more) && iter_step(t, r->iterator, more);
}

/* What nothing is carried by may have happened once as well, unless that can be seen. */
static bool roll_is_idle(tracer *t, const roll *r) {
  const loom_graph *graph = trace_graph(t);
  for (uint32_t n = r->first; n < graph->node_count; n++)
    if (loom_node_has_effect(&graph->nodes[n]) || loom_node_fp(graph, &graph->nodes[n]))
      return false;
  return true;
}

static bool roll_close(tracer *t, roll *r, roll_walk *now) {
  uint32_t carried = r->tested, stacks = roll_lists_stacks(r);
  for (uint32_t i = 0; i < now->slot_count; i++)
    carried += r->carried[i] && !now->slots[i].whole;
  carried += stacks;
  loom_value *lists = trace_alloc(t, 3 * sizeof *lists * (carried + 1u));
  if (!lists) return false;
  loom_value *inits = lists, *before = lists + carried, *after = lists + 2 * carried;
  if (r->tested) { /* the test comes last */
    inits[carried - 1] = r->started;
    before[carried - 1] = r->truth;
    after[carried - 1] = r->condition;
  }
  for (uint32_t i = 0, n = 0; i < now->slot_count; i++) {
    if (!r->carried[i] || now->slots[i].whole) continue;
    inits[n] = r->inits[i];
    before[n] = r->before->slots[i].node;
    loom_value end = now->slots[i].node;
    if (end == LOOM_NO_VALUE) end = roll_number(t, LOOM_F64, now->slots[i].bits);
    if (end == LOOM_NO_VALUE) return false;
    after[n++] = end;
  }
  uint32_t at = carried - stacks - r->tested;
  if (!roll_lists_close(t, r, inits + at, before + at, after + at)) return false;
  roll_body body = {.first = r->first,
                    .first_value = r->first_value,
                    .index = r->index,
                    .symbol = r->tested ? -1 : (int64_t)roll_symbol(t, r),
                    .tested = r->tested,
                    .count = r->count,
                    .carried = carried,
                    .inits = inits,
                    .before = before,
                    .after = after};
  return (carried ? roll_make_loop(t, &body) : roll_is_idle(t, r)) && roll_leave(t, r, now, after);
}

/* Items that are known differ from one iteration to the next where names stand for them. Capture
 * starts again with such that are lent, which do not. */
static bool roll_lend_early(tracer *t, roll *r, bool lent) {
  roll_ban_row *row = roll_row(t, r->frame->code->object, r->pc);
  if (r->ended || r->tested || (row && row->lends)) return false;
  if (!lent && (!r->iterator || !iter_is_known(t, r->iterator))) return false;
  if (trace_pending(t) || !(row = roll_learn(t, r->frame->code->object, r->pc))) return true;
  row->lends = true;
  row->delay = 0;
  return true;
}

void roll_give_up(tracer *t, roll *r, const char *why) {
  if (trace_pending(t) || (!why && roll_lend_early(t, r, false))) return;
  roll_lists_show(r);
  roll_ban_row *row = roll_row(t, r->frame->code->object, r->pc);
  if (!why && r->lists) why = r->lists->why;
  if (!why && row && row->reads) why = "it reads a list that it appends to";
  r->why = why ? why : "what it leaves behind differs from one iteration to the next";
  if (row && row->lends && r->iterator) { /* as they are, after all */
    if (!row->why) row->why = r->why;
    roll_restart(t, r, ROLL_NEVER, 1);
    return;
  }
  trace_note_loop(t, LOOP_UNROLLED, r->length, "%s", r->why);
  r->stage = ROLL_OVER;
}

/* The hidden iteration does not stand for all. */
static void roll_retry(tracer *t, roll *r, roll_walk *now, bool alike) {
  r->stage = ROLL_OVER;
  if (now->lent && roll_lend_early(t, r, true)) return;
  if (roll_is_looped(t, r, now)) {
    roll_restart(t, r, now->refused ? ROLL_NEVER : r->tries + 1, r->given);
    return;
  }
  roll_lists_grow(r, r->before, now);
  r->before = now;
  bool more = r->iterator && alike && ++r->tries < ROLL_TRIES;
  if (!more || !roll_hide(t, r, iter_left(t, r->iterator))) roll_give_up(t, r, now->refused);
}

/* At the head, after the hidden iteration. */
void roll_check(tracer *t, roll *r) {
  roll_lists_show(r);
  roll_walk *now = roll_look(t, r);
  if (!now) return;
  bool alike = !now->refused && roll_alike(r->before, now), holds = alike;
  holds = holds && roll_steps_hold(t, r, now) && roll_objects_hold(t, r, now) &&
          roll_lists_hold(t, r, now);
  for (uint32_t i = 0; i < now->slot_count && holds; i++)
    holds = r->carried[i] || roll_slot_same(&r->before->slots[i], &now->slots[i]);
  if (trace_pending(t)) return;
  if (!holds) {
    if (alike) roll_differ(t, r, r->before, now);
    if (!trace_pending(t)) roll_retry(t, r, now, alike);
    return;
  }
  r->stage = ROLL_OVER;
  bool looped = roll_is_looped(t, r, now), made = roll_close(t, r, now);
  r->rolled = made;
  if (trace_pending(t)) return;
  trace_note_loop(t, made ? LOOP_ROLLED : LOOP_UNROLLED, r->length, "%s",
                  made ? "" : "it carries nothing");
  if (!made && looped) roll_restart(t, r, ROLL_NEVER, 1);
}

/* Do numbers grow by as much as they did before? */
static bool roll_is_steady(tracer *t, const roll_walk *first, const roll_walk *second,
                           const roll_walk *now) {
  for (uint32_t i = 0; i < now->slot_count; i++) {
    int64_t before, after;
    if (!now->slots[i].whole || now->slots[i].size == second->slots[i].size) continue;
    if (!first || !roll_alike(first, now) ||
        !size_minus(t, second->slots[i].size, first->slots[i].size, &before) ||
        !size_minus(t, now->slots[i].size, second->slots[i].size, &after) || before != after)
      return false;
  }
  return true;
}

/* The period: after how many iterations the state is the same again; 0: it never is. */
static int roll_find_period(tracer *t, const roll *r, const roll_walk *now) {
  for (int p = r->given; p <= ROLL_ORDER * r->given && p <= ROLL_PERIOD; p += r->given) {
    const roll_walk *second = r->past[p - 1],
                    *first = 2 * p <= ROLL_PAST ? r->past[2 * p - 1] : NULL;
    if (second && roll_alike(second, now) && roll_is_steady(t, first, second, now)) return p;
  }
  return 0;
}

/* At the head, after an iteration like any other, before which there were `left`. True: the next
 * one may stand for all. */
bool roll_watch(tracer *t, roll *r, int64_t left) {
  roll_walk *now = roll_look(t, r);
  if (!now) return false;
  int64_t gone = 1;
  int period = now->refused ? 0 : roll_find_period(t, r, now);
  bool one = left != -1 && (!r->past[0] || (size_minus(t, r->left, left, &gone) && gone == 1));
  if (trace_pending(t)) return false;
  if (now->refused || (r->iterator && !one) || ++r->tries > ROLL_TRIES + r->delay + 3 * r->given) {
    roll_give_up(t, r, one ? now->refused : "it takes several items at once");
    return false;
  }
  if (period != r->period) r->carried = NULL;
  r->period = period;
  if (period && !r->carried) {
    r->carried = trace_alloc(t, now->slot_count + 1u);
    r->steps = trace_alloc(t, sizeof *r->steps * (now->slot_count + 1u));
  }
  if (period && r->carried && r->steps) {
    roll_differ(t, r, r->past[period - 1], now);
    roll_lists_grow(r, r->past[period - 1], now);
  }
  memmove(r->past + 1, r->past, sizeof *r->past * ROLL_PAST);
  r->past[0] = r->before = now;
  r->left = left;
  return period && r->carried && r->tries > r->delay && !trace_pending(t);
}

/* ---- items that are lent (values/gather.c) ---- */

/* The place of a loop, whose items may be lent; 0: there are too many. */
static uint16_t roll_place(tracer *t, const frame *f) {
  for (int i = 0; i < t->loops.lent_count; i++)
    if (t->loops.lent[i].code == f->code->object && t->loops.lent[i].pc == f->pc)
      return (uint16_t)(i + 1);
  if (t->loops.lent_count == ROLL_LENT) return 0;
  t->loops.lent[t->loops.lent_count] = (struct lent_place){f->code->object, f->pc};
  return (uint16_t)++t->loops.lent_count;
}

static uint16_t roll_own_place(tracer *t, const roll *r) {
  frame at = *r->frame;
  at.pc = r->pc;
  return roll_place(t, &at);
}

uint16_t roll_lends(tracer *t) {
  const roll *r = t->loops.rolls;
  while (r &&
         (r->stage == ROLL_OVER || !r->frame)) /* a `while` that has come to its end has none */
    r = r->next;
  const roll_ban_row *row = r ? roll_row(t, r->frame->code->object, r->pc) : NULL;
  if (!r || r->ended || (row && row->apart)) return 0;
  return roll_own_place(t, r);
}

bool roll_lends_early(tracer *t, bool ask) {
  const roll *r = t->loops.rolls;
  while (r && (r->stage == ROLL_OVER || !r->frame))
    r = r->next;
  roll_ban_row *row = r ? roll_row(t, r->frame->code->object, r->pc) : NULL;
  if (!r || r->ended || !ask || (row && row->lends)) return r && row && row->lends;
  if (trace_pending(t) || !(row = roll_learn(t, r->frame->code->object, r->pc))) return false;
  return row->lends = true;
}

uint16_t roll_lends_here(tracer *t) {
  if (t->kept->bans.all || !t->frame) return 0;
  frame at = *t->frame;
  at.pc += ROLL_HERE;
  const roll_ban_row *row = roll_row(t, at.code->object, at.pc);
  return row && row->apart ? 0 : roll_place(t, &at);
}

bool roll_lent(tracer *t, const value *v) {
  int place = v->lent ? v->lent : v->lender;
  if (!place || trace_pending(t)) return place != 0;
  const struct lent_place *at = &t->loops.lent[place - 1];
  roll_ban_row *row = roll_learn(t, at->code, at->pc);
  if (!row) return true;
  row->apart = true;
  row->why = "its items are changed, kept or compared by `is`";
  return true;
}

/* Forgets loops that are over: those of frame `f` when it is left, or (`pc` is not -1) the earlier
 * runs of the loop at `pc`. Without this, a loop that is started again and again would make all
 * others slow. Within a branch no loop is forgotten, since a failure of the branch may blame it. */
static void roll_forget(tracer *t, const frame *f, int32_t pc) {
  for (roll **at = &t->loops.rolls; *at && !t->loops.branches;) {
    roll *r = *at;
    bool over = !r->frame || (r->frame == f && (pc < 0 || (r->pc == pc && !r->ended)));
    if (over && r->stage != ROLL_HIDDEN)
      *at = r->next;
    else
      at = &r->next;
  }
}

void roll_leave_frame(tracer *t, const frame *f) { roll_forget(t, f, -1); }

roll *roll_new(tracer *t, frame *f, value *iterator, int64_t left) {
  const roll_ban_row *row = roll_row(t, f->code->object, f->pc);
  bool ended = row && row->learnt;
  bool few = left <= (ended ? 0 : loom_config.unroll_limit) && !LOOM_STRIDE_IS_SYM(left);
  if (few && left > 0 && !trace_pending(t)) roll_note_short(t, f, left);
  if (left == -1 && iterator && !trace_pending(t)) roll_note_items(t, f, iterator);
  bool apart = row && row->apart && iterator && iter_lends(t, iterator);
  if (trace_pending(t) || left == -1 || few) return NULL;
  roll *r = trace_alloc(t, sizeof *r);
  bool *live = !r ? NULL : ended ? roll_end_live(t, f, f->pc - 1) : live_of(t, f->code, f->pc - 1);
  if (!live) return NULL;
  roll_forget(t, f, f->pc);
  *r = (roll){.next = t->loops.rolls,
              .frame = f,
              .iterator = iterator,
              .pc = f->pc,
              .head = f->pc - 1,
              .ended = ended,
              .live = live,
              .delay = row && row->delay > 0 ? row->delay : 0,
              .given = row && row->period ? row->period : 1,
              .tail = row ? row->tail : 0,
              .begin = trace_graph(t)->node_count,
              .length = LOOM_STRIDE_IS_SYM(left) ? -1 : left};
  if (!ended && !(row && row->reads)) r->lists = roll_lists_new(t, row);
  if (t->kept->bans.all || apart || (row && row->delay < 0)) r->stage = ROLL_OVER;
  if (iterator && r->stage == ROLL_WATCHING) iter_lend(t, iterator, roll_place(t, f));
  if (iterator && r->stage == ROLL_WATCHING && row && row->lends) iter_lend_early(t, iterator);
  if (row && row->delay == ROLL_LEAVE) {
    trace_note_loop(t, LOOP_LEFT, r->length, "%s; there are too many iterations to unroll",
                    row->why ? row->why : "its iterations differ");
    trace_break(t, BREAK_LOOP, "%lld iterations", (long long)r->length);
  }
  if (row && (row->delay == ROLL_NEVER || (apart && row->delay >= 0)))
    trace_note_loop(t, LOOP_UNROLLED, r->length, "%s",
                    row->why ? row->why : "no iteration stands for all");
  return t->loops.rolls = r;
}

/* A long loop that is unrolled is left to Python, which runs what is compiled of its body. */
static void roll_measure(tracer *t, roll *r, value *iterator) {
  if (r->rolled || r->measured || r->length < 0 || r->frame != t->outer.frame) return;
  int64_t left = iter_left(t, iterator), done = r->length - left;
  int64_t nodes = trace_graph(t)->node_count - r->begin;
  if (left < 0 || done <= loom_config.unroll_limit) return;
  r->measured = true;
  if (nodes * left <= ROLL_NODES * done) return;
  roll_restart(t, r, ROLL_LEAVE, 1);
  roll_ban_row *row = roll_row(t, r->frame->code->object, r->pc);
  if (row && !row->why) row->why = r->why;
}

static void roll_begin(tracer *t, roll *r) {
  int64_t left = iter_left(t, r->iterator);
  if (r->ended) {
    const roll_ban_row *row = roll_row(t, r->frame->code->object, r->pc);
    if (left != 0 && r->tries++ >= row->learnt->peeled) roll_end_begin(t, r, left);
    return;
  }
  if (roll_watch(t, r, left) && !roll_hide(t, r, left)) roll_give_up(t, r, NULL);
}

/* Is there one more iteration whatever a number of the graph will be? By a guard; false when
 * something is pending. */
static bool roll_is_next(tracer *t, value *iterator) {
  int64_t left = iter_left(t, iterator);
  if (LOOM_STRIDE_IS_SYM(left) && size_less(t, 0, left) <= 0 && !trace_pending(t))
    size_know(t, left);
  return !trace_pending(t);
}

/* An item like any other: of a symbolic number of them only where loops are looked at. */
static value *roll_plain(tracer *t, const roll *r, value *iterator) {
  if (!r || r->stage != ROLL_WATCHING || !LOOM_STRIDE_IS_SYM(iter_left(t, iterator)))
    return trace_next(t, iterator);
  value *item = roll_is_next(t, iterator) ? iter_ahead(t, iterator, 0) : NULL;
  if (item) iter_step(t, iterator, 1);
  return trace_pending(t) ? NULL : item;
}

value *roll_next(tracer *t, frame *f, value *iterator) {
  roll *r = t->loops.rolls;
  while (r && r->iterator != iterator)
    r = r->next;
  if (!r) r = roll_new(t, f, iterator, iter_left(t, iterator));
  if (!r || trace_pending(t)) return trace_pending(t) ? NULL : roll_plain(t, r, iterator);
  if (r->stage == ROLL_HIDDEN && r->ended)
    roll_end_check(t, r);
  else if (r->stage == ROLL_HIDDEN && ++r->phase == r->period)
    roll_check(t, r);
  else if (r->stage == ROLL_WATCHING)
    roll_begin(t, r);
  else if (r->stage == ROLL_OVER)
    roll_measure(t, r, iterator);
  if (trace_pending(t)) return NULL;
  if (r->stage != ROLL_HIDDEN) return roll_plain(t, r, iterator);
  if (!roll_is_next(t, iterator)) return NULL;
  int64_t ahead;
  value *item = size_op(t, LOOM_EXPR_MUL, r->symbol, r->period, &ahead)
                    ? iter_ahead(t, iterator, ahead)
                    : NULL;
  if (item) iter_step(t, iterator, 1);
  return trace_pending(t) ? NULL : item;
}
