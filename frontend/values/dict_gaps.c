/* The gaps in the tables of dictionaries that are made inside.
 *
 * A key that is deleted leaves a gap in a dictionary's table. Gaps show in two ways: an iterator
 * that continues while keys are exchanged for as many others finds other keys, and the next key
 * that is added may cause the table to be laid out anew. So a dictionary's operations are recorded,
 * from the first one after which its table differs from that of a dictionary into which its pairs
 * were put one by one. When the dictionary is a result, Python's own code repeats them: with its
 * keys, and with stand-ins in place of the deleted ones. Of a key the table depends only on whether
 * it is a text. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/live.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

#define GAPS_STEPS 2000 /* more are not kept */
#define GAPS_LITERAL 17 /* pairs of one instruction */
#define GAPS_SMALLEST 8 /* slots of a table */

/* `entry`: 2 * number, + 1 of a text. */
typedef enum {
  GAPS_PUT,    /* an entry */
  GAPS_DELETE, /* an entry */
  GAPS_POP,    /* popitem() */
  GAPS_MADE,   /* of as many entries, which follow, by one instruction */
  GAPS_OTHER,  /* another dictionary: the steps up to GAPS_MERGE or GAPS_KEYS */
  GAPS_MERGE,  /* which adds it, */
  GAPS_KEYS,   /* or takes dict.fromkeys() of it in its place */
  GAPS_COPY,   /* goes on with a copy() */
  GAPS_LIVE    /* a copy of `live`, whose keys are the first entries */
} gaps_way;

typedef struct gaps_step {
  int32_t way, entry;
} gaps_step;

struct dict_gaps {
  gaps_step *steps;
  uint32_t count, capacity;
  int32_t *entries; /* of each pair */
  uint32_t pairs, pair_capacity;
  int32_t numbers; /* of entries */
  value *live;     /* one that existed before the call; or NULL */
  bool merging;    /* steps of what is put are not kept */
  bool fresh;      /* nothing but what is merged calls for it */
};

static struct dict_gaps *gaps_of(const tracer *t, const value *dict) {
  return pointer_map_get(&t->known.gaps, dict);
}

static void gaps_forget(tracer *t, const value *dict) {
  if (gaps_of(t, dict)) trace_map_set(t, &t->known.gaps, dict, NULL);
}

static bool gaps_step_add(tracer *t, struct dict_gaps *g, gaps_way way, int32_t entry) {
  gaps_step *steps = trace_more(t, g->steps, g->count, &g->capacity, sizeof *steps);
  if (!steps) return false;
  g->steps = steps;
  steps[g->count++] = (gaps_step){way, entry};
  return true;
}

static bool gaps_is_text(const value *key) {
  return value_is_const(key) && PyUnicode_CheckExact(key->object);
}

static int32_t gaps_entry(struct dict_gaps *g, bool text) { return 2 * g->numbers++ + text; }

static bool gaps_puts(tracer *t, struct dict_gaps *g, const int32_t *entries, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (!gaps_step_add(t, g, GAPS_PUT, entries[i])) return false;
  return true;
}

/* The next pair has a new entry. */
static bool gaps_pair(tracer *t, struct dict_gaps *g, const value *key) {
  int32_t *entries = trace_more(t, g->entries, g->pairs, &g->pair_capacity, sizeof *entries);
  if (!entries) return false;
  g->entries = entries;
  entries[g->pairs++] = gaps_entry(g, gaps_is_text(key));
  return g->merging || gaps_step_add(t, g, GAPS_PUT, entries[g->pairs - 1]);
}

/* Begins the record of a dictionary whose pairs so far were put one by one. */
static struct dict_gaps *gaps_begin(tracer *t, value *dict) {
  struct dict_gaps *g = gaps_of(t, dict);
  if (g) return g;
  if (dict_live(dict) || !(g = trace_alloc(t, sizeof *g))) return NULL;
  for (Py_ssize_t i = 0; i < dict->seq.count; i += 2)
    if (!gaps_pair(t, g, dict->seq.items[i])) return NULL;
  return trace_map_set(t, &t->known.gaps, dict, g) ? g : NULL;
}

/* Too much has been done to it, or it was changed in another way. */
static bool gaps_lost(tracer *t, const value *dict, const struct dict_gaps *g) {
  bool lost = g->count > GAPS_STEPS || g->pairs != (size_t)dict->seq.count / 2;
  if (lost) gaps_forget(t, dict);
  return lost;
}

