/* From a function and its arguments to a capture: sets the tracer up, runs the function's frame,
 * and writes down how the result is rebuilt. */
#include "frontend/value/value.h"

#include <inttypes.h>

PyObject *(*loom_callable_unwrap)(PyObject *object);
PyObject *(*loom_callable_why_plain)(PyObject *object);

const loom_adapter *const *loom_adapters(void) {
  static const loom_adapter *const adapters[] = {&loom_numpy_adapter, NULL};
  return adapters;
}

/* ---- results -------------------------------------------------------------------------------- */

/* The recipe of a value that is being rebuilt right now: it holds itself. */
static const char rebuild_busy;

static recipe *rebuild_shared(tracer *t, recipe *r) {
  capture *c = t->capture;
  uint32_t i = 0;
  while (i < c->shared_count && c->shared[i] != r)
    i++;
  if (i == c->shared_count) {
    if (!trace_grow(t, &c->shared, c->shared_count, &t->tables->shared_capacity, sizeof *c->shared))
      return NULL;
    c->shared[c->shared_count++] = r;
  }
  recipe *again = trace_recipe(t, RECIPE_SHARED);
  if (again) again->number = i;
  return again;
}

recipe *trace_rebuild(tracer *t, value *v) {
  if (trace_pending(t) || !trace_goes_deeper(t)) return NULL;
  recipe *real = v->lent ? lent_rebuild(t, v) : NULL;
  if (real || trace_pending(t)) return trace_pending(t) ? NULL : real;
  if (v->lent && roll_lent(t, v)) return NULL;
  if (value_is_lazy(v) && !(v = value_wrap(t, v->object, v->source))) return NULL;
  recipe *r = pointer_map_get(&t->rebuilt, v);
  if (r == (const void *)&rebuild_busy)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a result that holds itself");
  if (r && (r->kind == RECIPE_CONST || r->kind == RECIPE_SOURCE)) return r;
  if (r) return rebuild_shared(t, r);
  if (!v->type->rebuild)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a %s is returned", v->type->name);
  if (!pointer_map_set(t, &t->rebuilt, v, (void *)&rebuild_busy)) return NULL;
  r = v->type->rebuild(t, v);
  if (!r && !trace_pending(t))
    trace_break(t, BREAK_UNSUPPORTED_TYPE, "a %s is returned", v->type->name);
  return r && pointer_map_set(t, &t->rebuilt, v, r) && !trace_pending(t) ? r : NULL;
}

recipe *trace_rebuild_items(tracer *t, recipe *r, value *v) {
  r->items = calloc((size_t)v->seq.count + 1, sizeof *r->items);
  if (!r->items) return trace_fail(t);
  for (Py_ssize_t i = 0; i < v->seq.count; i++) {
    if (!(r->items[i] = trace_rebuild(t, v->seq.items[i]))) return NULL;
    r->number |= r->items[i]->kind == RECIPE_ROWS;
    r->count++;
  }
  return r;
}

static recipe *rebuild_const(tracer *t, PyObject *object) {
  recipe *r = object ? trace_recipe(t, RECIPE_CONST) : NULL;
  if (r)
    r->object = object;
  else
    Py_XDECREF(object);
  return r ? r : trace_pending(t) ? NULL : trace_fail(t);
}

recipe *trace_rebuild_call(tracer *t, PyObject *function, value *const *args, Py_ssize_t count) {
  recipe *called = rebuild_const(t, function), *r = called ? trace_recipe(t, RECIPE_CALL) : NULL;
  if (!r || !(r->items = calloc((size_t)count + 1, sizeof *r->items))) return trace_fail(t);
  r->items[r->count++] = called;
  for (Py_ssize_t i = 0; i < count; i++) {
    recipe *item = trace_rebuild(t, args[i]);
    if (!item) return NULL;
    r->items[r->count++] = item;
  }
  return r;
}

/* ---- one capture ---------------------------------------------------------------------------- */

