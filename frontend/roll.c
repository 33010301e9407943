/* Loops captured once.
 *
 * A `for` over a range is evaluated iteration by iteration, and each adds its operations to the
 * graph: that is unrolling, and right for short loops. For a long one the evaluator's state (all
 * that the code can see) is compared at the loop's head from one iteration to the next. When two
 * states differ in nothing but the contents of arrays and floats, the next iteration is evaluated
 * with these contents unknown: each that had changed is hidden behind a copy, and so is the index.
 * When the state after it again differs in nothing else, every further iteration would do the same,
 * since what the evaluator does depends on the state alone. So the operations of this iteration
 * become the body of a loop of the graph, and evaluation goes on behind the loop.
 *
 * Nothing is lost when that does not come about: a copy is a copy, and the graph so far is right.
 * When the code asks for what was hidden, capture starts again and leaves that loop alone
 * (roll_bans).
 */
#include "frontend/roll.h"

#include <string.h>

#define ROLL_TRIES 6
#define ROLL_RESTARTS 12

typedef enum roll_stage {
  ROLL_WATCHING, /* iterations are compared */
  ROLL_HIDDEN,   /* an iteration is evaluated with hidden contents */
  ROLL_OVER      /* it is in the graph, or goes on unrolled */
} roll_stage;

struct roll {
  roll *next;
  frame *frame;
  value *iterator, *item;
  int32_t pc;
  bool *live;
  roll_stage stage;
  roll_walk *before; /* the state at the head, the last time */
  bool *carried;     /* by slot of `before` */
  loom_value *inits; /* what is hidden behind the copies */
  loom_value index;
  uint32_t first; /* node of the hidden iteration */
  loom_value first_value;
  Py_ssize_t start; /* its number */
  int tries;
};

/* ---- loops that are left alone ----------------------------------------------------------------
 */

static bool roll_banned(const tracer *t, const frame *f) {
  const roll_bans *bans = t->bans;
  if (!bans || bans->all) return true;
  for (int i = 0; i < bans->count; i++)
    if (bans->rows[i].code == f->code->object && bans->rows[i].pc == f->pc) return true;
  return false;
}

static void roll_ban(tracer *t, const roll *r) {
  roll_bans *bans = t->bans;
  if (!bans) return;
  if (++bans->restarts > ROLL_RESTARTS || bans->count == ROLL_BANS)
    bans->all = true;
  else
    bans->rows[bans->count++] = (roll_ban_row){r->frame->code->object, r->pc};
}

bool roll_blames(tracer *t) {
  for (roll *r = t->rolls; r; r = r->next) { /* the innermost came last */
    if (r->stage != ROLL_HIDDEN) continue;
    roll_ban(t, r);
    t->state = TRACE_RESTART;
    return true;
  }
  return false;
}

/* ---- looking ----------------------------------------------------------------------------------
 */

static roll_walk *roll_look(tracer *t, const roll *r) {
  roll_walk *w = trace_alloc(t, sizeof *w);
  if (!w) return NULL;
  *w = (roll_walk){.t = t,
                   .head = r->frame,
                   .live = r->live,
                   .own = r->iterator,
                   .item = r->item,
                   .scrub = r->stage == ROLL_HIDDEN ? r->first_value : LOOM_NO_VALUE};
  roll_walk_state(w);
  return trace_pending(t) ? NULL : w;
}

static bool roll_alike(const roll_walk *a, const roll_walk *b) {
  return a->token_count == b->token_count && a->slot_count == b->slot_count &&
         !memcmp(a->tokens, b->tokens, sizeof *a->tokens * a->token_count);
}

static bool roll_slot_same(const roll_slot *a, const roll_slot *b) {
  return a->node == b->node && (a->node != LOOM_NO_VALUE || a->bits == b->bits);
}

/* Adds the slots that differ to those that are carried; how many there are. */
static uint32_t roll_differ(roll *r, const roll_walk *now) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < now->slot_count; i++) {
    bool differs = !r->carried[i] && !roll_slot_same(&r->before->slots[i], &now->slots[i]);
    r->carried[i] |= differs;
    count += differs;
  }
  return count;
}

/* ---- the hidden iteration ----------------------------------------------------------------------
 */

static loom_value roll_number(tracer *t, loom_dtype dtype, uint64_t bits) {
  const loom_type type = {.dtype = dtype};
  loom_attr attr = {.kind = LOOM_ATTR_SCALAR, .bits = bits};
  return trace_node(t, LOOM_OP_CONSTANT, NULL, 0, &attr, 1, &type);
}

static loom_value roll_copy(tracer *t, loom_value v) {
  return v == LOOM_NO_VALUE ? v : trace_node(t, LOOM_OP_COPY, &v, 1, NULL, 0, NULL);
}