/* ---- what is done to a dictionary ------------------------------------------------------------ */

bool gaps_put(tracer *t, value *dict) {
  struct dict_gaps *g = gaps_of(t, dict);
  return !g ||
         (gaps_pair(t, g, dict->seq.items[dict->seq.count - 2]) && (gaps_lost(t, dict, g), true));
}

bool gaps_remove(tracer *t, value *dict, Py_ssize_t i, bool last) {
  struct dict_gaps *g = gaps_begin(t, dict);
  if (!g || gaps_lost(t, dict, g)) return g != NULL;
  uint32_t at = (uint32_t)i / 2;
  int32_t entry = g->entries[at];
  memmove(g->entries + at, g->entries + at + 1, (g->pairs - at - 1) * sizeof *g->entries);
  g->pairs--;
  return gaps_step_add(t, g, last ? GAPS_POP : GAPS_DELETE, entry);
}

void gaps_clear(tracer *t, value *dict) { gaps_forget(t, dict); }

/* A loop whose iterations leave gaps is not captured once. */
uint32_t gaps_count(const tracer *t, const value *dict) {
  const struct dict_gaps *g = gaps_of(t, dict);
  return g ? g->count : 0;
}

/* Slots of a table in which so many keys were put. */
static Py_ssize_t gaps_slots(Py_ssize_t keys) {
  Py_ssize_t slots = GAPS_SMALLEST;
  while (2 * slots / 3 < keys)
    slots *= 2;
  return slots;
}

bool gaps_made(tracer *t, value *dict, value *const *keys, Py_ssize_t stride, Py_ssize_t count) {
  bool texts = count && gaps_is_text(keys[0]), mixed = false;
  for (Py_ssize_t i = 0; i < count; i++)
    mixed |= texts && !gaps_is_text(keys[i * stride]);
  if (count > GAPS_LITERAL || (!mixed && gaps_slots(count) == gaps_slots(dict->seq.count / 2)))
    return true;
  struct dict_gaps *g = gaps_begin(t, dict);
  if (!g) return false;
  g->count = 0;
  if (!gaps_step_add(t, g, GAPS_MADE, (int32_t)count)) return false;
  for (Py_ssize_t i = 0; i < count; i++) {
    Py_ssize_t at = 0;
    int equal = 0;
    while (at < dict->seq.count && !(equal = key_equal(t, dict->seq.items[at], keys[i * stride])))
      at += 2;
    if (equal != 1 || !gaps_step_add(t, g, GAPS_PUT, g->entries[at / 2])) return false;
  }
  return true;
}

bool gaps_same(tracer *t, value *copy, const value *of) {
  struct dict_gaps *from = gaps_of(t, of), *g;
  if (!from || gaps_lost(t, of, from)) return true;
  if (!(g = trace_alloc(t, sizeof *g))) return false;
  *g = (struct dict_gaps){.numbers = from->numbers, .live = from->live};
  for (uint32_t i = 0; i < from->count; i++)
    if (!gaps_step_add(t, g, from->steps[i].way, from->steps[i].entry)) return false;
  g->pairs = g->pair_capacity = from->pairs;
  if (!(g->entries = trace_alloc(t, (from->pairs + 1) * sizeof *g->entries))) return false;
  memcpy(g->entries, from->entries, from->pairs * sizeof *g->entries);
  return trace_map_set(t, &t->known.gaps, copy, g);
}

bool gaps_copy(tracer *t, value *copy, const value *of) {
  if (!gaps_same(t, copy, of)) return false;
  struct dict_gaps *g = gaps_of(t, copy);
  return !g || gaps_step_add(t, g, GAPS_COPY, 0);
}

bool gaps_live(tracer *t, value *dict, value *live) {
  struct dict_gaps *g = gaps_begin(t, dict);
  if (!g) return false;
  g->count = 0;
  g->live = live;
  return gaps_step_add(t, g, GAPS_LIVE, (int32_t)g->pairs) && gaps_puts(t, g, g->entries, g->pairs);
}

/* ---- one is added to another ----------------------------------------------------------------- */

