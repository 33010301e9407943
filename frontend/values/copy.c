/* copy.copy() and copy.deepcopy(), as the library's Python does them with what it knows itself,
 * classes' own __copy__ and __deepcopy__, and object's own way of taking instances apart. */
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

typedef struct copy_memo {
  pointer_map made; /* value -> its copy */
  value *dict;      /* what a __deepcopy__ gets to hand on */
  struct copy_memo *next;
} copy_memo;

static value *copy_deep(tracer *t, value *v, copy_memo *memo);
static value *copy_array(tracer *t, value *v, copy_memo *memo);

/* A copy of a part: the part itself when `memo` is NULL. */
static value *copy_part(tracer *t, value *v, copy_memo *memo) {
  return memo ? copy_deep(t, v, memo) : v;
}

static bool copy_note(tracer *t, copy_memo *memo, value *v, value *made) {
  return made && (!memo || trace_map_set(t, &memo->made, v, made));
}

/* ---- builtin containers ---- */

value *copy_tuple(tracer *t, value *v, copy_memo *memo) {
  if (tuple_class(v)) return copy_array(t, v, memo);
  if (!memo) return v;
  value *all = value_tuple(t, NULL, 0);
  bool same = true;
  for (Py_ssize_t i = 0; all && i < v->seq.count; i++) {
    value *item = copy_deep(t, v->seq.items[i], memo);
    if (!item || !seq_append(t, all, item)) return NULL;
    same &= item == v->seq.items[i];
  }
  value *known = pointer_map_get(&memo->made, v); /* by way of an item that holds it */
  if (known || same || !all) return known ? known : all ? v : NULL;
  return copy_note(t, memo, v, all) ? all : NULL;
}

static bool copy_items(tracer *t, value *to, value *from, copy_memo *memo) {
  for (Py_ssize_t i = 0; i < from->seq.count; i++) {
    value *item = copy_part(t, from->seq.items[i], memo);
    if (!item || !seq_append(t, to, item)) return false;
  }
  return true;
}

static bool copy_pairs(tracer *t, value *to, value *from, copy_memo *memo) {
  if (!(from = dict_whole(t, from))) return false;
  for (Py_ssize_t i = 0; i < from->seq.count; i += 2) {
    value *key = copy_part(t, from->seq.items[i], memo);
    value *item = key ? copy_part(t, from->seq.items[i + 1], memo) : NULL;
    if (!item || !dict_put(t, to, key, item)) return false;
  }
  return true;
}

value *copy_list(tracer *t, value *v, copy_memo *memo) {
  value *made = value_list(t, NULL, 0);
  return copy_note(t, memo, v, made) && copy_items(t, made, v, memo) ? made : NULL;
}

value *copy_dict(tracer *t, value *v, copy_memo *memo) {
  if (!memo) return dict_copied(t, v);
  value *made = value_dict(t);
  return copy_note(t, memo, v, made) && copy_pairs(t, made, v, memo) ? made : NULL;
}

/* Members are hashable: what of them has parts is left to Python. */
value *copy_set(tracer *t, value *v, copy_memo *memo) {
  if (set_is_frozen(v) && !memo) return v;
  for (Py_ssize_t i = 0; memo && i < v->seq.count; i++)
    if (!value_is_const(v->seq.items[i]) || !object_is_scalar(v->seq.items[i]->object))
      return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a deep copy of a set of objects");
  value *items = memo ? trace_to_tuple(t, v) : v; /* it is made again of a list */
  value *made = items ? set_from(t, items, set_is_frozen(v)) : NULL;
  return copy_note(t, memo, v, made) ? made : NULL;
}

/* ---- instances ---- */

/* Does anything but object (or dict and list) say how the class is taken apart and put together? */
static bool copy_is_plain(tracer *t, PyTypeObject *type) {
  static const char *const own[] = {"__reduce_ex__", "__reduce__", "__getstate__"};
  static const char *const none[] = {"__setstate__", "__getnewargs__", "__getnewargs_ex__"};
  static const char *const adding[] = {"append", "extend", "__setitem__"};
  PyTypeObject *base = container_base(type) ? container_base(type) : &PyBaseObject_Type;
  for (int i = 0; i < 3; i++)
    if (class_special(t, type, own[i]) != class_special(t, base, own[i]) ||
        class_special(t, type, none[i]))
      return false;
  for (int i = 0; base != &PyBaseObject_Type && i < 3; i++)
    if (class_special(t, type, adding[i]) != class_special(t, base, adding[i])) return false;
  return class_special(t, type, "__new__") == class_special(t, base, "__new__");
}

