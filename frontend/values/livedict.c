/* Dictionaries that existed before the call: exact ones, what classes over dict hold, and what
 * vars() gives.
 *
 * They are read key by key, and each key has a guard of its own: present with a certain value, or
 * absent. So when a dictionary gets other keys, the guards on present keys still hold. The length
 * is guarded when the code asks for it, and all keys in their order when the code iterates over
 * them. Slots in front of the dictionary hold what was stored or deleted: the dictionary's present
 * content. The changes that a run makes to the dictionary are steps (livesteps.c).
 *
 * The dictionary of an object's attributes has no slots: what lies in front of it is the overlay
 * through which the attributes are read, too. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/live.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/rolled.h"
#include "frontend/values/rolled_internal.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

#define LIVE_FEW 5 /* keys for which the table of a dict that is not empty is large enough */

typedef struct live_slot {
  value *key, *item; /* item NULL: deleted, and there before the call */
  value **stored;    /* where the last step that stores an item has it; NULL: none does */
  bool moved;        /* was deleted before, or moved to an end: comes last */
} live_slot;

struct live_dict {
  value *owner; /* the object whose attributes it holds, or NULL */
  live_slot *slots;
  uint32_t count, capacity;
  live_steps steps;
  bool cleared;  /* nothing of what it held before the call is left */
  value *before; /* tuple of the keys before the call, once these were asked for */
  live_dict *next;
  live_dict *same; /* another one for the same dictionary */
  value *v;
};

live_dict *dict_live(const value *v) {
  return value_is_dict(v) ? (live_dict *)(intptr_t)v->any.n : NULL;
}

value *dict_owner(const value *v) {
  const live_dict *d = dict_live(v);
  return d ? d->owner : NULL;
}

value *live_new(tracer *t, PyObject *object, const source *s, value *owner) {
  value *v = value_dict(t);
  live_dict *d = v ? trace_alloc(t, sizeof *d) : NULL;
  if (!d) return NULL;
  if (overlay_of(t, object, false))
    return trace_break(t, BREAK_SIDE_EFFECT, "a dictionary of variables that were assigned");
  v->any.n = (Py_ssize_t)(intptr_t)d;
  v->source = s;
  v->object = trace_keep(t, Py_NewRef(object));
  *d = (live_dict){.owner = owner, .v = v, .next = t->live.dicts};
  d->same = owner ? NULL : pointer_map_get(&t->live.dicts_of, object);
  if (!owner && !trace_map_set(t, &t->live.dicts_of, object, d)) return NULL;
  t->live.dicts = d;
  return v->object ? v : NULL;
}

bool live_is_read(const tracer *t, const PyObject *dict, bool changed) {
  for (const live_dict *d = pointer_map_get(&t->live.dicts_of, dict); d; d = d->same)
    if (d->steps.count || !changed) return true;
  return false;
}

bool live_holds_attributes(const tracer *t, PyObject *object, bool changed) {
  if (!t->live.dicts_of.count) return false;
  if (PyModule_Check(object)) return live_is_read(t, PyModule_GetDict(object), changed);
  if (PyType_Check(object)) return false;
  PyObject **dict = _PyObject_GetDictPtr(object);
  return dict && *dict && live_is_read(t, *dict, changed);
}

/* ---- attributes of an object ---- */

/* The attribute that a key names; NULL after a break. */
static PyObject *owner_name(tracer *t, value *owner, value *key) {
  PyObject *name = value_str_object(key);
  PyObject *descr = name ? _PyType_Lookup((PyTypeObject *)object_class(owner), name) : NULL;
  if (name && !(descr && Py_IS_TYPE(descr, &PyMemberDescr_Type))) return name;
  return trace_break(t, BREAK_SIDE_EFFECT, "an item of __dict__ that is no plain attribute");
}

static int owner_find(tracer *t, const live_dict *d, value *key, value **item_out) {
  PyObject *name = owner_name(t, d->owner, key);
  if (!name) return -1;
  *item_out = object_own_attr(t, d->owner, name);
  return *item_out ? 1 : trace_pending(t) ? -1 : 0;
}

static bool owner_put(tracer *t, const live_dict *d, value *key, value *item) {
  PyObject *name = owner_name(t, d->owner, key);
  return name && object_own_put(t, d->owner, name, item);
}

/* ---- one key ---- */

