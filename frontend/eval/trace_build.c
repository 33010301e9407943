/* Instructions that build and take apart tuples, lists, dictionaries, sets, strings and slices;
 * `match` on them. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/eval/internal.h"
#include "frontend/library/library.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"

static value **build_pop(tracer *t, frame *f, int32_t count) {
  if (count < 0 || f->sp < count)
    return trace_break(t, BREAK_OPCODE, "the bytecode pops an empty stack");
  f->sp -= count;
  return f->stack + f->sp;
}

/* The container `depth` below the top, after the top was popped. Behind a break it may be one that
 * existed before. */
static value *build_peek(tracer *t, frame *f, int32_t depth, const value_type *type) {
  value *v = depth >= 1 && f->sp >= depth ? f->stack[f->sp - depth] : NULL;
  if (v && value_is_set(v) && v->source)
    return trace_break(t, BREAK_SIDE_EFFECT, "a set that existed before is filled");
  if (v && v->type == type) return value_mutable(t, v) ? v : NULL;
  return trace_break(t, BREAK_OPCODE, "a container is not where the bytecode says");
}

static step build_result(bool good) { return good ? STEP_NEXT : STEP_FAIL; }

step step_BUILD_TUPLE(tracer *t, frame *f, const loom_instr *in) {
  value **items = build_pop(t, f, in->arg);
  return items ? frame_result(f, value_tuple(t, items, in->arg)) : STEP_FAIL;
}

step step_BUILD_LIST(tracer *t, frame *f, const loom_instr *in) {
  value **items = build_pop(t, f, in->arg);
  return items ? frame_result(f, value_list(t, items, in->arg)) : STEP_FAIL;
}

step step_BUILD_SET(tracer *t, frame *f, const loom_instr *in) {
  value **items = build_pop(t, f, in->arg), *set = items ? value_set(t, false) : NULL;
  for (int32_t i = 0; set && i < in->arg; i++)
    if (!set_add(t, set, items[i])) return STEP_FAIL;
  return frame_result(f, set);
}

step step_BUILD_MAP(tracer *t, frame *f, const loom_instr *in) {
  value **items = build_pop(t, f, 2 * in->arg), *dict = items ? value_dict(t) : NULL;
  for (int32_t i = 0; dict && i < in->arg; i++)
    if (!dict_put(t, dict, items[2 * i], items[2 * i + 1])) return STEP_FAIL;
  bool good = dict && gaps_made(t, dict, items, 2, in->arg);
  return good ? frame_result(f, dict) : STEP_FAIL;
}

step step_BUILD_CONST_KEY_MAP(tracer *t, frame *f, const loom_instr *in) {
  value *keys = frame_pop(f), **items = build_pop(t, f, in->arg),
        *dict = items ? value_dict(t) : NULL;
  keys = keys ? trace_to_tuple(t, keys) : NULL;
  if (!keys || keys->seq.count != in->arg) return STEP_FAIL;
  for (int32_t i = 0; dict && i < in->arg; i++)
    if (!dict_put(t, dict, keys->seq.items[i], items[i])) return STEP_FAIL;
  bool good = dict && gaps_made(t, dict, keys->seq.items, 1, in->arg);
  return good ? frame_result(f, dict) : STEP_FAIL;
}

step step_BUILD_SLICE(tracer *t, frame *f, const loom_instr *in) {
  value **items = build_pop(t, f, in->arg);
  value *parts[3] = {items ? items[0] : NULL, items ? items[1] : NULL,
                     items && in->arg == 3 ? items[2] : t->constants.none};
  value *v = items ? value_tuple(t, parts, 3) : NULL;
  if (v) v->type = &value_slice_type;
  return frame_result(f, v);
}

step step_LIST_TO_TUPLE(tracer *t, frame *f, const loom_instr *in) {
  return frame_result(f, trace_to_tuple(t, frame_pop(f)));
}

step step_LIST_APPEND(tracer *t, frame *f, const loom_instr *in) {
  value *item = frame_pop(f), *list = frame_peek(f, in->arg);
  if (gather_is_live(list) && !list_settle(t, list)) return STEP_FAIL;
  if (!list_is_rolled(list)) list = build_peek(t, f, in->arg, &value_list_type);
  return build_result(list && seq_append(t, list, item));
}

step step_LIST_EXTEND(tracer *t, frame *f, const loom_instr *in) {
  value *items = frame_pop(f), *list = build_peek(t, f, in->arg, &value_list_type);
  return build_result(list && list_extend(t, list, items));
}