static bool capture_init(tracer *t) {
  capture *c = calloc(1, sizeof *c);
  capture_tables *tables = calloc(1, sizeof *tables);
  t->capture = c;
  t->tables = tables;
  if (!c || !tables) {
    free(c);
    free(tables);
    t->capture = NULL;
    return PyErr_NoMemory(), false;
  }
  c->tables = tables;
  loom_graph_init(&c->graph);
  tables->sources = source_table_new();
  tables->names = PyList_New(0);
  t->keep = PyList_New(0);
  if (!tables->sources || !tables->names || !t->keep) return PyErr_NoMemory(), false;
  value *none = value_const(t, Py_None), *yes = value_const(t, Py_True),
        *no = value_const(t, Py_False);
  t->none = none;
  t->true_value = yes;
  t->false_value = no;
  t->null = value_new(t, &value_null_type);
  t->not_implemented = value_new(t, &value_null_type);
  return none && yes && no && t->null && t->not_implemented;
}

int capture_each(const capture *c, visitproc visit, void *arg) {
  const capture_tables *tables = c->tables;
  for (uint32_t i = 0; i < c->guard_count; i++)
    Py_VISIT(c->guards[i].object);
  for (uint32_t i = 0; i < c->input_count; i++)
    Py_VISIT(c->inputs[i].constant);
  for (uint32_t i = 0; i < tables->recipe_count; i++)
    Py_VISIT(tables->recipes[i]->object);
  for (uint32_t i = 0; i < c->change_count; i++)
    Py_VISIT(c->changes[i].key);
  Py_VISIT(tables->names);
  Py_VISIT(c->hosts);
  Py_VISIT(c->formulas);
  return source_table_traverse(tables->sources, visit, arg);
}

static int capture_release(PyObject *object, void *context) {
  if (!capture_borrows(context, object)) Py_DECREF(object);
  return 0;
}

void capture_free(capture *c) {
  if (!c) return;
  capture_tables *tables = c->tables;
  capture_each(c, capture_release, c);
  for (uint32_t i = 0; i < c->guard_count; i++)
    free(c->guards[i].payload);
  for (uint32_t i = 0; i < tables->recipe_count; i++) {
    free(tables->recipes[i]->items);
    free(tables->recipes[i]->payload);
    free(tables->recipes[i]);
  }
  free(tables->recipes);
  free(c->guards);
  free(c->inputs);
  free(c->changes);
  free(c->effects);
  free(c->shared);
  free(c->loops);
  free(c->warnings);
  free(c->weak);
  free(c->packed.data);
  loom_graph_fini(&c->graph);
  source_table_free(tables->sources);
  free(tables);
  free(c);
}

/* For the collector, which is to see what is owned. */
typedef struct capture_owned {
  const capture *c;
  visitproc visit;
  void *arg;
} capture_owned;

static int capture_visit_owned(PyObject *object, void *context) {
  const capture_owned *o = context;
  return capture_borrows(o->c, object) ? 0 : o->visit(object, o->arg);
}

int capture_traverse(const capture *c, visitproc visit, void *arg) {
  capture_owned owned = {c, visit, arg};
  return c->weak_count ? capture_each(c, capture_visit_owned, &owned) : capture_each(c, visit, arg);
}

static value *capture_slot(tracer *t, Py_ssize_t i, PyObject *name) {
  const source *s = trace_source(t, SOURCE_ARG, NULL, NULL, name, i);
  return value_lazy(t, t->args[i], s);
}

static bool capture_arguments(tracer *t, frame *f) {
  if (t->arg_count > f->code->locals)
    return trace_break(t, BREAK_OPCODE, "more arguments than locals") != NULL;
  for (Py_ssize_t i = 0; i < t->arg_count; i++)
    if (t->args[i] && !(f->locals[i] = capture_slot(
                            t, i, PyTuple_GET_ITEM(f->code->object->co_localsplusnames, i))))
      return false;
  return true;
}

/* A cell that the function has made: nothing but its content may be looked at. */
static value *capture_cell(tracer *t, Py_ssize_t i, PyObject *name) {
  PyObject *cell = t->args[i], *key = trace_keep(t, PyUnicode_InternFromString("cell_contents"));
  const source *s = trace_source(t, SOURCE_ARG, NULL, NULL, name, i);
  const source *content = s && key ? trace_source(t, SOURCE_DERIVED, s, NULL, key, 0) : NULL;
  value *v = content ? value_new(t, &value_cell_type) : NULL;
  if (!v) return NULL;
  v->source = s;
  v->object = trace_keep(t, Py_NewRef(cell));
  if (!pointer_map_set(t, &t->wrapped, cell, v)) return NULL;
  if (!PyCell_GET(cell)) return guard_simple(t, GUARD_MISSING, content, NULL, 0), v;
  v->cell.content = value_lazy(t, PyCell_GET(cell), content);
  return v->cell.content ? v : NULL;
}