/* Is the class not registered with the library (copyreg.dispatch_table and the like)? Guards that
 * this stays so. */
static bool copy_is_unregistered(tracer *t, PyTypeObject *type, const char *module,
                                 const char *table) {
  PyObject *from = trace_keep(t, PyImport_ImportModule(module));
  PyObject *dict = from ? trace_keep(t, PyObject_GetAttrString(from, table)) : NULL;
  if (!dict || !PyDict_CheckExact(dict)) return trace_fail(t), false;
  const source *s = trace_source(t, SOURCE_CONST, NULL, dict, NULL, 0);
  value *ways = s ? value_wrap(t, dict, s) : NULL;
  value *cls = ways ? value_const(t, (PyObject *)type) : NULL;
  return cls && trace_contains(t, ways, cls) == 0;
}

/* The names of slots, as copyreg finds them. */
static value *copy_slots(tracer *t, PyTypeObject *type) {
  PyObject *module = PyImport_ImportModule("copyreg");
  PyObject *names = module ? PyObject_CallMethod(module, "_slotnames", "O", type) : NULL;
  Py_XDECREF(module);
  return names ? value_made(t, names) : trace_fail(t);
}

static value *copy_slot(tracer *t, value *v, value *name) {
  PyObject *text = value_str_object(name);
  return text ? object_attr(t, v, text) : NULL;
}

static bool copy_attributes(tracer *t, value *to, value *from, copy_memo *memo) {
  PyTypeObject *type = (PyTypeObject *)object_class(from);
  value *slots = copy_slots(t, type);
  if (!slots) return false;
  if (type->tp_dictoffset || object_is_virtual(from)) {
    PyObject *name = trace_keep(t, PyUnicode_InternFromString("__dict__"));
    value *all = object_is_virtual(from) ? from->any.b : name ? object_attr(t, from, name) : NULL;
    if (!all || !(all = dict_whole(t, all))) return false;
    for (Py_ssize_t i = 0; i < all->seq.count; i += 2) {
      if (trace_contains(t, slots, all->seq.items[i])) continue;
      value *item = copy_part(t, all->seq.items[i + 1], memo);
      if (!item || !dict_put(t, to->any.b, all->seq.items[i], item)) return false;
    }
  }
  for (Py_ssize_t i = 0; i < slots->seq.count; i++) {
    value *item = copy_slot(t, from, slots->seq.items[i]);
    if (item) item = copy_part(t, item, memo);
    if (trace_pending(t)) return false;
    if (item && !object_store(t, to, value_str_object(slots->seq.items[i]), item)) return false;
  }
  return !trace_pending(t);
}

static value *copy_instance(tracer *t, value *v, copy_memo *memo) {
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  value *made = object_allocate(t, (PyObject *)type), *content = object_content(v);
  if (!copy_note(t, memo, v, made)) return NULL;
  if (!type_keeps_default(t, type, "__setattr__"))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a copy of a %s", type->tp_name);
  if (!copy_attributes(t, made, v, memo)) return NULL;
  if (!content) return made;
  value *to = object_content(made);
  bool good =
      value_is_list(content) ? copy_items(t, to, content, memo) : copy_pairs(t, to, content, memo);
  return good ? made : NULL;
}

/* The attributes that an OrderedDict has beside its items. */
static bool copy_beside(tracer *t, value *to, value *from, copy_memo *memo) {
  value *own = model_attributes(t, from);
  if (!own) return !trace_pending(t);
  value *copied = memo ? copy_deep(t, own, memo) : dict_copied(t, own);
  return copied && model_give_attributes(t, to, copied);
}

/* The content of a model object belongs to it: a copy of the object has a copy of the content. */
static value *copy_model(tracer *t, value *v, copy_memo *memo) {
  value *made = value_object_new(t, object_class(v)), *all = v->any.b;
  if (!copy_note(t, memo, v, made) || !(made->any.b = value_dict(t)) ||
      !copy_beside(t, made, v, memo))
    return NULL;
  for (Py_ssize_t i = 0; i < all->seq.count; i += 2) {
    value *item = copy_deep(t, all->seq.items[i + 1], memo);
    if (!item || !dict_put(t, made->any.b, all->seq.items[i], item)) return NULL;
  }
  return made;
}

