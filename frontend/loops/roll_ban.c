/* What the attempts at one capture have found out about its loops: which of them are not captured
 * once, and what the next attempt does differently. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/captured.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/loops/branch_internal.h"
#include "frontend/loops/internal.h"
#include "frontend/loops/loops.h"
#include "frontend/size/size.h"
#include "frontend/values/values.h"

roll_ban_row *roll_row(const tracer *t, PyCodeObject *code, int32_t pc) {
  roll_bans *bans = &t->kept->bans;
  for (int i = 0; i < bans->count; i++)
    if (bans->rows[i].code == code && bans->rows[i].pc == pc) return &bans->rows[i];
  return NULL;
}

/* Capture starts again, and looks at `delay` iterations of this loop before it takes one, or
 * `period` of them, for all. */
roll_ban_row *roll_learn(tracer *t, PyCodeObject *code, int32_t pc) {
  roll_bans *bans = &t->kept->bans;
  roll_ban_row *row = roll_row(t, code, pc);
  t->state = TRACE_RESTART;
  if (++bans->restarts > ROLL_RESTARTS || (!row && bans->count == ROLL_BANS)) {
    bans->all = true;
    return NULL;
  }
  if (!row) {
    row = &bans->rows[bans->count++];
    *row = (roll_ban_row){.code = code, .pc = pc};
  }
  return row;
}

void roll_bans_fini(roll_bans *bans) {
  for (int i = 0; i < bans->count; i++)
    free(bans->rows[i].learnt);
}

void trace_loops_init(trace_loops *loops) { loops->blamed = -1; }

void roll_restart(tracer *t, const roll *r, int delay, int period) {
  roll_ban_row *row = roll_learn(t, r->frame->code->object, r->pc);
  if (!row) return;
  row->delay = delay >= ROLL_TRIES ? ROLL_NEVER : delay;
  row->period = period;
}

static int roll_common(int a, int b) {
  int both = a;
  while (both % b)
    both += a;
  return both;
}

/* Would the loop be one without some iterations at one of its ends? Then capture starts again. */
static bool roll_cut(tracer *t, const roll *r) {
  int delay = t->loops.blamed_peel ? r->tries - 1 + t->loops.blamed_peel : r->delay;
  int tail = r->tail + t->loops.blamed_tail;
  if ((!t->loops.blamed_peel && !t->loops.blamed_tail) || r->tested || r->ended || r->period > 1 ||
      delay > ROLL_ENDS_MOST || tail > ROLL_ENDS_MOST)
    return false;
  roll_ban_row *row = roll_learn(t, r->frame->code->object, r->pc);
  if (!row) return true;
  row->delay = delay;
  row->tail = tail;
  row->period = 1;
  return true;
}

bool roll_blames(tracer *t) {
  const branch *inner = t->loops.branches;
  for (roll *r = t->loops.rolls; r; r = r->next) { /* the innermost came last */
    if (inner && r == inner->rolls && t->loops.blamed < 0) break;
    bool meant =
        t->loops.blamed < 0 || (r->symbol && roll_symbol(t, r) == (uint64_t)t->loops.blamed);
    roll_ban_row *lends = roll_row(t, r->frame ? r->frame->code->object : NULL, r->pc);
    bool early = r->stage == ROLL_WATCHING && lends && lends->lends;
    if ((r->stage != ROLL_HIDDEN && !early) || (!meant && !early)) continue;
    if (!early && roll_cut(t, r)) return true;
    int period = t->loops.blamed_period > 1 ? roll_common(r->given, t->loops.blamed_period) : 0;
    bool again =
        period > r->given && period <= ROLL_PERIOD && !LOOM_STRIDE_IS_SYM(r->left) && !r->ended;
    roll_restart(t, r, again ? 0 : ROLL_NEVER, again ? period : 1);
    roll_ban_row *row = roll_row(t, r->frame->code->object, r->pc);
    if (row && !again && !row->why)
      row->why = t->loops.blamed < 0 ? "its body asks for what it changes" : t->loops.blamed_why;
    return true;
  }
  if (inner) branch_ban(t, inner->code, inner->pc);
  return inner != NULL;
}

bool roll_is_open(tracer *t) {
  if (t->state == TRACE_ERROR || t->state == TRACE_RESTART) return false;
  if (t->loops.branches) return branch_ban(t, t->loops.branches->code, t->loops.branches->pc), true;
  for (roll *r = t->loops.rolls; r; r = r->next) {
    if (r->stage != ROLL_HIDDEN) continue;
    roll_restart(t, r, ROLL_NEVER, 1);
    return true;
  }
  return false;
}