/* Free variables come with the function; the other slots hold what the frame held. */
static bool capture_frame_state(tracer *t, frame *f) {
  PyCodeObject *code = f->code->object;
  Py_ssize_t locals = code->co_nlocalsplus - code->co_nfreevars;
  value *closure = f->function->closure;
  for (Py_ssize_t i = 0; i < t->arg_count; i++) {
    bool local = i < locals, handled = i >= locals + t->start->depth;
    PyObject *name = local     ? Py_NewRef(PyTuple_GET_ITEM(code->co_localsplusnames, i))
                     : handled ? PyUnicode_FromString("<handled>")
                               : PyUnicode_FromFormat("stack[%zd]", i - locals);
    if (!trace_keep(t, name)) return trace_fail(t) != NULL;
    bool cell =
        local && t->args[i] && PyCell_Check(t->args[i]) && loom_local_is_cell(code, (int32_t)i);
    value *v = !t->args[i] ? (local ? NULL : t->null)
               : cell      ? capture_cell(t, i, name)
                           : capture_slot(t, i, name);
    if (!v && t->args[i]) return false;
    if (local)
      f->locals[i] = v;
    else if (handled)
      t->handled = v;
    else
      frame_push(f, v);
  }
  t->handlers = t->start->handled;
  for (int i = 0; closure && i < code->co_nfreevars; i++)
    f->locals[locals + i] = closure->seq.items[i];
  while (f->pc < f->code->count && f->code->instrs[f->pc].unit < t->start->unit)
    f->pc++;
  return true;
}

static frame *capture_root(tracer *t, PyFunctionObject *function) {
  PyObject *own = function == loom_function_now ? NULL : (PyObject *)function;
  const source *s = trace_source(t, SOURCE_FUNCTION, NULL, own, NULL, 0);
  value *v = s ? value_wrap(t, (PyObject *)function, s) : NULL;
  function_data *data = v ? function_get(t, v) : NULL;
  frame *f = data ? frame_new(t, data) : NULL;
  if (!f) return NULL;
  return (t->start ? capture_frame_state(t, f) : capture_arguments(t, f)) ? f : NULL;
}

void capture_compact(capture *c) {
  loom_graph compact;
  if (!loom_graph_copy(&c->graph, &compact)) return;
  loom_graph_fini(&c->graph);
  c->graph = compact;
}

void capture_pack(capture *c) {
  loom_graph interface;
  if (c->packed.data || !loom_graph_interface(&c->graph, &interface)) return;
  if (loom_graph_pack(&c->graph, &c->packed)) {
    loom_graph_fini(&c->graph);
    c->graph = interface;
  } else {
    loom_graph_fini(&interface);
  }
}

const loom_graph *capture_graph(const capture *c, loom_graph *room) {
  loom_graph_init(room);
  if (!c->packed.data) return &c->graph;
  return loom_graph_unpack(&c->packed, room) ? room : NULL;
}

/* What nothing needs goes, but for what the library would have warned of. */
static bool capture_tidy(capture *c, uint32_t seen) {
  if (!loom_graph_keep_raising(&c->graph)) return false;
  loom_graph_prune(&c->graph);
  for (uint32_t n = 0; n < c->graph.node_count; n++)
    c->fp_ops |= loom_node_fp(&c->graph, &c->graph.nodes[n]) & seen;
  return true;
}

/* One slot of a frame that is left: what nothing has looked at is the live object. */
static recipe *capture_slot_recipe(tracer *t, value *v) {
  if (!value_is_lazy(v)) return trace_rebuild(t, v);
  recipe *r = trace_recipe(t, RECIPE_SOURCE);
  if (r) r->source = v->source;
  return r;
}