/* A key that is no text has the table of texts laid out anew. */
static bool gaps_mixed(const value *dict, const value *other) {
  bool kinds[2] = {false, false};
  for (Py_ssize_t i = 0; i < dict->seq.count; i += 2)
    kinds[gaps_is_text(dict->seq.items[i])] = true;
  for (Py_ssize_t i = 0; i < other->seq.count; i += 2)
    kinds[gaps_is_text(other->seq.items[i])] = true;
  return kinds[0] && kinds[1];
}

bool gaps_merging(tracer *t, value *dict, value *other) {
  struct dict_gaps *g = gaps_of(t, dict), *from = gaps_of(t, other);
  Py_ssize_t l = dict->seq.count, r = other->seq.count;
  if (dict_live(dict) || !r || dict == other) return true;
  bool fresh = !g && !from && !gaps_mixed(dict, other);
  if (fresh && !l) return true;
  if (!(g = gaps_begin(t, dict))) return false;
  g->merging = true;
  g->fresh = fresh;
  return true;
}

/* The steps of `from` with these entries for those of its pairs, and others for keys that are gone.
 */
static bool gaps_embed(tracer *t, struct dict_gaps *g, const struct dict_gaps *from,
                       const int32_t *entries) {
  int32_t *as = trace_alloc(t, ((size_t)from->numbers + 1) * sizeof *as);
  if (!as) return false;
  if (from->live) g->live = from->live;
  for (int32_t i = 0; i < from->numbers; i++)
    as[i] = -1;
  for (uint32_t i = 0; i < from->pairs; i++)
    as[from->entries[i] / 2] = entries[i];
  for (uint32_t i = 0; i < from->count; i++) {
    gaps_step step = from->steps[i];
    bool entry = step.way == GAPS_PUT || step.way == GAPS_DELETE;
    if (entry && as[step.entry / 2] < 0) as[step.entry / 2] = gaps_entry(g, step.entry & 1);
    if (!gaps_step_add(t, g, step.way, entry ? as[step.entry / 2] : step.entry)) return false;
  }
  return true;
}

/* The other one has these entries for its keys. */
static bool gaps_other(tracer *t, struct dict_gaps *g, const value *other, const int32_t *entries,
                       bool empty) {
  const struct dict_gaps *from = gaps_of(t, other);
  if (!gaps_step_add(t, g, GAPS_OTHER, 0)) return false;
  bool one = from && (!g->live || g->live == from->live);
  bool matters = from && (!from->live || (empty && one)); /* where there are keys, it does not */
  if (matters && !gaps_lost(t, other, from)) return gaps_embed(t, g, from, entries);
  return gaps_puts(t, g, entries, (uint32_t)other->seq.count / 2);
}

/* `places`: where in the dictionary the keys of the other one are now. */
static bool gaps_merge(tracer *t, struct dict_gaps *g, const value *other, const Py_ssize_t *places,
                       bool empty) {
  Py_ssize_t count = other->seq.count / 2;
  int32_t *entries = trace_alloc(t, ((size_t)count + 1) * sizeof *entries);
  for (Py_ssize_t i = 0; entries && i < count; i++)
    entries[i] = g->entries[places[i] / 2];
  return entries && gaps_other(t, g, other, entries, empty) && gaps_step_add(t, g, GAPS_MERGE, 0);
}

/* A set's keys: dict.fromkeys() does not ask whether they are texts. */
static bool gaps_keys_of_set(tracer *t, struct dict_gaps *g) {
  int32_t gone = gaps_entry(g, false);
  return gaps_step_add(t, g, GAPS_OTHER, 0) && gaps_step_add(t, g, GAPS_PUT, gone) &&
         gaps_puts(t, g, g->entries, g->pairs) && gaps_step_add(t, g, GAPS_DELETE, gone);
}

bool gaps_keys(tracer *t, value *dict, value *of) {
  if (!value_is_dict(of) && !value_is_any_set(of)) return true;
  struct dict_gaps *g = gaps_begin(t, dict);
  if (value_is_dict(of) && !(of = dict_again(t, of))) return false;
  if (!g || (value_is_dict(of) && of->seq.count != dict->seq.count)) return g != NULL;
  g->count = 0;
  bool good = value_is_dict(of) ? gaps_other(t, g, of, g->entries, true) : gaps_keys_of_set(t, g);
  return good && gaps_step_add(t, g, GAPS_KEYS, 0) && gaps_puts(t, g, g->entries, g->pairs);
}