static bool roll_put(tracer *t, roll_slot *slot, loom_value v) {
  if (v == LOOM_NO_VALUE) return false;
  slot->node = v;
  if (slot->at) {
    *slot->at = v;
    if (slot->changed) slot->changed(t, slot->owner);
    return true;
  }
  value *number = value_new(t, &value_number_type);
  if (!number) return false;
  number->number.node = v;
  *slot->holder = number;
  return true;
}

/* The operands of the copies stay in `inits`. */
static bool roll_hide(tracer *t, roll *r) {
  roll_walk *w = r->before;
  r->inits = trace_alloc(t, sizeof *r->inits * (w->slot_count + 1u));
  if (!r->inits) return false;
  for (uint32_t i = 0; i < w->slot_count; i++) {
    roll_slot *slot = &w->slots[i];
    if (!r->carried[i]) continue;
    r->inits[i] = slot->node == LOOM_NO_VALUE ? roll_number(t, LOOM_F64, slot->bits) : slot->node;
    if (!roll_put(t, slot, roll_copy(t, r->inits[i]))) return false;
  }
  r->start = r->iterator->any.i;
  r->index = roll_copy(t, roll_number(t, LOOM_I64, 0));
  if (r->index == LOOM_NO_VALUE) return false;
  r->first = trace_graph(t)->node_count;
  r->first_value = trace_graph(t)->value_count;
  r->stage = ROLL_HIDDEN;
  return true;
}

static bool roll_range_int(PyObject *range, const char *name, int64_t *out) {
  PyObject *number = PyObject_GetAttrString(range, name);
  int overflow = 0;
  *out = number ? PyLong_AsLongLongAndOverflow(number, &overflow) : 0;
  Py_XDECREF(number);
  PyErr_Clear();
  return number && !overflow && *out > -(1ll << 52) && *out < 1ll << 52;
}

/* The index of the hidden iteration: start + (first + counted) * step. */
static value *roll_item(tracer *t, roll *r) {
  int64_t start, step;
  if (!roll_range_int(r->iterator->object, "start", &start) ||
      !roll_range_int(r->iterator->object, "step", &step))
    return trace_break(t, BREAK_LIMIT, "a range of large numbers");
  loom_value v[2] = {r->index, roll_number(t, LOOM_I64, (uint64_t)step)};
  v[0] = v[1] == LOOM_NO_VALUE ? v[1] : trace_node(t, LOOM_OP_MUL, v, 2, NULL, 0, NULL);
  v[1] = roll_number(t, LOOM_I64, (uint64_t)(start + (int64_t)r->start * step));
  if (v[0] == LOOM_NO_VALUE || v[1] == LOOM_NO_VALUE) return NULL;
  loom_value node = trace_node(t, LOOM_OP_ADD, v, 2, NULL, 0, NULL);
  value *item = node == LOOM_NO_VALUE ? NULL : value_new(t, &value_number_type);
  if (item) item->number.node = node;
  return item;
}

/* ---- the loop ----------------------------------------------------------------------------------
 */

static value *roll_last(tracer *t, value *iterator, Py_ssize_t at) {
  int64_t last;
  if (iterator->any.n)
    return size_op(t, LOOM_EXPR_ADD, iterator->any.n, -1, &last) ? value_size(t, last) : NULL;
  PyObject *object = PySequence_GetItem(iterator->object, at);
  return object ? value_made(t, object) : trace_raise_live(t);
}

/* How many iterations are left: there is at least one (roll_is_next). */
static bool roll_count(tracer *t, const roll *r, int64_t *out) {
  int64_t all = r->iterator->any.n;
  if (!all) return *out = PyObject_Size(r->iterator->object) - r->start, true;
  return size_op(t, LOOM_EXPR_ADD, all, -(int64_t)r->start, out);
}

/* All slots hold what they do after the last iteration; the index is known again. */
static bool roll_leave(tracer *t, roll *r, roll_walk *now, const loom_value *results) {
  for (uint32_t i = 0, n = 0; i < now->slot_count; i++)
    if (r->carried[i] && !roll_put(t, &now->slots[i], results[n++])) return false;
  for (int32_t i = 0; i < r->frame->code->locals; i++)
    if (!r->live[i]) r->frame->locals[i] = NULL; /* nobody reads it before it is assigned */
  Py_ssize_t length = PyObject_Size(r->iterator->object);
  value *index = roll_last(t, r->iterator, length - 1);
  if (!index) return false;
  *r->item = *index;
  r->iterator->any.i = length;
  return true;
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
  uint32_t carried = 0;
  for (uint32_t i = 0; i < now->slot_count; i++)
    carried += r->carried[i];
  loom_value *lists = trace_alloc(t, 3 * sizeof *lists * (carried + 1u));
  if (!lists) return false;
  loom_value *inits = lists, *before = lists + carried, *after = lists + 2 * carried;
  for (uint32_t i = 0, n = 0; i < now->slot_count; i++) {
    if (!r->carried[i]) continue;
    inits[n] = r->inits[i];
    before[n] = r->before->slots[i].node;
    loom_value end = now->slots[i].node;
    if (end == LOOM_NO_VALUE) end = roll_number(t, LOOM_F64, now->slots[i].bits);
    if (end == LOOM_NO_VALUE) return false;
    after[n++] = end;
  }
  roll_body body = {.first = r->first,
                    .first_value = r->first_value,
                    .index = r->index,
                    .carried = carried,
                    .inits = inits,
                    .before = before,
                    .after = after};
  if (!roll_count(t, r, &body.count)) return false;
  return (carried ? roll_make_loop(t, &body) : roll_is_idle(t, r)) && roll_leave(t, r, now, after);
}