step step_SET_ADD(tracer *t, frame *f, const loom_instr *in) {
  value *item = frame_pop(f), *set = build_peek(t, f, in->arg, &value_set_type);
  return build_result(set && set_add(t, set, item));
}

step step_SET_UPDATE(tracer *t, frame *f, const loom_instr *in) {
  value *items = frame_pop(f), *set = build_peek(t, f, in->arg, &value_set_type);
  return build_result(set && set_extend(t, set, items));
}

step step_MAP_ADD(tracer *t, frame *f, const loom_instr *in) {
  value *item = frame_pop(f), *key = frame_pop(f),
        *dict = build_peek(t, f, in->arg, &value_dict_type);
  return build_result(dict && dict_put(t, dict, key, item));
}

step step_DICT_UPDATE(tracer *t, frame *f, const loom_instr *in) {
  value *other = frame_pop(f), *dict = build_peek(t, f, in->arg, &value_dict_type);
  return build_result(dict && dict_unpack(t, dict, other));
}

step step_DICT_MERGE(tracer *t, frame *f, const loom_instr *in) {
  value *other = frame_pop(f), *dict = build_peek(t, f, in->arg, &value_dict_type);
  return build_result(dict && dict_update(t, dict, other, true));
}

/* ---- strings -------------------------------------------------------------------------------- */

/* What ascii() makes of a repr(). */
static value *format_ascii(tracer *t, value *v) {
  PyObject *text = value_str_object(v);
  if (!text) return trace_break(t, BREAK_UNSUPPORTED_TYPE, "the text of a %s", v->type->name);
  PyObject *bytes = PyUnicode_AsEncodedString(text, "ascii", "backslashreplace");
  PyObject *plain =
      bytes ? PyUnicode_DecodeASCII(PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes), NULL) : NULL;
  Py_XDECREF(bytes);
  return value_made(t, plain);
}

/* !s, !r and !a. */
static value *format_convert(tracer *t, value *v, int conversion) {
  if (conversion == 1) v = trace_str(t, v);
  if (conversion >= 2) v = trace_repr(t, v);
  return conversion == 3 && v ? format_ascii(t, v) : v;
}

step step_CONVERT(tracer *t, frame *f, const loom_instr *in) {
  return frame_result(f, format_convert(t, frame_pop(f), in->arg & 3));
}

/* What an object's own __format__() makes of it. */
static value *format_by_method(tracer *t, value *v, value *spec) {
  value *made = trace_method(t, v, "__format__", &spec, 1);
  PyTypeObject *type = made ? (PyTypeObject *)value_type_of(t, made) : NULL;
  if (!type || PyType_IsSubtype(type, &PyUnicode_Type)) return type ? made : NULL;
  return trace_raise(t, PyExc_TypeError, "__format__ must return a str, not %s", type->tp_name);
}

step step_FORMAT_VALUE(tracer *t, frame *f, const loom_instr *in) {
  value *spec = in->arg & 4 ? frame_pop(f) : NULL, *v = frame_pop(f);
  v = format_convert(t, v, in->arg & 3);
  if (!v) return STEP_FAIL;
  PyObject *text = spec ? value_str_object(spec) : NULL;
  bool own =
      value_is_instance(v) && !type_keeps_default(t, (PyTypeObject *)object_class(v), "__format__");
  bool empty = !spec || (text && !PyUnicode_GET_LENGTH(text));
  if (own && empty && scalar_content(v) &&
      !type_runs_python(t, (PyTypeObject *)object_class(v), "__format__"))
    return frame_result(f, trace_str(t, v)); /* as int, float and str do */
  if (own && (spec || (spec = value_str(t, ""))))
    return frame_result(f, format_by_method(t, v, spec));
  PyObject *plain = value_plain(t, v);
  if (!plain && !trace_pending(t) && (!text || !PyUnicode_GET_LENGTH(text)))
    return frame_result(f, trace_str(t, v));
  if (!plain) {
    trace_break(t, BREAK_UNSUPPORTED_TYPE, "a %s is formatted", v->type->name);
    return STEP_FAIL;
  }
  PyObject *result = PyObject_Format(plain, text);
  Py_DECREF(plain);
  return frame_result(f, value_made(t, result));
}