bool gaps_merged(tracer *t, value *dict, value *other, const Py_ssize_t *places,
                 Py_ssize_t before) {
  struct dict_gaps *g = gaps_of(t, dict);
  if (!g || !g->merging) return true;
  g->merging = false;
  bool apart = dict->seq.count == before + other->seq.count;
  if ((g->fresh && apart) || gaps_lost(t, dict, g)) return gaps_forget(t, dict), true;
  return gaps_merge(t, g, other, places, !before) && (gaps_lost(t, dict, g), true);
}

bool gaps_is_merging(const tracer *t, const value *dict) {
  const struct dict_gaps *g = gaps_of(t, dict);
  return g && g->merging;
}

/* ---- as a result ----------------------------------------------------------------------------- */

typedef struct gaps_run {
  const gaps_step *step, *end;
  const int32_t *places; /* of an entry's number: its pair, or -1 */
  PyObject *live, *const *pairs;
  PyObject **keys; /* of entries (owned) */
} gaps_run;

/* New references. */
static PyObject *gaps_key(const gaps_run *run, int32_t entry) {
  PyObject **key = &run->keys[entry / 2];
  int32_t place = run->places[entry / 2];
  if (*key) return Py_NewRef(*key);
  *key = place >= 0  ? Py_NewRef(run->pairs[2 * place])
         : entry & 1 ? PyUnicode_FromFormat("frameloom: gap %d", entry / 2)
                     : PyObject_CallNoArgs((PyObject *)&PyBaseObject_Type);
  return Py_XNewRef(*key);
}

static PyObject *gaps_item(const gaps_run *run, int32_t entry) {
  int32_t place = run->places[entry / 2];
  return place >= 0 ? run->pairs[2 * place + 1] : Py_None;
}

/* A function of so many keys and items that makes a dictionary of them in one instruction. */
static PyObject *gaps_maker(int32_t count) {
  static PyObject *makers[GAPS_LITERAL + 1];
  char text[32 * GAPS_LITERAL + 32], *at = text;
  if (makers[count]) return makers[count];
  at += sprintf(at, "lambda ");
  for (int32_t i = 0; i < count; i++)
    at += sprintf(at, "k%d, v%d%s", (int)i, (int)i, i + 1 < count ? ", " : ": {");
  for (int32_t i = 0; i < count; i++)
    at += sprintf(at, "k%d: v%d%s", (int)i, (int)i, i + 1 < count ? ", " : "}");
  PyObject *globals = PyDict_New();
  if (globals) makers[count] = PyRun_String(text, Py_eval_input, globals, globals);
  Py_XDECREF(globals);
  return makers[count];
}

static PyObject *gaps_run_made(gaps_run *run, int32_t count) {
  PyObject *args[2 * GAPS_LITERAL], *maker = gaps_maker(count), *made = NULL;
  int32_t have = 0;
  for (; maker && have < count; have++, run->step++) {
    if (!(args[2 * have] = gaps_key(run, run->step->entry))) break;
    args[2 * have + 1] = gaps_item(run, run->step->entry);
  }
  if (maker && have == count) made = PyObject_Vectorcall(maker, args, 2 * (size_t)count, NULL);
  while (have-- > 0)
    Py_DECREF(args[2 * have]);
  return made;
}

/* The live dictionary as it was before the call: itself, if it is only read next, else a copy. */
static PyObject *gaps_run_live(gaps_run *run, int32_t count) {
  PyObject *key, *item;
  Py_ssize_t pos = 0;
  for (int32_t i = 0; i < count && PyDict_Next(run->live, &pos, &key, &item); i++)
    Py_XSETREF(run->keys[run->step[i].entry / 2], Py_NewRef(key));
  run->step += count;
  bool read = run->step < run->end && run->step->way >= GAPS_MERGE;
  return read ? Py_NewRef(run->live) : PyDict_Copy(run->live);
}

static bool gaps_run_key(const gaps_run *run, PyObject *dict, const gaps_step *step) {
  PyObject *key = gaps_key(run, step->entry);
  bool good =
      key && (step->way == GAPS_PUT ? PyDict_SetItem(dict, key, gaps_item(run, step->entry)) == 0
                                    : PyDict_DelItem(dict, key) == 0);
  Py_XDECREF(key);
  return good;
}