/* What the frame holds in front of the instruction that comes next, as a tuple. */
static recipe *capture_frame(tracer *t, const frame *f) {
  const PyCodeObject *code = f->code->object;
  int32_t locals = code->co_nlocalsplus - code->co_nfreevars;
  frame_shape *at = &t->capture->at;
  int32_t slots = locals + f->sp + !!t->leaving;
  *at = (frame_shape){.unit = f->code->instrs[f->pc].unit, .depth = f->sp, .handled = t->handlers};
  if (!t->handlers != !t->leaving || slots > LOOM_MAX_SLOTS)
    return trace_break(t, BREAK_OPCODE, "the frame cannot be left here");
  recipe *all = trace_recipe(t, RECIPE_TUPLE);
  if (!all || !(all->items = calloc((size_t)slots + 1, sizeof *all->items))) return trace_fail(t);
  for (int32_t i = 0; i < slots; i++) {
    value *v = i < locals ? f->locals[i] : i < locals + f->sp ? f->stack[i - locals] : t->leaving;
    if (!v || v == t->null) continue;
    if (!(all->items[all->count] = capture_slot_recipe(t, v))) return NULL;
    all->count++;
    slot_add(&at->present, i);
  }
  t->capture->stopped = true;
  return all;
}

/* `result` is NULL when the frame was left in the middle. */
static void capture_finish(tracer *t, const frame *root, value *result) {
  for (const frame *f = t->generators; f; f = f->next_generator)
    if (generator_unwinds(f)) trace_break(t, BREAK_GENERATOR, "a generator is left inside a try");
  for (const loom_adapter *const *a = loom_adapters(); *a && !trace_pending(t); a++)
    if ((*a)->finish && !(*a)->finish(t) && !trace_pending(t))
      trace_break(t, BREAK_COMPILER, "%s", (*a)->name);
  if (!trace_pending(t))
    t->capture->result = result ? trace_rebuild(t, result) : capture_frame(t, root);
  if (!trace_pending(t)) shadow_finish(t);
  if (!trace_pending(t) && !capture_tidy(t->capture, t->fp_seen)) PyErr_NoMemory();
  if (!trace_pending(t)) capture_mark_overwrites(t->capture);
  if (!trace_pending(t) && t->made.count) source_table_forget_made(t);
}

/* An exception that leaves the function: the original function raises it itself. */
static void capture_raises(tracer *t) {
  value *exception = t->raised;
  PyTypeObject *type = (PyTypeObject *)exception_class(exception);
  trace_raise_plainly(t, "%s: %s", type->tp_name, exception_message(exception));
}

static void capture_run(tracer *t, PyFunctionObject *function) {
  int flags = ((PyCodeObject *)function->func_code)->co_flags;
  bool yielded = false;
  frame *f = capture_root(t, function);
  t->root = f;
  if (f && !t->start && flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) {
    f->pc = 1;
    t->frame = f;
    trace_break(t, BREAK_GENERATOR, "%s", PyUnicode_AsUTF8(function->func_name));
    return;
  }
  value *result = f ? frame_run(t, f, &yielded) : NULL;
  t->frame = f;
  if (roll_is_open(t)) return;
  if (result || t->stopped) capture_finish(t, f, result);
  if (t->state == TRACE_RAISING) capture_raises(t);
  if (!t->capture->result && t->state == TRACE_GOING)
    trace_break(t, BREAK_OPCODE, "capture failed silently");
}

/* Restarts beyond those for arguments: each makes a size a constant, or two sizes one symbol. */
#define CAPTURE_SIZE_RESTARTS 64

static void capture_forget_symbols(size_table *sizes) {
  for (uint32_t i = 0; sizes && i < sizes->count; i++)
    sizes->facts[i].symbol = 0;
}

