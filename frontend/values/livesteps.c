/* The changes of a dictionary that existed before the call, step by step (livedict.c).
 *
 * A run changes the dictionary as the function did. The difference between the dictionary's content
 * before and after the call would not be enough, since iterators over it, which may exist anywhere,
 * see more: a key that was added and deleted again, clear(), popitem(). Of several items stored
 * under a key that stays, only the last one is stored. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/live.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/rolled.h"
#include "frontend/values/rolled_internal.h"
#include "frontend/values/values.h"

#define LIVE_FOLDED 8 /* steps that are repeated */

struct live_step {
  live_way way;
  value *key;             /* LIVE_UPDATE: a tuple of keys; NULL: none */
  value **items;          /* what is stored, in the end */
  value *like;            /* LIVE_UPDATE: one with the table of what is added */
  uint32_t folded, again; /* the last `folded` steps up to this one are done `again` more times */
};

/* ---- adding ---- */

static bool live_step_same(const struct live_step *a, const struct live_step *b) {
  const value *l = a->key, *r = b->key;
  bool same = l && r && value_is_const(l) && value_is_const(r) && l->object == r->object;
  return a->way == b->way && (l == r || same);
}

/* Do two rows of steps of this length, the second of them behind the first, do the same? */
static bool live_row_same(const struct live_step *row, uint32_t length) {
  for (uint32_t i = 0; i < length; i++) {
    const struct live_step *a = &row[i], *b = &row[length + i];
    bool end = i + 1 == length && a->folded == length;
    if (!live_step_same(a, b) || (!end && (a->folded != b->folded || a->again != b->again)))
      return false;
  }
  return true;
}

/* Of steps that have been done three times in a row, the second time is only counted. So a loop
 * that adds a key and deletes it in each iteration has the same steps in all of them, and can be
 * captured once. (How often its iterations have done it is not counted then. The keys and their
 * order are the same. Iterators see more only where a dict's keys are exchanged for as many others
 * while they go through it.) */
static void live_fold(live_steps *s) {
  for (uint32_t length = 1; length <= LIVE_FOLDED && 3 * length <= s->count; length++) {
    struct live_step *row = s->steps + s->count - 3 * length, *end = &row[length - 1];
    if (!live_row_same(row, length) || !live_row_same(row + length, length)) continue;
    if (end->folded && end->folded != length) continue;
    end->folded = length;
    end->again++;
    memmove(row + length, row + 2 * length, length * sizeof *row);
    s->count -= length;
    return;
  }
}

/* The places of the `count` items that it stores; NULL: failed. */
value **live_step_add(tracer *t, live_steps *s, live_way way, value *key, Py_ssize_t count) {
  t->live.changes++;
  struct live_step *steps = trace_more(t, s->steps, s->count, &s->capacity, sizeof *steps);
  value **items = steps ? trace_alloc(t, (size_t)(count + 1) * sizeof *items) : NULL;
  if (!items) return NULL;
  s->steps = steps;
  s->steps[s->count++] = (struct live_step){.way = way, .key = key, .items = items};
  live_fold(s);
  return items;
}

value **live_step_update(tracer *t, live_steps *s, value *keys, const value *other) {
  value *like = value_dict(t);
  for (Py_ssize_t i = 0; like && i < other->seq.count; i++)
    if (!seq_append(t, like, other->seq.items[i])) return NULL;
  uint32_t at = s->count;
  value **items = like && gaps_same(t, like, other)
                      ? live_step_add(t, s, LIVE_UPDATE, keys, keys->seq.count)
                      : NULL;
  if (items && at < s->count) s->steps[at].like = like;
  return items;
}

/* Of a row of keys that are moved to the end, a key that is moved again counts once. So a loop that
 * moves the same keys again and again has the same steps in each iteration. */
bool live_step_move(tracer *t, live_steps *s, value *key, bool last) {
  for (uint32_t i = s->count; last && i && s->steps[i - 1].way == LIVE_LAST; i--) {
    int equal = key_equal(t, s->steps[i - 1].key, key);
    if (equal < 0) return false;
    if (!equal) continue;
    memmove(s->steps + i - 1, s->steps + i, (s->count - i) * sizeof *s->steps);
    s->count--;
    break;
  }
  return live_step_add(t, s, last ? LIVE_LAST : LIVE_FIRST, key, 0) != NULL;
}

/* A dictionary that has been emptied has forgotten what was before. An OrderedDict has not: its
 * iterators find that keys came or went, but not that all are gone. */
bool live_step_clear(tracer *t, live_steps *s, bool ordered) {
  if (!ordered) s->count = 0;
  if (s->count && s->steps[s->count - 1].way == LIVE_CLEAR) return true;
  return live_step_add(t, s, LIVE_CLEAR, NULL, 0) != NULL;
}