static bool gaps_run_pop(PyObject *dict) {
  PyObject *pair = PyObject_CallMethod((PyObject *)&PyDict_Type, "popitem", "O", dict);
  Py_XDECREF(pair);
  return pair != NULL;
}

/* Does the steps up to a GAPS_MERGE. Takes over the reference to `dict`. */
static PyObject *gaps_run_steps(gaps_run *run, PyObject *dict) {
  bool good = dict != NULL;
  while (good && run->step < run->end) {
    const gaps_step *step = run->step++;
    PyObject *other;
    switch ((gaps_way)step->way) {
    case GAPS_PUT:
    case GAPS_DELETE: good = gaps_run_key(run, dict, step); break;
    case GAPS_POP: good = gaps_run_pop(dict); break;
    case GAPS_MADE:
      Py_SETREF(dict, gaps_run_made(run, step->entry));
      good = dict != NULL;
      break;
    case GAPS_OTHER:
      other = gaps_run_steps(run, PyDict_New());
      if (run->step[-1].way == GAPS_KEYS && other)
        Py_SETREF(dict, PyObject_CallMethod((PyObject *)&PyDict_Type, "fromkeys", "O", other));
      good = other && dict && (run->step[-1].way == GAPS_KEYS || PyDict_Update(dict, other) == 0);
      Py_XDECREF(other);
      break;
    case GAPS_MERGE:
    case GAPS_KEYS: return dict;
    case GAPS_COPY:
    case GAPS_LIVE:
      Py_SETREF(dict, step->way == GAPS_COPY ? PyDict_Copy(dict) : gaps_run_live(run, step->entry));
      good = dict != NULL;
      break;
    }
  }
  if (!good) Py_CLEAR(dict);
  return dict;
}

/* Its keys hold something else now than those of one that existed before. */
static int gaps_run_items(const gaps_run *run, PyObject *dict, Py_ssize_t count) {
  int failed = 0;
  for (Py_ssize_t i = 0; !failed && i < count; i += 2)
    failed = PyDict_SetItem(dict, run->pairs[i], run->pairs[i + 1]);
  return failed;
}

/* Are these its pairs, in this order? */
static bool gaps_run_right(const gaps_run *run, PyObject *dict, Py_ssize_t count) {
  PyObject *key, *item;
  Py_ssize_t i = 0;
  bool right = 2 * PyDict_GET_SIZE(dict) == count;
  for (Py_ssize_t pos = 0; right && PyDict_Next(dict, &pos, &key, &item); i += 2)
    right = item == run->pairs[i + 1] && PyObject_RichCompareBool(key, run->pairs[i], Py_EQ) == 1;
  return right;
}

/* `args`: steps, places of entries, a dictionary that existed before, key, item, key, item, ...
 * Takes over the reference to `dict`. */
static PyObject *gaps_do(PyObject *dict, PyObject *const *args, Py_ssize_t count) {
  Py_ssize_t steps = PyBytes_GET_SIZE(args[0]) / (Py_ssize_t)sizeof(gaps_step);
  Py_ssize_t entries = PyBytes_GET_SIZE(args[1]) / (Py_ssize_t)sizeof(int32_t);
  const gaps_step *first = (const gaps_step *)(const void *)PyBytes_AS_STRING(args[0]);
  gaps_run run = {.step = first,
                  .end = first + steps,
                  .places = (const int32_t *)(const void *)PyBytes_AS_STRING(args[1]),
                  .live = args[2],
                  .pairs = args + 3,
                  .keys = calloc((size_t)entries + 1, sizeof *run.keys)};
  if (!run.keys) Py_CLEAR(dict);
  dict = gaps_run_steps(&run, dict);
  if (dict && args[2] != Py_None && gaps_run_items(&run, dict, count - 3)) Py_CLEAR(dict);
  if (dict && !gaps_run_right(&run, dict, count - 3)) {
    PyDict_Clear(dict);
    if (PyErr_Occurred() || gaps_run_items(&run, dict, count - 3)) Py_CLEAR(dict);
  }
  for (Py_ssize_t i = 0; run.keys && i < entries; i++)
    Py_XDECREF(run.keys[i]);
  if (!run.keys) PyErr_NoMemory();
  free(run.keys);
  return dict;
}