static capture *capture_range(PyFunctionObject *function, const frame_shape *start, int64_t stop,
                              PyObject *const *args, Py_ssize_t count, const number_mode *modes,
                              size_table *sizes) {
  number_mode *numbers = calloc((size_t)count + 1, sizeof *numbers);
  bool never_choose = stop >= 0;
  int64_t late[LOOM_MAX_SYMBOLS];
  roll_bans bans = {.count = 0};
  capture *c = NULL;
  for (int i = 0; i < LOOM_MAX_SYMBOLS; i++)
    late[i] = LATE_FREE;
  if (!numbers) return (capture *)PyErr_NoMemory();
  if (modes) memcpy(numbers, modes, (size_t)count * sizeof *numbers);
  if (!builtins_init()) goto done;
  /* Each restart makes at least one argument known, so this ends; at last no size is a symbol. */
  for (uint32_t i = 0; sizes && i < sizes->count; i++)
    sizes->facts[i].skip = false;
  Py_ssize_t attempts = count + 2 + CAPTURE_SIZE_RESTARTS + 2 * ROLL_BANS;
  for (Py_ssize_t attempt = 0; attempt <= attempts; attempt++) {
    tracer t = {.args = args,
                .arg_count = count,
                .numbers = numbers,
                .sizes = sizes,
                .start = start,
                .stop = stop,
                .late_known = late,
                .never_choose = &never_choose,
                .blamed = -1,
                .bans = &bans,
                .stack = __builtin_frame_address(0)};
    capture_forget_symbols(sizes);
    if (sizes && attempt >= CAPTURE_SIZE_RESTARTS) sizes->never = true;
    if (capture_init(&t)) capture_run(&t, function);
    trace_status state = PyErr_Occurred() ? TRACE_ERROR : t.state;
    loom_arena_fini(&t.arena);
    Py_XDECREF(t.keep);
    c = t.capture;
    if (state != TRACE_RESTART && state != TRACE_ERROR) break;
    capture_free(c);
    c = NULL;
    if (state == TRACE_ERROR) break;
  }
done:
  roll_bans_free(&bans);
  free(numbers);
  return c;
}

capture *capture_from(PyFunctionObject *function, const frame_shape *start, PyObject *const *args,
                      Py_ssize_t count, const number_mode *modes, size_table *sizes) {
  return capture_range(function, start, -1, args, count, modes, sizes);
}

capture *capture_function(PyFunctionObject *function, PyObject *const *args, Py_ssize_t count,
                          const number_mode *modes, size_table *sizes) {
  return capture_range(function, NULL, -1, args, count, modes, sizes);
}

/* What a frame holds may be of a kind that cannot be rebuilt. So the last instruction is looked for
 * in front of which all can be: it is the one that makes such an object, and is then run as it is.
 */
capture *capture_until(PyFunctionObject *function, const frame_shape *start, PyObject *const *args,
                       Py_ssize_t count, const number_mode *modes, size_table *sizes,
                       int64_t step) {
  capture *best = NULL;
  int64_t good = -1, bad = step + 1, at = step;
  while (bad - good > 1) {
    capture *c = capture_range(function, start, at, args, count, modes, sizes);
    if (!c) break;
    if (c->broke.reason == BREAK_PUT_OFF) {
      capture_free(c);
      break;
    }
    if (c->broke.reason || !c->stopped) {
      bad = at;
      capture_free(c);
    } else {
      good = at;
      capture_free(best);
      best = c;
    }
    at = good + (bad - good) / 2;
  }
  if (!PyErr_Occurred()) return best;
  capture_free(best);
  return NULL;
}

/* ---- for tests ------------------------------------------------------------------------------ */

static const char *const guard_names[] = {
    [GUARD_TYPE] = "type",       [GUARD_IDENTITY] = "is",     [GUARD_NUMBER] = "equals",
    [GUARD_LENGTH] = "length",   [GUARD_DICT_KEYS] = "keys",  [GUARD_MISSING] = "missing",
    [GUARD_ARRAY] = "array",     [GUARD_SAME] = "same",       [GUARD_DISJOINT] = "disjoint",
    [GUARD_NONZERO] = "nonzero", [GUARD_APART] = "apart",     [GUARD_SIZE] = "size",
    [GUARD_CUSTOM] = "custom",   [GUARD_PRESENT] = "present", [GUARD_IN_PARTS] = "parts"};

static PyObject *debug_guard(const guard *g) {
  PyObject *name = g->source ? source_name(g->source) : PyUnicode_FromString(""), *text = NULL;
  if (!name) return NULL;
  if (g->kind == GUARD_NUMBER)
    text = PyUnicode_FromFormat("%U equals %R", name, g->object);
  else if (g->kind == GUARD_TYPE)
    text = PyUnicode_FromFormat("%U type %s", name, ((PyTypeObject *)g->object)->tp_name);
  else if (g->kind == GUARD_IDENTITY)
    text = PyUnicode_FromFormat("%U is <%s>", name, Py_TYPE(g->object)->tp_name);
  else
    text = PyUnicode_FromFormat("%U %s %lld", name, guard_names[g->kind], (long long)g->number);
  Py_DECREF(name);
  return text;
}