step step_BUILD_STRING(tracer *t, frame *f, const loom_instr *in) {
  value **items = build_pop(t, f, in->arg);
  PyObject *text = items ? PyUnicode_New(0, 0) : NULL;
  for (int32_t i = 0; text && i < in->arg; i++) {
    PyObject *piece = value_str_object(items[i]);
    if (!piece) {
      Py_DECREF(text);
      trace_break(t, BREAK_OPCODE, "a piece of a string is not a string");
      return STEP_FAIL;
    }
    PyUnicode_Append(&text, piece);
  }
  return items ? frame_result(f, value_made(t, text)) : STEP_FAIL;
}

/* ---- taking apart --------------------------------------------------------------------------- */

step step_UNPACK_SEQUENCE(tracer *t, frame *f, const loom_instr *in) {
  value *v = frame_pop(f), *items = NULL;
  if (value_is_sequence(v)) {
    items = v;
  } else { /* one item more than needed is asked for, as CPython does */
    value *iterator = trace_iter(t, v), *item = NULL;
    items = iterator ? value_tuple(t, NULL, 0) : NULL;
    while (items && items->seq.count <= in->arg && (item = trace_next(t, iterator)))
      if (!seq_append(t, items, item)) return STEP_FAIL;
  }
  if (!items || trace_pending(t)) return STEP_FAIL;
  if (items->seq.count != in->arg) {
    trace_raise(t, PyExc_ValueError, "expected %d values to unpack", in->arg);
    return STEP_FAIL;
  }
  if (f->sp + in->arg > f->code->stack + 2) return STEP_FAIL;
  for (Py_ssize_t i = in->arg; i-- > 0;)
    frame_push(f, items->seq.items[i]);
  return STEP_NEXT;
}

/* The first items are taken from the iterator, the others are a list of what it still has. */
static value *unpack_each(tracer *t, value *v, Py_ssize_t before) {
  value *iterator = trace_iter(t, v), *items = value_tuple(t, NULL, 0), *item, *rest;
  while (iterator && items && items->seq.count < before) {
    if (!(item = trace_next(t, iterator))) return trace_pending(t) ? NULL : items;
    if (!seq_append(t, items, item)) return NULL;
  }
  if (!iterator || !items || !(rest = trace_listed(t, iterator))) return NULL;
  for (Py_ssize_t i = 0; i < rest->seq.count; i++)
    if (!seq_append(t, items, rest->seq.items[i])) return NULL;
  return items;
}

step step_UNPACK_EX(tracer *t, frame *f, const loom_instr *in) {
  Py_ssize_t before = in->arg & 0xff, after = in->arg >> 8;
  value *v = frame_pop(f), *items;
  items = value_items_come(v) ? unpack_each(t, v, before) : trace_to_tuple(t, v);
  if (!items) return STEP_FAIL;
  Py_ssize_t middle = items->seq.count - before - after;
  if (middle < 0) {
    trace_raise(t, PyExc_ValueError, "not enough values to unpack");
    return STEP_FAIL;
  }
  if (f->sp + before + after + 1 > f->code->stack + 2) return STEP_FAIL;
  value *rest = value_list(t, items->seq.items + before, middle);
  for (Py_ssize_t i = items->seq.count; i-- > before + middle;)
    frame_push(f, items->seq.items[i]);
  frame_push(f, rest);
  for (Py_ssize_t i = before; i-- > 0;)
    frame_push(f, items->seq.items[i]);
  return rest ? STEP_NEXT : STEP_FAIL;
}

/* ---- match ---------------------------------------------------------------------------------- */

step step_GET_LEN(tracer *t, frame *f, const loom_instr *in) {
  return frame_result(f, trace_length(t, frame_peek(f, 1)));
}

static step match_flag(tracer *t, frame *f, unsigned long flag) {
  PyObject *type = value_type_of(t, frame_peek(f, 1));
  return type ? frame_result(f, value_bool(t, PyType_HasFeature((PyTypeObject *)type, flag)))
              : STEP_FAIL;
}

step step_MATCH_SEQUENCE(tracer *t, frame *f, const loom_instr *in) {
  return match_flag(t, f, Py_TPFLAGS_SEQUENCE);
}

step step_MATCH_MAPPING(tracer *t, frame *f, const loom_instr *in) {
  return match_flag(t, f, Py_TPFLAGS_MAPPING);
}