static PyObject *gaps_again(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  return gaps_do(PyDict_New(), args, count);
}

/* Do all steps change the dictionary itself? */
static bool gaps_stays(PyObject *steps) {
  const gaps_step *step = (const gaps_step *)(const void *)PyBytes_AS_STRING(steps);
  Py_ssize_t count = PyBytes_GET_SIZE(steps) / (Py_ssize_t)sizeof *step;
  int depth = 0;
  for (const gaps_step *end = step + count; step < end; step++) {
    bool other = step->way == GAPS_MADE || step->way == GAPS_KEYS || step->way == GAPS_COPY ||
                 step->way == GAPS_LIVE;
    depth += (step->way == GAPS_OTHER) - (step->way == GAPS_MERGE || step->way == GAPS_KEYS);
    if (!depth && other) return false;
  }
  return true;
}

int gaps_fill(PyObject *into, PyObject *arguments) {
  PyObject *const *args = &PyTuple_GET_ITEM(arguments, 0);
  PyObject *made = gaps_do(gaps_stays(args[0]) ? Py_NewRef(into) : PyDict_New(), args,
                           PyTuple_GET_SIZE(arguments));
  int failed = !made ? -1 : made == into ? 0 : PyDict_Update(into, made);
  Py_XDECREF(made);
  return failed;
}

static PyObject *gaps_filled(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  PyObject *made = PyObject_Vectorcall(args[0], args + 1, (size_t)count - 2, NULL);
  if (made && gaps_fill(made, args[count - 1])) Py_CLEAR(made);
  return made;
}

static value *gaps_bytes(tracer *t, const void *data, size_t size) {
  PyObject *bytes = PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
  return bytes && trace_keep(t, bytes) ? value_const(t, bytes) : NULL;
}

value *gaps_arguments(tracer *t, value *dict) {
  const struct dict_gaps *g = gaps_of(t, dict);
  if (!g || gaps_lost(t, dict, g)) return NULL;
  int32_t *places = trace_alloc(t, ((size_t)g->numbers + 1) * sizeof *places);
  for (int32_t i = 0; places && i < g->numbers; i++)
    places[i] = -1;
  for (uint32_t i = 0; places && i < g->pairs; i++)
    places[g->entries[i] / 2] = (int32_t)i;
  value *first[3] = {gaps_bytes(t, g->steps, g->count * sizeof *g->steps),
                     gaps_bytes(t, places, (size_t)g->numbers * sizeof *places),
                     g->live ? g->live : t->constants.none};
  value *all = places && first[0] && first[1] ? value_tuple(t, first, 3) : NULL;
  for (Py_ssize_t i = 0; all && i < dict->seq.count; i++)
    if (!seq_append(t, all, dict->seq.items[i])) return NULL;
  return all ? all : trace_fail(t);
}

recipe *gaps_rebuild(tracer *t, value *dict) {
  static PyMethodDef method = {"dictionary", (PyCFunction)(void (*)(void))gaps_again, METH_FASTCALL,
                               NULL};
  value *args = gaps_arguments(t, dict);
  if (!args) return NULL;
  return trace_rebuild_call(t, PyCFunction_New(&method, NULL), args->seq.items, args->seq.count);
}

recipe *gaps_rebuild_filled(tracer *t, PyObject *type, value *const *args, Py_ssize_t count) {
  static PyMethodDef method = {"filled", (PyCFunction)(void (*)(void))gaps_filled, METH_FASTCALL,
                               NULL};
  value *last = type != (PyObject *)&PyODict_Type && count ? args[count - 1] : NULL;
  if (!last || !value_is_dict(last) || last->source || !gaps_begin(t, last)) return NULL;
  last = gaps_arguments(t, last);
  const source *s = last ? trace_source(t, SOURCE_CONST, NULL, type, NULL, 0) : NULL;
  value *cls = s ? value_wrap(t, type, s) : NULL;
  value *all = cls ? value_list(t, &cls, 1) : NULL;
  for (Py_ssize_t i = 0; all && i < count; i++)
    if (!seq_append(t, all, i + 1 < count ? args[i] : last)) return NULL;
  if (!all) return NULL;
  return trace_rebuild_call(t, PyCFunction_New(&method, NULL), all->seq.items, all->seq.count);
}