static bool copy_is_container_model(PyObject *cls) {
  PyTypeObject *real = (PyTypeObject *)model_real(cls);
  return (PyObject *)real != cls &&
         (PyType_IsSubtype(real, &PyDict_Type) || !strcmp(real->tp_name, "collections.deque"));
}

value *copy_object(tracer *t, value *v, copy_memo *memo) {
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  bool asked = class_special(t, type, "__getattr__"); /* by the copy for __setstate__, too */
  value *way = asked && memo ? NULL : trace_special(t, v, memo ? "__deepcopy__" : "__copy__");
  if (trace_pending(t)) return NULL;
  if (asked && !way)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a copy of a %s, which has __getattr__",
                       type->tp_name);
  if (way) {
    value *made = trace_call(t, way, memo ? &memo->dict : NULL, memo ? 1 : 0, NULL);
    if (made && !memo && !copy_beside(t, made, v, NULL)) return NULL;
    return made && copy_note(t, memo, v, made) ? made : NULL;
  }
  if (memo && copy_is_container_model((PyObject *)type)) return copy_model(t, v, memo);
  bool plain =
      (loom_class_is_python(type) || container_base(type)) && !model_owns((PyObject *)type) &&
      !key_is_enum_class(t, type) && copy_is_plain(t, type) &&
      copy_is_unregistered(t, type, "copyreg", "dispatch_table") &&
      copy_is_unregistered(t, type, "copy", memo ? "_deepcopy_dispatch" : "_copy_dispatch");
  value *content = object_content(v);
  if (content && !list_settle(t, content)) return NULL;
  plain &= !content || value_is_list(content) || value_is_dict(content);
  if (plain) return copy_instance(t, v, memo);
  return trace_pending(t) ? NULL
                          : trace_break(t, BREAK_UNSUPPORTED_TYPE, "a copy of a %s", type->tp_name);
}

/* ---- all values ---- */

value *copy_same(tracer *t, value *v, copy_memo *memo) { return v; }

value *copy_const(tracer *t, value *v, copy_memo *memo) {
  PyObject *o = v->object;
  bool atomic = object_is_scalar(o) || PyType_Check(o) || PyCFunction_Check(o) || PyRange_Check(o);
  return atomic ? v : copy_array(t, v, memo);
}

static value *copy_array(tracer *t, value *v, copy_memo *memo) {
  PyObject *type = value_type_of(t, v);
  if (!type) return NULL;
  const char *name_of = ((PyTypeObject *)type)->tp_name;
  if (strcmp(name_of, "numpy.ndarray") != 0)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a copy of a %s", name_of);
  PyObject *name = trace_keep(t, PyUnicode_InternFromString("__copy__"));
  value *method = name ? trace_get_attr(t, v, name) : NULL;
  value *made = method ? trace_call(t, method, NULL, 0, NULL) : NULL;
  return copy_note(t, memo, v, made) ? made : NULL;
}

static value *copy_value(tracer *t, value *v, copy_memo *memo) {
  if (!list_settle(t, v)) return NULL;
  return v->type->copy ? v->type->copy(t, v, memo) : copy_array(t, v, memo);
}

static value *copy_deep(tracer *t, value *v, copy_memo *memo) {
  value *known = pointer_map_get(&memo->made, v);
  if (known || !trace_goes_deeper(t)) return known;
  value *made = copy_value(t, v, memo);
  return copy_note(t, memo, v, made) ? made : NULL;
}

value *copy_shallow(tracer *t, value *v) { return copy_value(t, v, NULL); }

value *copy_deeply(tracer *t, value *v, value *given) {
  copy_memo *memo = t->live.copies;
  while (given && memo && memo->dict != given)
    memo = memo->next;
  if (given && (!memo || given->seq.count))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a deep copy with a memo of its own");
  if (!given) {
    if (!(memo = trace_alloc(t, sizeof *memo)) || !(memo->dict = value_dict(t))) return NULL;
    memo->next = t->live.copies;
    t->live.copies = memo;
  }
  return copy_deep(t, v, memo);
}