/* The attribute that a pattern names; NULL with nothing pending: there is none. */
static value *match_attribute(tracer *t, value *subject, value *name) {
  PyObject *text = value_str_object(name);
  if (!text) return trace_break(t, BREAK_OPCODE, "a pattern's name that is not a string");
  value *item = trace_get_attr(t, subject, text);
  if (!item && t->state == TRACE_RAISING && exception_matches(t, t->raised, PyExc_AttributeError)) {
    t->state = TRACE_GOING;
    t->raised = NULL;
  }
  return item;
}

/* Names of the attributes that positional patterns stand for; `self`: the subject itself. */
static value *match_positions(tracer *t, PyObject *type, int32_t count, bool *self) {
  PyObject *key = trace_keep(t, PyUnicode_InternFromString("__match_args__"));
  value *names = key && count ? type_attr(t, type, key, NULL, NULL) : NULL;
  *self = false;
  if (trace_pending(t)) return NULL;
  if (names && value_is_tuple(names) && names->seq.count >= count) return names;
  *self = !names && PyType_HasFeature((PyTypeObject *)type, _Py_TPFLAGS_MATCH_SELF) && count <= 1;
  if (*self || !count) return value_tuple(t, NULL, 0);
  return trace_break(t, BREAK_RAISES, "a pattern with more positions than %s has",
                     ((PyTypeObject *)type)->tp_name);
}

/* Is one of the first `count` names, or keys, of a pattern this one? -1: failed. */
static int match_named_before(tracer *t, value *const *names, Py_ssize_t count, value *name) {
  for (Py_ssize_t i = 0; i < count; i++) {
    int equal = key_check(t, names[i]) && key_check(t, name) ? key_equal(t, names[i], name) : -1;
    if (equal < 0) return -1;
    if (equal) return trace_break(t, BREAK_RAISES, "a pattern that names one thing twice"), -1;
  }
  return 0;
}

step step_MATCH_CLASS(tracer *t, frame *f, const loom_instr *in) {
  value *named = trace_to_tuple(t, frame_pop(f)), *type = frame_pop(f), *subject = frame_pop(f);
  bool self;
  if (!named || !value_is_const(type) || !PyType_Check(type->object)) {
    if (named) trace_break(t, BREAK_RAISES, "a pattern of what is not a class");
    return STEP_FAIL;
  }
  int matches = trace_isinstance(t, subject, type);
  if (matches < 0) return STEP_FAIL;
  if (!matches) return frame_result(f, t->constants.none);
  value *found = value_tuple(t, NULL, 0), *item;
  value *names = match_positions(t, type->object, in->arg, &self);
  if (!names || !found || (self && in->arg && !seq_append(t, found, subject))) return STEP_FAIL;
  for (Py_ssize_t i = 0; i < (self ? 0 : in->arg) + named->seq.count; i++) {
    bool position = !self && i < in->arg;
    value *name = position ? names->seq.items[i] : named->seq.items[i - (self ? 0 : in->arg)];
    Py_ssize_t keyword = position ? 0 : i - (self ? 0 : in->arg);
    if (match_named_before(t, names->seq.items,
                           self       ? 0
                           : position ? i
                                      : in->arg,
                           name) ||
        match_named_before(t, named->seq.items, keyword, name))
      return STEP_FAIL;
    if (!(item = match_attribute(t, subject, name)))
      return trace_pending(t) ? STEP_FAIL : frame_result(f, t->constants.none);
    if (!seq_append(t, found, item)) return STEP_FAIL;
  }
  return frame_result(f, found);
}

step step_MATCH_KEYS(tracer *t, frame *f, const loom_instr *in) {
  value *keys = trace_to_tuple(t, frame_peek(f, 1)), *dict = frame_peek(f, 2);
  if (!keys) return STEP_FAIL;
  if (!value_is_dict(dict)) {
    trace_break(t, BREAK_OPCODE, "match on a mapping that is not a dict");
    return STEP_FAIL;
  }
  value *found = value_tuple(t, NULL, 0);
  for (Py_ssize_t i = 0; found && i < keys->seq.count; i++) {
    if (match_named_before(t, keys->seq.items, i, keys->seq.items[i])) return STEP_FAIL;
    value *item = dict_get(t, dict, keys->seq.items[i]);
    if (trace_pending(t)) return STEP_FAIL;
    if (!item) return frame_result(f, t->constants.none);
    if (!seq_append(t, found, item)) return STEP_FAIL;
  }
  return frame_result(f, found);
}