bool live_step_renew(tracer *t, live_steps *s) {
  live_way last = s->count ? s->steps[s->count - 1].way : LIVE_SET;
  return last == LIVE_CLEAR || last == LIVE_RENEW || live_step_add(t, s, LIVE_RENEW, NULL, 0);
}

/* ---- done to a dictionary made here -----------------------------------------------------------
 */

static bool live_update_again(tracer *t, const struct live_step *step, value *dict) {
  value *all = value_dict(t);
  for (Py_ssize_t i = 0; all && i < step->key->seq.count; i++)
    if (!dict_put(t, all, step->key->seq.items[i], t->constants.none)) return false;
  return all && (!step->like || gaps_same(t, all, step->like)) && dict_update(t, dict, all, false);
}

static bool live_step_again(tracer *t, const struct live_step *step, value *dict) {
  switch (step->way) {
  case LIVE_SET: return dict_put(t, dict, step->key, t->constants.none);
  case LIVE_UPDATE: return live_update_again(t, step, dict);
  case LIVE_DELETE: return dict_remove(t, dict, step->key);
  case LIVE_POP: return trace_method(t, dict, "popitem", NULL, 0) != NULL;
  case LIVE_RENEW:
    if (dict->seq.count) return true; /* it renews one that is empty */
    return trace_method(t, dict, "clear", NULL, 0) != NULL;
  case LIVE_CLEAR: return trace_method(t, dict, "clear", NULL, 0) != NULL;
  default: return true; /* of an OrderedDict */
  }
}

static bool live_row_again(tracer *t, const live_steps *s, value *dict, uint32_t from,
                           uint32_t to) {
  for (uint32_t i = from; i < to; i++) {
    const struct live_step *step = &s->steps[i];
    if (!trace_charge(t, 1) || !live_step_again(t, step, dict)) return false;
    for (uint32_t n = 0; i + 1 < to && n < step->again; n++)
      if (!live_row_again(t, s, dict, i + 1 - step->folded, i + 1)) return false;
  }
  return true;
}

bool live_steps_again(tracer *t, const live_steps *s, value *dict) {
  return live_row_again(t, s, dict, 0, s->count);
}

/* ---- for the walk of a loop's state, and at the end ---- */

void live_steps_walk(roll_walk *w, const live_steps *s) {
  roll_token(w, s->count);
  for (uint32_t i = 0; i < s->count; i++) {
    roll_token(w, (uint64_t)s->steps[i].again << 8 | s->steps[i].way);
    if (s->steps[i].key) roll_exactly(w, &s->steps[i].key);
  }
}

/* What held a key that is gone again is not needed: None will do. */
static value *live_stored(tracer *t, value *item) { return item ? item : t->constants.none; }

/* dict.update() makes room for many keys at once: the table is laid out in another way. */
static void live_finish_update(tracer *t, const source *dict, const struct live_step *step) {
  value *all = value_dict(t);
  for (Py_ssize_t i = 0; all && i < step->key->seq.count; i++)
    if (!seq_append(t, all, step->key->seq.items[i]) ||
        !seq_append(t, all, live_stored(t, step->items[i])))
      return;
  if (all && (!step->like || gaps_same(t, all, step->like)))
    shadow_call_of(t, dict, "update", &all, 1);
}

static void live_finish_step(tracer *t, const source *dict, const struct live_step *step) {
  value *args[2] = {step->key, NULL};
  switch (step->way) {
  case LIVE_SET: shadow_item(t, dict, step->key, live_stored(t, step->items[0])); return;
  case LIVE_UPDATE: live_finish_update(t, dict, step); return;
  case LIVE_DELETE: shadow_item(t, dict, step->key, NULL); return;
  case LIVE_POP: shadow_call_of(t, dict, "popitem", NULL, 0); return;
  case LIVE_CLEAR: shadow_call_of(t, dict, "clear", NULL, 0); return;
  case LIVE_RENEW: shadow_renew(t, dict); return;
  case LIVE_LAST:
  case LIVE_FIRST:
    if ((args[1] = value_bool(t, step->way == LIVE_LAST)))
      shadow_call_of(t, dict, "move_to_end", args, 2);
  }
}

static void live_finish_steps(tracer *t, const live_steps *s, const source *dict, uint32_t from,
                              uint32_t to) {
  for (uint32_t i = from; i < to && !trace_pending(t); i++) {
    const struct live_step *step = &s->steps[i];
    live_finish_step(t, dict, step);
    for (uint32_t n = 0; i + 1 < to && n < step->again && !trace_pending(t); n++)
      live_finish_steps(t, s, dict, i + 1 - step->folded, i + 1);
  }
}

void live_steps_finish(tracer *t, const live_steps *s, const source *dict) {
  live_finish_steps(t, s, dict, 0, s->count);
}
