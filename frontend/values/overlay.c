/* Attributes and variables that were assigned or deleted, in front of the objects that hold them:
 * every reader looks here first. At the end they become changes. */
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/live.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"

struct overlay {
  overlay *next;
  PyObject *object;
  const source *source;
  bool attributes;
  overlay_slot *slots;
  uint32_t count, capacity;
};

overlay *overlay_of(const tracer *t, PyObject *object, bool attributes) {
  overlay *o = t->live.overlays;
  while (o && (o->object != object || o->attributes != attributes))
    o = o->next;
  return o;
}

uint32_t overlay_count(const overlay *o) { return o ? o->count : 0; }

const overlay_slot *overlay_at(const overlay *o, uint32_t i) { return &o->slots[i]; }

overlay *overlay_open(tracer *t, PyObject *object, const source *s, bool attributes) {
  overlay *o = overlay_of(t, object, attributes);
  if (o || !s) return o;
  if (!(o = trace_alloc(t, sizeof *o)) || !trace_keep(t, Py_NewRef(object))) return NULL;
  *o = (overlay){.object = object, .source = s, .attributes = attributes, .next = t->live.overlays};
  return t->live.overlays = o;
}

/* Keys are exact builtin objects. */
overlay_slot *overlay_find(const overlay *o, PyObject *key) {
  for (uint32_t i = 0; o && i < o->count; i++) {
    PyObject *other = o->slots[i].key;
    int equal = other == key ? 1 : PyObject_RichCompareBool(other, key, Py_EQ);
    if (equal < 0) error_drop();
    if (equal > 0) return &o->slots[i];
  }
  return NULL;
}

static bool overlay_add(tracer *t, overlay *o, overlay_slot slot) {
  overlay_slot *slots = trace_more(t, o->slots, o->count, &o->capacity, sizeof *slots);
  if (!slots) return false;
  o->slots = slots;
  if (!trace_keep(t, Py_NewRef(slot.key))) return false;
  o->slots[o->count++] = slot;
  return true;
}

static void overlay_drop(overlay *o, overlay_slot *slot) {
  size_t behind = (size_t)(o->slots + o->count - slot - 1);
  memmove(slot, slot + 1, behind * sizeof *slot);
  o->count--;
}

bool overlay_put(tracer *t, overlay *o, PyObject *key, value *item) {
  overlay_slot *slot = o ? overlay_find(o, key) : NULL;
  if (!o || !aside_may_assign(t, o->object, key, o->attributes)) return false;
  t->live.changes++;
  if (slot && slot->item) return slot->item = item, true;
  if (slot) overlay_drop(o, slot);
  return overlay_add(t, o, (overlay_slot){.key = key, .item = item, .moved = slot != NULL});
}

bool overlay_put_variable(tracer *t, PyObject *globals, PyObject *name, value *item) {
  if (pointer_map_get(&t->known.wrapped, globals))
    return trace_break(t, BREAK_SIDE_EFFECT, "assignment to a global while globals() is read") !=
           NULL;
  const source *s = trace_source(t, SOURCE_CONST, NULL, globals, NULL, 0);
  overlay *o = s ? overlay_open(t, globals, s, false) : NULL;
  PyObject *before = o && !overlay_find(o, name) ? PyDict_GetItemWithError(globals, name) : NULL;
  error_drop();
  return o && trace_gives_up(t, before, item) && overlay_put(t, o, name, item);
}

bool overlay_delete(tracer *t, overlay *o, PyObject *key, bool existed) {
  overlay_slot *slot = o ? overlay_find(o, key) : NULL;
  if (!o || !aside_may_assign(t, o->object, key, o->attributes)) return false;
  t->live.changes++;
  if (slot && existed) return *slot = (overlay_slot){.key = slot->key}, true;
  if (slot) return overlay_drop(o, slot), true;
  return overlay_add(t, o, (overlay_slot){.key = key});
}

/* ---- for the walk of a loop's state, and at the end ---- */

void overlay_walk(roll_walk *w, const tracer *t) {
  for (overlay *o = t->live.overlays; o; o = o->next) {
    roll_pointer(w, o);
    roll_token(w, o->count);
    for (uint32_t i = 0; i < o->count; i++) {
      roll_pointer(w, o->slots[i].key);
      roll_token(w, o->slots[i].moved);
      roll_value(w, &o->slots[i].item);
    }
  }
}

bool overlay_apart(tracer *t, struct apart *a) {
  for (const overlay *o = t->live.overlays; o; o = o->next)
    if (!apart_from_all(t, o->object, o->source, a)) return false;
  return true;
}

static const source *overlay_dict(tracer *t, const overlay *o) {
  PyObject *key = trace_keep(t, PyUnicode_InternFromString("__dict__"));
  return key ? trace_source(t, SOURCE_DERIVED, o->source, NULL, key, 0) : NULL;
}

void overlay_finish(tracer *t) {
  for (const overlay *o = t->live.overlays; o; o = o->next) {
    if (class_is_made(t, o->object)) continue;
    for (uint32_t i = 0; i < o->count && !trace_pending(t); i++) {
      const overlay_slot *slot = &o->slots[i];
      bool attribute = o->attributes && !slot->hidden;
      const source *s = slot->hidden ? overlay_dict(t, o) : o->source;
      if (slot->moved) shadow_named(t, s, slot->key, NULL, attribute);
      shadow_named(t, s, slot->key, slot->item, attribute);
    }
  }
}