static bool live_is_nan(PyObject *o) {
  if (PyTuple_CheckExact(o)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); i++)
      if (live_is_nan(PyTuple_GET_ITEM(o, i))) return true;
    return false;
  }
  if (PyFloat_Check(o)) return PyFloat_AS_DOUBLE(o) != PyFloat_AS_DOUBLE(o);
  if (!PyComplex_Check(o)) return false;
  Py_complex c = PyComplex_AsCComplex(o);
  return c.real != c.real || c.imag != c.imag;
}

/* The object with which the dictionary itself can be asked: borrowed. NULL with nothing pending:
 * the key has to be compared with all others. */
static PyObject *live_key(tracer *t, value *key) {
  PyObject *k = key_known(t, key);
  if (!k || !trace_keep(t, k) || live_is_nan(k)) return NULL;
  return k;
}

static live_slot *live_slot_of(tracer *t, const live_dict *d, value *key) {
  if (!trace_charge(t, d->count)) return NULL;
  for (uint32_t i = 0; i < d->count; i++) {
    int equal = key_equal(t, d->slots[i].key, key);
    if (equal) return equal > 0 ? &d->slots[i] : NULL;
  }
  return NULL;
}

/* Was the key there before the call? With `item_out`, what it held; without, nothing else is
 * guarded. */
static int live_before_of(tracer *t, const live_dict *d, PyObject *k, value **item_out) {
  Py_hash_t hash = key_hash(t, k);
  const source *at = hash == -1 ? NULL : trace_source(t, SOURCE_ITEM, d->v->source, NULL, k, hash);
  if (hash == -1 && !trace_pending(t)) trace_raise_live(t);
  if (!at) return -1;
  PyObject *item = _PyDict_GetItem_KnownHash(d->v->object, k, hash);
  error_drop();
  if (!item || !item_out)
    guard_simple(t, item ? GUARD_PRESENT : GUARD_MISSING, at, NULL, 0);
  else if (!(*item_out = value_wrap(t, item, at)))
    return -1;
  return item != NULL;
}

/* May the dictionary let go of what it held under the key before the call? */
static bool live_gives_up(tracer *t, const live_dict *d, value *key, const value *item) {
  PyObject *k = key_known(t, key);
  if (!k || !trace_keep(t, k)) return !trace_pending(t);
  Py_hash_t hash = key_hash(t, k);
  PyObject *before = hash == -1 ? NULL : _PyDict_GetItem_KnownHash(d->v->object, k, hash);
  error_drop();
  return trace_pending(t) ? false : trace_gives_up_item(t, before, item);
}

/* The keys that the dictionary had before the call, guarded. */
static value *live_keys_before(tracer *t, live_dict *d);

static int live_search(tracer *t, live_dict *d, value *key, value **item_out) {
  value *keys = live_keys_before(t, d);
  for (Py_ssize_t i = 0; keys && i < keys->seq.count; i++) {
    int equal = key_equal(t, keys->seq.items[i], key);
    if (equal < 0) return -1;
    if (equal) return live_before_of(t, d, keys->seq.items[i]->object, item_out);
  }
  return keys ? 0 : -1;
}

static int live_before(tracer *t, live_dict *d, value *key, value **item_out) {
  if (d->cleared) return 0;
  PyObject *k = live_key(t, key);
  if (trace_pending(t)) return -1;
  return k ? live_before_of(t, d, k, item_out) : live_search(t, d, key, item_out);
}

int live_find(tracer *t, live_dict *d, value *key, value **item_out) {
  if (!key_check(t, key)) return -1;
  value *item;
  if (d->owner) return owner_find(t, d, key, item_out ? item_out : &item);
  const live_slot *slot = live_slot_of(t, d, key);
  if (trace_pending(t)) return -1;
  if (!slot) return live_before(t, d, key, item_out);
  if (item_out) *item_out = slot->item;
  return slot->item != NULL;
}

static bool live_add(tracer *t, live_dict *d, live_slot slot) {
  live_slot *slots = trace_more(t, d->slots, d->count, &d->capacity, sizeof *slots);
  if (!slots) return false;
  d->slots = slots;
  d->slots[d->count++] = slot;
  return true;
}

static void live_drop(live_dict *d, live_slot *slot) {
  memmove(slot, slot + 1, (size_t)(d->slots + d->count - slot - 1) * sizeof *slot);
  d->count--;
}

/* ---- changes ---- */

/* `stored`: where the step that puts it has the item. NULL: a step of its own does, where no
 * earlier one can. */