static PyObject *debug_guards(const capture *c) {
  PyObject *list = PyList_New(0);
  for (uint32_t i = 0; list && i < c->guard_count; i++) {
    PyObject *text = debug_guard(&c->guards[i]);
    if (!text || PyList_Append(list, text)) Py_CLEAR(list);
    Py_XDECREF(text);
  }
  return list;
}

static PyObject *debug_recipe(const capture *c, const recipe *r, PyObject *const *args,
                              PyObject *memo);

static PyObject *debug_items(const capture *c, const recipe *r, PyObject *const *args,
                             PyObject *memo) {
  PyObject *list = PyList_New(0);
  for (uint32_t i = 0; list && i < r->count; i++) {
    PyObject *item = debug_recipe(c, r->items[i], args, memo);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static PyObject *debug_dict(PyObject *list) {
  PyObject *dict = PyDict_New();
  for (Py_ssize_t i = 0; dict && i < PyList_GET_SIZE(list); i += 2)
    if (PyDict_SetItem(dict, PyList_GET_ITEM(list, i), PyList_GET_ITEM(list, i + 1)))
      Py_CLEAR(dict);
  return dict;
}

static PyObject *debug_call(PyObject *list) {
  PyObject *args = PyList_GetSlice(list, 1, PyList_GET_SIZE(list)),
           *tuple = args ? PyList_AsTuple(args) : NULL;
  PyObject *result = tuple ? PyObject_Call(PyList_GET_ITEM(list, 0), tuple, NULL) : NULL;
  Py_XDECREF(args);
  Py_XDECREF(tuple);
  return result;
}

static PyObject *debug_container(const recipe *r, PyObject *list) {
  PyObject *result;
  switch (r->kind) {
  case RECIPE_TUPLE: result = PyList_AsTuple(list); break;
  case RECIPE_SET: result = PySet_New(list); break;
  case RECIPE_FROZENSET: result = PyFrozenSet_New(list); break;
  case RECIPE_DICT: result = debug_dict(list); break;
  case RECIPE_CALL: result = debug_call(list); break;
  case RECIPE_SLICE:
    result =
        PySlice_New(PyList_GET_ITEM(list, 0), PyList_GET_ITEM(list, 1), PyList_GET_ITEM(list, 2));
    break;
  default: return list;
  }
  Py_DECREF(list);
  return result;
}

/* The object that a recipe without arrays stands for; NULL without an exception when it needs the
 * graph. */
static PyObject *debug_recipe(const capture *c, const recipe *r, PyObject *const *args,
                              PyObject *memo) {
  if (r->kind == RECIPE_CONST) return Py_NewRef(r->object);
  if (r->kind == RECIPE_SOURCE) return source_read(r->source, args);
  if (r->kind == RECIPE_SHARED) r = c->shared[r->number];
  PyObject *key = PyLong_FromVoidPtr((void *)r),
           *known = key ? PyDict_GetItemWithError(memo, key) : NULL;
  if (known || !key) return Py_XDECREF(key), Py_XNewRef(known);
  bool container = r->kind >= RECIPE_TUPLE && r->kind <= RECIPE_CALL;
  PyObject *list = container ? debug_items(c, r, args, memo) : NULL;
  PyObject *result = list ? debug_container(r, list) : NULL;
  if (result && PyDict_SetItem(memo, key, result)) Py_CLEAR(result);
  Py_DECREF(key);
  return result;
}

static PyObject *debug_graph(const capture *c) {
  char *text = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&text, &size);
  if (!file) return PyErr_NoMemory();
  loom_graph_print(&c->graph, file);
  fclose(file);
  PyObject *result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
  free(text);
  return result;
}

static PyObject *debug_break(const break_info *info) {
  static const char *const names[] = {
#define LOOM_BREAK(CODE, NAME, TEXT, HINT) [CODE] = #NAME,
#include "frontend/breaks.def"
#undef LOOM_BREAK
  };
  if (!info->reason) Py_RETURN_NONE;
  return Py_BuildValue("(isssii)", info->reason, names[info->reason], info->detail,
                       info->location.file ? info->location.file : "", (int)info->location.line,
                       (int)info->location.column);
}

static PyObject *debug_report(const capture *c, PyObject *const *args) {
  PyObject *memo = PyDict_New(), *result = NULL, *known = Py_False;
  if (!memo) return NULL;
  if (!c->broke.reason) result = debug_recipe(c, c->result, args, memo);
  Py_DECREF(memo);
  if (PyErr_Occurred()) return NULL;
  if (result) known = Py_True;
  if (!result) result = Py_NewRef(Py_None);
  return Py_BuildValue("{s:N,s:N,s:O,s:N,s:N}", "graph", debug_graph(c), "guards", debug_guards(c),
                       "known", known, "result", result, "break", debug_break(&c->broke));
}

/* (code,) -> how many instructions it decodes to. */
static PyObject *debug_decode(PyObject *code) {
  loom_arena arena = {0};
  loom_error err = {0};
  loom_code *decoded = loom_decode((PyCodeObject *)code, &arena, &err);
  PyObject *result = decoded ? PyLong_FromLong(decoded->count) : NULL;
  if (!decoded) PyErr_SetString(PyExc_ValueError, err.message);
  loom_arena_fini(&arena);
  return result;
}

/* Slots in the order of SOURCE_ARG, bound as a plain positional call with defaults. */
static bool debug_bind(PyFunctionObject *f, PyObject *tuple, PyObject **slots,
                       Py_ssize_t *count_out) {
  PyCodeObject *code = (PyCodeObject *)f->func_code;
  Py_ssize_t given = PyTuple_GET_SIZE(tuple), named = code->co_argcount;
  Py_ssize_t defaults = f->func_defaults ? PyTuple_GET_SIZE(f->func_defaults) : 0;
  if (named + code->co_kwonlyargcount + 2 > 64) return false;
  for (Py_ssize_t i = 0; i < named; i++) {
    if (i < given)
      slots[i] = PyTuple_GET_ITEM(tuple, i);
    else if (i >= named - defaults)
      slots[i] = PyTuple_GET_ITEM(f->func_defaults, i - (named - defaults));
    else
      return false;
  }
  Py_ssize_t slot = named;
  for (Py_ssize_t i = 0; i < code->co_kwonlyargcount; i++) {
    PyObject *name = PyTuple_GET_ITEM(code->co_localsplusnames, slot);
    PyObject *item = f->func_kwdefaults ? PyDict_GetItemWithError(f->func_kwdefaults, name) : NULL;
    if (!item) return false;
    slots[slot++] = item;
  }
  if (code->co_flags & CO_VARARGS)
    slots[slot++] =
        PyTuple_GetSlice(tuple, given < named ? given : named, given); /* kept alive by the test */
  else if (given > named)
    return false;
  if (code->co_flags & CO_VARKEYWORDS) slots[slot++] = PyDict_New();
  *count_out = slot;
  return true;
}

PyObject *loom_debug_capture(PyObject *self, PyObject *args) {
  PyObject *function, *tuple = NULL, *slots[64] = {NULL};
  int symbolic = 0;
  number_mode flags[64];
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "O|O!p", &function, &PyTuple_Type, &tuple, &symbolic)) return NULL;
  if (PyCode_Check(function)) return debug_decode(function);
  if (!PyFunction_Check(function) || !tuple ||
      !debug_bind((PyFunctionObject *)function, tuple, slots, &count)) {
    PyErr_SetString(PyExc_TypeError, "a Python function and a tuple of its arguments are needed");
    return NULL;
  }
  for (int i = 0; i < 64; i++)
    flags[i] = symbolic ? NUMBER_INPUT : NUMBER_KNOWN;
  size_table sizes = {.always = symbolic, .never = !symbolic};
  capture *c = capture_function((PyFunctionObject *)function, slots, count, flags, &sizes);
  size_table_clear(&sizes);
  PyObject *report = c ? debug_report(c, slots) : NULL;
  capture_free(c);
  PyCodeObject *code = (PyCodeObject *)((PyFunctionObject *)function)->func_code;
  Py_ssize_t slot = code->co_argcount + code->co_kwonlyargcount;
  if (code->co_flags & CO_VARARGS) Py_XDECREF(slots[slot++]);
  if (code->co_flags & CO_VARKEYWORDS) Py_XDECREF(slots[slot]);
  return report;
}