static int64_t roll_length(const roll *r) {
  Py_ssize_t length = PyObject_Size(r->iterator->object);
  if (length < 0) PyErr_Clear();
  return length;
}

static void roll_give_up(tracer *t, roll *r, const roll_walk *now) {
  r->stage = ROLL_OVER;
  trace_note_loop(t, LOOP_UNROLLED, roll_length(r), "%s",
                  now->refused ? now->refused
                               : "what it leaves behind differs from one to the next");
}

/* At the head, after the hidden iteration. */
static void roll_check(tracer *t, roll *r) {
  roll_walk *now = roll_look(t, r);
  if (!now) return;
  bool alike = !now->refused && roll_alike(r->before, now);
  if (alike && !roll_differ(r, now)) {
    r->stage = ROLL_OVER;
    bool made = roll_close(t, r, now);
    if (!trace_pending(t))
      trace_note_loop(t, made ? LOOP_ROLLED : LOOP_UNROLLED, roll_length(r), "%s",
                      made ? "" : "it carries nothing");
    return;
  }
  r->before = now;
  r->stage = ROLL_OVER;
  if (!alike || ++r->tries >= ROLL_TRIES || !roll_hide(t, r)) roll_give_up(t, r, now);
}

/* At the head, after an iteration like any other. */
static void roll_watch(tracer *t, roll *r) {
  roll_walk *now = roll_look(t, r);
  if (!now) return;
  bool alike = r->before && roll_alike(r->before, now);
  if (now->refused || ++r->tries > ROLL_TRIES) {
    roll_give_up(t, r, now);
    return;
  }
  if (alike) {
    r->carried = trace_alloc(t, now->slot_count + 1u);
    if (r->carried) roll_differ(r, now);
  }
  r->before = now;
  if (alike && r->carried) roll_hide(t, r);
}

static roll *roll_find(tracer *t, frame *f, value *iterator) {
  for (roll *r = t->rolls; r; r = r->next)
    if (r->iterator == iterator) return r;
  Py_ssize_t length = PyObject_Size(iterator->object);
  if (length < 0) PyErr_Clear();
  if (length - iterator->any.i <= loom_config.unroll_limit || iterator->any.i || roll_banned(t, f))
    return NULL;
  roll *r = trace_alloc(t, sizeof *r);
  bool *live = r ? roll_live(t, f->code, f->pc - 1) : NULL;
  if (!live) return NULL;
  *r = (roll){.next = t->rolls, .frame = f, .iterator = iterator, .pc = f->pc, .live = live};
  return t->rolls = r;
}

/* Is there one more iteration whatever a number of the graph will be? By a guard; false when
 * something is pending. */
static bool roll_is_next(tracer *t, value *iterator) {
  if (iterator->any.n && size_less(t, iterator->any.i, iterator->any.n) <= 0 && !trace_pending(t))
    size_know(t, iterator->any.n);
  return !trace_pending(t);
}

/* An index like any other: of a range of unknown length only what is behind a loop in the graph. */
static value *roll_plain(tracer *t, const roll *r, value *iterator) {
  bool over = r && r->stage == ROLL_OVER && iterator->any.i >= PyObject_Size(iterator->object);
  if (over) return NULL;
  if (!r || r->stage != ROLL_WATCHING || !iterator->any.n) return trace_next(t, iterator);
  return roll_is_next(t, iterator) ? value_int(t, iterator->any.i++) : NULL;
}

value *roll_next(tracer *t, frame *f, value *iterator) {
  roll *r = roll_find(t, f, iterator);
  if (!r || trace_pending(t)) return trace_pending(t) ? NULL : roll_plain(t, r, iterator);
  if (r->stage == ROLL_HIDDEN)
    roll_check(t, r);
  else if (r->stage == ROLL_WATCHING)
    roll_watch(t, r);
  if (trace_pending(t)) return NULL;
  if (r->stage != ROLL_HIDDEN) return r->item = roll_plain(t, r, iterator);
  if (!roll_is_next(t, iterator)) return NULL;
  iterator->any.i++;
  return r->item = roll_item(t, r);
}