static bool live_put_by(tracer *t, live_dict *d, value *key, value *item, value **stored) {
  live_slot *slot = live_slot_of(t, d, key);
  t->live.changes++;
  if (trace_pending(t)) return false;
  bool there = slot && slot->item, moved = slot && !slot->item;
  if (!slot && !live_gives_up(t, d, key, item)) return false;
  if (!stored && !(there && slot->stored) &&
      !(stored = live_step_add(t, &d->steps, LIVE_SET, key, 1)))
    return false;
  if (there) {
    slot->item = item;
    if (stored) slot->stored = stored;
    return true;
  }
  if (slot) live_drop(d, slot);
  return live_add(t, d, (live_slot){.key = key, .item = item, .stored = stored, .moved = moved});
}

bool live_put(tracer *t, live_dict *d, value *key, value *item) {
  if (!key_check(t, key)) return false;
  return d->owner ? owner_put(t, d, key, item) : live_put_by(t, d, key, item, NULL);
}

/* An empty dict becomes like the other one, whatever was in it: its keys take the first places. */
static bool live_renew(tracer *t, live_dict *d) {
  for (uint32_t i = 0; i < d->count; i++)
    if (d->slots[i].item) return true;
  return live_step_renew(t, &d->steps);
}

bool live_update(tracer *t, live_dict *d, value *other) {
  value *const *pairs = other->seq.items;
  Py_ssize_t count = other->seq.count / 2;
  bool few = count <= LIVE_FEW && !gaps_count(t, other);
  value *keys = value_tuple(t, NULL, 0), **items = NULL;
  for (Py_ssize_t i = 0; keys && i < count; i++)
    if (!key_check(t, pairs[2 * i]) || !seq_append(t, keys, pairs[2 * i])) return false;
  if (few ? !live_renew(t, d) : !(items = live_step_update(t, &d->steps, keys, other)))
    return false;
  for (Py_ssize_t i = 0; i < count; i++)
    if (!live_put_by(t, d, pairs[2 * i], pairs[2 * i + 1], items ? &items[i] : NULL)) return false;
  return true;
}

static bool live_remove_by(tracer *t, live_dict *d, value *key, live_way way) {
  int found = live_find(t, d, key, NULL);
  if (found == 0) trace_raise_key(t, key);
  if (found != 1) return false;
  if (d->owner) return owner_put(t, d, key, NULL);
  int existed = live_before(t, d, key, NULL);
  live_slot *slot = existed < 0 ? NULL : live_slot_of(t, d, key);
  if (trace_pending(t)) return false;
  if (!slot && !live_gives_up(t, d, key, NULL)) return false;
  if (!slot && !live_add(t, d, (live_slot){.key = key})) return false;
  if (slot && existed)
    *slot = (live_slot){.key = slot->key};
  else if (slot)
    live_drop(d, slot);
  return live_step_add(t, &d->steps, way, key, 0) != NULL;
}

bool live_remove(tracer *t, live_dict *d, value *key) {
  return live_remove_by(t, d, key, LIVE_DELETE);
}

bool live_pop(tracer *t, live_dict *d, value *key) {
  return live_remove_by(t, d, key, PyODict_Check(d->v->object) ? LIVE_DELETE : LIVE_POP);
}

/* Puts a key behind all others. */
static bool live_put_last(tracer *t, live_dict *d, value *key) {
  value *item;
  int existed = live_before(t, d, key, NULL);
  int found = existed < 0 ? -1 : live_find(t, d, key, &item);
  live_slot *slot = found == 1 ? live_slot_of(t, d, key) : NULL;
  if (found != 1 || trace_pending(t)) return false;
  live_slot moved = {.key = slot ? slot->key : key, .item = item, .moved = existed};
  if (slot) moved.stored = slot->stored;
  if (slot) live_drop(d, slot);
  return live_add(t, d, moved);
}

bool live_move(tracer *t, live_dict *d, value *key, bool last) {
  value *keys = last ? NULL : live_keys(t, d);
  if ((!last && !keys) || !live_put_last(t, d, key)) return false;
  for (Py_ssize_t i = 0; keys && i < keys->seq.count; i++) {
    int equal = key_equal(t, keys->seq.items[i], key);
    if (equal < 0 || (!equal && !live_put_last(t, d, keys->seq.items[i]))) return false;
  }
  return live_step_move(t, &d->steps, key, last);
}

bool live_clear(tracer *t, live_dict *d) {
  value *keys = live_keys(t, d);
  for (Py_ssize_t i = 0; keys && i < keys->seq.count; i++) {
    value *key = keys->seq.items[i];
    if (d->owner ? !live_remove(t, d, key)
                 : !live_slot_of(t, d, key) && !live_gives_up(t, d, key, NULL))
      return false;
  }
  if (!keys || trace_pending(t) || d->owner) return keys && !trace_pending(t);
  d->count = 0;
  d->cleared = true;
  return live_step_clear(t, &d->steps, PyODict_Check(d->v->object));
}

/* ---- as a whole ---- */

/* A key that stands for itself: compared with by value, or the very object. */
static value *live_key_value(tracer *t, PyObject *key) {
  if (object_is_scalar(key)) return value_const(t, key);
  bool plain = PyTuple_CheckExact(key) && object_is_plain(key);
  bool itself = PyType_Check(key) || PyFunction_Check(key) || PyModule_Check(key) ||
                PyCFunction_Check(key) || object_is_immutable(key) ||
                object_is_enum_member(t, key) || scalar_base(Py_TYPE(key));
  if (!plain && !itself)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a dictionary with keys that are not plain");
  if (plain) return value_const(t, key);
  const source *s = trace_source(t, SOURCE_CONST, NULL, key, NULL, 0);
  return s ? value_wrap(t, key, s) : NULL;
}

static PyObject *live_keys_tuple(PyObject *dict) {
  PyObject *iterator = PyODict_Check(dict) ? PyODict_Type.tp_iter(dict) : NULL;
  PyObject *keys = iterator ? PySequence_List(iterator) : PyDict_Keys(dict);
  PyObject *tuple = keys ? PyList_AsTuple(keys) : NULL;
  Py_XDECREF(iterator);
  Py_XDECREF(keys);
  return tuple;
}

static value *live_keys_before(tracer *t, live_dict *d) {
  if (d->before) return d->before;
  PyObject *dict = d->v->object;
  if (PyDict_GET_SIZE(dict) > LIVE_MAX_ITEMS)
    return trace_break(t, BREAK_LIMIT, "a dictionary of many items");
  if (PyODict_Check(dict) && !live_order_is_plain(dict))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE,
                       "an ordered dictionary of keys that are not plain");
  PyObject *keys = trace_keep(t, live_keys_tuple(dict));
  bool other = !keys && PyODict_Check(dict) && PyErr_ExceptionMatches(PyExc_KeyError);
  if (other) error_drop();
  if (other || (keys && PyTuple_GET_SIZE(keys) != PyDict_GET_SIZE(dict)))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE,
                       "an ordered dictionary changed by dict's methods");
  value *all = keys ? value_tuple(t, NULL, 0) : trace_fail(t);
  for (Py_ssize_t i = 0; all && i < PyTuple_GET_SIZE(keys); i++) {
    value *key = live_key_value(t, PyTuple_GET_ITEM(keys, i));
    if (!key || !seq_append(t, all, key)) return NULL;
  }
  if (all) guard_simple(t, GUARD_DICT_KEYS, d->v->source, keys, 0);
  return d->before = all;
}

/* The keys of an object's __dict__ now: those from before the call without deleted ones, then new
 * ones. */
static value *owner_keys(tracer *t, live_dict *d) {
  value *before = live_keys_before(t, d), *keys = before ? value_list(t, NULL, 0) : NULL;
  const overlay *o = overlay_of(t, d->owner->object, true);
  for (Py_ssize_t i = 0; keys && i < before->seq.count; i++) {
    PyObject *name = value_str_object(before->seq.items[i]);
    const overlay_slot *slot = name ? overlay_find(o, name) : NULL;
    if (!(slot && (!slot->item || slot->moved)) && !seq_append(t, keys, before->seq.items[i]))
      return NULL;
  }
  for (uint32_t i = 0; keys && i < overlay_count(o); i++) {
    const overlay_slot *slot = overlay_at(o, i);
    value *key = value_const(t, slot->key);
    PyObject *descr = _PyType_Lookup((PyTypeObject *)object_class(d->owner), slot->key);
    if (!key || (descr && Py_IS_TYPE(descr, &PyMemberDescr_Type))) continue;
    bool kept = !slot->moved && PyDict_GetItemWithError(d->v->object, slot->key);
    if (slot->item && !kept && !seq_append(t, keys, key)) return NULL;
  }
  return trace_pending(t) ? NULL : keys;
}

value *live_keys(tracer *t, live_dict *d) {
  if (d->owner) return owner_keys(t, d);
  value *before = d->cleared ? value_tuple(t, NULL, 0) : live_keys_before(t, d);
  value *keys = before ? value_list(t, NULL, 0) : NULL;
  for (Py_ssize_t i = 0; keys && i < before->seq.count; i++) {
    const live_slot *slot = live_slot_of(t, d, before->seq.items[i]);
    bool gone = slot && (!slot->item || slot->moved);
    if (trace_pending(t) || (!gone && !seq_append(t, keys, before->seq.items[i]))) return NULL;
  }
  for (uint32_t i = 0; keys && i < d->count; i++) {
    const live_slot *slot = &d->slots[i];
    int existed = !slot->item || slot->moved ? 0 : live_before(t, d, slot->key, NULL);
    if (existed < 0 || (slot->item && !existed && !seq_append(t, keys, slot->key))) return NULL;
  }
  return keys;
}

value *live_whole(tracer *t, live_dict *d) {
  value *keys = live_keys(t, d), *whole = keys ? value_dict(t) : NULL, *item;
  for (Py_ssize_t i = 0; whole && i < keys->seq.count; i++)
    if (live_find(t, d, keys->seq.items[i], &item) != 1 ||
        !seq_append(t, whole, keys->seq.items[i]) || !seq_append(t, whole, item))
      return NULL;
  return whole;
}

value *live_again(tracer *t, live_dict *d) {
  value *whole = live_whole(t, d), *dict = whole ? value_dict(t) : NULL;
  if (!dict || d->owner || PyODict_Check(d->v->object)) return whole;
  for (Py_ssize_t i = 0; d->before && i < d->before->seq.count; i++)
    if (!seq_append(t, dict, d->before->seq.items[i]) || !seq_append(t, dict, t->constants.none))
      return NULL;
  if (!gaps_live(t, dict, d->v) || !live_steps_again(t, &d->steps, dict)) return NULL;
  if (dict->seq.count != whole->seq.count) return whole;
  for (Py_ssize_t i = 0; i < whole->seq.count; i++)
    dict->seq.items[i] = whole->seq.items[i];
  return dict;
}

Py_ssize_t live_length(tracer *t, live_dict *d) {
  if (d->owner) {
    value *keys = owner_keys(t, d);
    return keys ? keys->seq.count : -1;
  }
  Py_ssize_t length = d->cleared ? 0 : PyDict_GET_SIZE(d->v->object);
  if (!d->before && !d->cleared) guard_simple(t, GUARD_LENGTH, d->v->source, NULL, length);
  for (uint32_t i = 0; i < d->count; i++) {
    int existed =
        !d->slots[i].item || d->slots[i].moved ? 1 : live_before(t, d, d->slots[i].key, NULL);
    if (existed < 0) return -1;
    length += (d->slots[i].item != NULL) - existed;
  }
  return length;
}

/* ---- for the walk of a loop's state, and at the end ---- */

void live_walk(roll_walk *w, const tracer *t) {
  for (live_dict *d = t->live.dicts; d; d = d->next) {
    if (!d->steps.count) continue;
    roll_pointer(w, d);
    roll_token(w, (uint64_t)d->count << 1 | d->cleared);
    for (uint32_t i = 0; i < d->count; i++) {
      roll_exactly(w, &d->slots[i].key);
      roll_token(w, (uint64_t)(d->slots[i].stored != NULL) << 1 | d->slots[i].moved);
      roll_value(w, &d->slots[i].item);
    }
    live_steps_walk(w, &d->steps);
  }
}

value *live_changed(live_dict **from) {
  while (*from && !(*from)->steps.count)
    *from = (*from)->next;
  value *v = *from ? (*from)->v : NULL;
  if (v) *from = (*from)->next;
  return v;
}

/* Is there a guard that the key is missing? */
static bool live_was_missed(tracer *t, const live_dict *d, value *key) {
  PyObject *k = key->object;
  Py_hash_t hash = k ? key_hash(t, k) : -1;
  const source *at = hash == -1 ? NULL : trace_source(t, SOURCE_ITEM, d->v->source, NULL, k, hash);
  for (uint32_t i = 0; at && i < t->capture->guard_count; i++)
    if (t->capture->guards[i].kind == GUARD_MISSING && t->capture->guards[i].source == at)
      return true;
  return false;
}

void live_finish(tracer *t, const live_dict *d) {
  for (uint32_t i = 0; i < d->count && !trace_pending(t); i++) {
    const live_slot *slot = &d->slots[i];
    if (slot->item && !t->capture->spent) t->capture->spent = live_was_missed(t, d, slot->key);
    if (slot->stored) *slot->stored = slot->item;
  }
  live_steps_finish(t, &d->steps, d->v->source);
}
