/* ATen ops without an emitter: called in torch, inside the plan.
 *
 * Each has a slot: (op, arguments with holes, keywords with holes, specs of the operands, specs of
 * the results). A tensor that is dense in torch has the same layout in the plan's buffer, since
 * results of some ops depend on it: the buffer's axes are those of the tensor, sorted by their
 * strides, with a transpose before or after the call. A view of an argument lies in the buffer of
 * that argument. Any other tensor with gaps is in C order. Results are copied into the plan's
 * buffers. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "frontend/torch/fx.h"
#include "frontend/torch/fx_internal.h"
#include "frontend/torch/torch.h"
#include "frontend/torch/torch_internal.h"
#include "graph/emit.h"
#include "loom_ops_control.h"

#include <string.h>

static PyObject *host_hole(void) {
  static PyObject *hole;
  if (!hole) hole = PyObject_CallNoArgs((PyObject *)&PyBaseObject_Type);
  return hole;
}

/* Lists and tuples made again, with `leaf` for what lies in them. A new reference. */
typedef PyObject *(*host_leaf)(void *user, PyObject *o);

static PyObject *host_map(PyObject *o, host_leaf leaf, void *user) {
  bool is_list = PyList_Check(o);
  if (!is_list && !PyTuple_CheckExact(o)) return leaf(user, o);
  Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  PyObject *out = is_list ? PyList_New(n) : PyTuple_New(n);
  for (Py_ssize_t i = 0; out && i < n; i++) {
    PyObject *item = host_map(PySequence_Fast_GET_ITEM(o, i), leaf, user);
    if (!item)
      Py_CLEAR(out);
    else if (is_list)
      PyList_SET_ITEM(out, i, item);
    else
      PyTuple_SET_ITEM(out, i, item);
  }
  return out;
}

/* A symbolic number among the arguments, as slice(hole, code): no op takes a slice. */
static PyObject *host_number(int64_t number) {
  PyObject *code = PyLong_FromLongLong(number);
  if (!code || !LOOM_STRIDE_IS_SYM(number)) return code;
  PyObject *slice = PySlice_New(host_hole(), code, NULL);
  Py_DECREF(code);
  return slice;
}

#define HOST_MAX_OPERANDS 64

typedef struct host_row {
  fx_call *call;
  loom_value operands[HOST_MAX_OPERANDS];
  uint32_t count;
  PyObject *specs; /* list of bytes: torch_spec of each operand */
} host_row;

/* The spec of a tensor, and its axes in the order in which they lie in the buffer. */
static PyObject *host_spec(fx_import *im, PyObject *meta, int64_t *axes) {
  torch_spec spec;
  int64_t strides[LOOM_MAX_RANK];
  if (!fx_read_spec(im, meta, &spec)) return NULL;
  if (!fx_spec_dense(im, &spec, strides)) {
    PyErr_SetString(PyExc_NotImplementedError, "a size is too complicated");
    return NULL;
  }
  memcpy(spec.strides, strides, sizeof *strides * (size_t)spec.rank);
  fx_spec_order(im, &spec, axes);
  return PyBytes_FromStringAndSize((const char *)&spec, sizeof spec);
}

/* ---- at import ------------------------------------------------------------------------------- */

/* An operand that is a part of a buffer: where it lies in that, in elements. */
typedef struct host_part {
  torch_spec spec;
  int64_t offset;
} host_part;

static bool host_is_dense(fx_import *im, const torch_spec *spec) {
  torch_spec sorted = *spec;
  int64_t strides[LOOM_MAX_RANK];
  if (!fx_spec_dense(im, &sorted, strides)) return error_drop(), false;
  for (int i = 0; i < spec->rank; i++)
    if (spec->sizes[i] != 1 && spec->strides[i] != strides[i]) return false;
  return true;
}

#define HOST_MAX_VIEWS 8 /* of views, one from another */

/* The placeholder, if there is one, that a node is made of, by operations on first arguments. */
static fx_value *host_origin(fx_import *im, PyObject *node) {
  fx_value *origin = NULL;
  Py_INCREF(node);
  for (int steps = 0; node && steps < HOST_MAX_VIEWS && !origin; steps++) {
    PyObject *args = PyObject_GetAttrString(node, "args");
    bool some = args && PyTuple_Check(args) && PyTuple_GET_SIZE(args) > 0;
    Py_SETREF(node, some ? Py_NewRef(PyTuple_GET_ITEM(args, 0)) : NULL);
    Py_XDECREF(args);
    fx_value *v = node ? fx_value_of(im, node) : NULL;
    if (v && v->kind == FX_TENSOR && v->placeholder >= 0) origin = v;
  }
  Py_XDECREF(node);
  error_drop();
  return origin;
}

/* The placeholder in whose memory, which is dense, a view of it lies; NULL: this is none. */
static const fx_value *host_base(fx_import *im, PyObject *node, fx_value *v, host_part *part) {
  torch_spec given;
  fx_value *input = node && v->placeholder < 0 ? host_origin(im, node) : NULL;
  if (!input || !fx_part_of(im, v, input, &part->spec, &part->offset)) return NULL;
  bool dense = fx_read_spec(im, input->meta, &given) && host_is_dense(im, &given);
  error_drop();
  return dense && part->offset >= 0 ? input : NULL;
}

/* With a `node`, that of the value, its operand may be a part of a placeholder's. */
static PyObject *host_operand(host_row *row, PyObject *node, fx_value *v) {
  if (row->count == HOST_MAX_OPERANDS) {
    PyErr_SetString(PyExc_NotImplementedError, "too many operands");
    return NULL;
  }
  int64_t axes[LOOM_MAX_RANK];
  host_part part = {.offset = 0};
  const fx_value *base = host_base(row->call->im, node, v, &part);
  PyObject *spec = host_spec(row->call->im, (base ? base : v)->meta, axes);
  if (spec && base) Py_SETREF(spec, PyBytes_FromStringAndSize((const char *)&part, sizeof part));
  if (!spec || PyList_Append(row->specs, spec) < 0) return Py_XDECREF(spec), NULL;
  Py_DECREF(spec);
  row->operands[row->count++] = loom_emit_transpose(row->call->b, (base ? base : v)->value, axes);
  return Py_NewRef(host_hole());
}

/* What stands for an argument: a hole for a tensor, else the number or object. A new reference. */
static PyObject *host_template(void *user, PyObject *o) {
  host_row *row = user;
  fx_value *v = fx_value_of(row->call->im, o);
  if (!v) return Py_NewRef(o);
  if (v->kind == FX_TENSOR) return host_operand(row, o, v);
  if (v->kind == FX_OBJECT) return Py_NewRef(v->object);
  if (v->kind == FX_SIZE) return host_number(v->number);
  PyErr_SetString(PyExc_NotImplementedError, "an operand that is neither a tensor nor a number");
  return NULL;
}

static PyObject *host_keywords(PyObject *kwargs, host_leaf leaf, void *user) {
  PyObject *out = PyDict_New(), *key, *item;
  Py_ssize_t at = 0;
  while (out && PyDict_Next(kwargs, &at, &key, &item)) {
    PyObject *made = host_map(item, leaf, user);
    if (!made || PyDict_SetItem(out, key, made) < 0) Py_CLEAR(out);
    Py_XDECREF(made);
  }
  return out;
}

static bool host_is_named(PyObject *function, const char *name) {
  PyObject *own = PyObject_GetAttrString(function, "__name__");
  bool named = own && PyUnicode_Check(own) && PyUnicode_CompareWithASCIIString(own, name) == 0;
  error_drop();
  Py_XDECREF(own);
  return named;
}

/* Which of several results a node of the graph takes, by its users; false where that is not told.
 */
static bool host_taken(fx_call *c, bool *taken) {
  PyObject *users = PyObject_GetAttrString(c->node, "users");
  PyObject *list = users ? PySequence_List(users) : NULL;
  bool told = list != NULL;
  for (Py_ssize_t i = 0; told && i < PyList_GET_SIZE(list); i++) {
    PyObject *user = PyList_GET_ITEM(list, i);
    PyObject *name = PyObject_GetAttrString(user, "target");
    PyObject *args = name ? PyObject_GetAttrString(user, "args") : NULL;
    PyObject *number = args && PyTuple_Check(args) && PyTuple_GET_SIZE(args) == 2
                           ? PyTuple_GET_ITEM(args, 1)
                           : NULL;
    Py_ssize_t at = number && PyLong_Check(number) ? PyLong_AsSsize_t(number) : -1;
    told = at >= 0 && at < (Py_ssize_t)c->result_count && host_is_named(name, "getitem");
    if (told) taken[at] = true;
    Py_XDECREF(args);
    Py_XDECREF(name);
  }
  error_drop();
  Py_XDECREF(list);
  Py_XDECREF(users);
  return told;
}

/* Results that nobody takes need not be what torch declares: some are undefined when the op runs.
 */
static void host_leave_untaken(fx_call *c) {
  bool taken[FX_MAX_RESULTS] = {false};
  if (!(PyTuple_Check(c->meta) || PyList_Check(c->meta)) || !host_taken(c, taken)) return;
  for (uint32_t i = 0; i < c->result_count; i++)
    c->present[i] &= taken[i];
}

/* Specs of the results, whose types become those of the buffers; `axes` of each that is a tensor.
 */
static PyObject *host_results(fx_call *c, int64_t (*axes)[LOOM_MAX_RANK]) {
  PyObject *specs = PyList_New(0);
  bool many = PyTuple_Check(c->meta) || PyList_Check(c->meta);
  for (uint32_t i = 0; specs && i < c->result_count; i++) {
    PyObject *meta = many ? PySequence_Fast_GET_ITEM(c->meta, (Py_ssize_t)i) : c->meta;
    PyObject *spec = c->present[i] ? host_spec(c->im, meta, axes[i]) : Py_NewRef(Py_None);
    if (!spec || PyList_Append(specs, spec) < 0) Py_CLEAR(specs);
    Py_XDECREF(spec);
  }
  return specs;
}

/* Has the op this property? `path` is a dotted pair of attributes. */
static bool host_is(PyObject *target, const char *attribute, const char *property) {
  PyObject *object = PyObject_GetAttrString(target, attribute);
  PyObject *value = object ? PyObject_GetAttrString(object, property) : NULL;
  bool is = value && PyObject_IsTrue(value) > 0;
  error_drop();
  Py_XDECREF(value);
  Py_XDECREF(object);
  return is;
}

static bool host_is_random(PyObject *target) {
  PyObject *tags = PyObject_GetAttrString(target, "tags");
  PyObject *text = tags ? PyObject_Str(tags) : NULL;
  const char *words = text ? PyUnicode_AsUTF8(text) : NULL;
  bool random = words && strstr(words, "nondeterministic_seeded");
  error_drop();
  Py_XDECREF(text);
  Py_XDECREF(tags);
  return random;
}

/* A result as torch has it, of what lies in a buffer of its sorted axes. */
static loom_value host_result(fx_call *c, loom_value v, const int64_t *axes, int rank) {
  int64_t back[LOOM_MAX_RANK];
  for (int i = 0; i < rank; i++)
    back[axes[i]] = i;
  return loom_emit_transpose(c->b, v, back);
}

static bool host_node(host_row *row, PyObject *entry, int64_t (*axes)[LOOM_MAX_RANK],
                      loom_value *out) {
  fx_call *c = row->call;
  loom_type types[FX_MAX_RESULTS];
  uint32_t count = 0;
  for (uint32_t i = 0; i < c->result_count; i++) {
    if (!c->present[i]) continue;
    types[count] = c->types[i];
    for (int k = 0; k < c->types[i].rank; k++)
      types[count].dims[k] = c->types[i].dims[axes[i][k]];
    count++;
  }
  bool ordered = !count || !PyObject_HasAttrString(c->target, "_schema") ||
                 PyObject_HasAttrString(c->target, "is_ordered");
  const char *effects = ordered || host_refuses_elements(c) ? "raises"
                        : host_is_random(c->target)         ? "random raises"
                                                            : "pure raises";
  int64_t slot = PyList_GET_SIZE(c->im->hosts);
  loom_attr attrs[3] = {{.kind = LOOM_ATTR_STR, .str = "torch"},
                        {.kind = LOOM_ATTR_STR, .str = effects},
                        {.kind = LOOM_ATTR_I64, .i = slot}};
  loom_value v =
      loom_emit(c->b, LOOM_OP_HOST_CALL, row->operands, row->count, attrs, 3, types, count);
  if (v == LOOM_NO_VALUE) {
    PyErr_SetString(PyExc_NotImplementedError, c->b->err.message);
    return false;
  }
  for (uint32_t i = 0; i < c->result_count; i++)
    if (c->present[i]) out[i] = host_result(c, v++, axes[i], c->types[i].rank);
  return PyList_Append(c->im->hosts, entry) == 0;
}

/* Which op runs through torch, why, and for which line of the model. */
static bool host_record(fx_call *c) {
  const loom_location *at = &c->b->location;
  PyObject *reason = Py_BuildValue("(Os)", c->target, c->why);
  PyObject *place =
      at->file ? PyUnicode_FromFormat("%s:%d", at->file, at->line) : PyUnicode_FromString("");
  bool good = reason && place && PyList_Append(c->im->host_reasons, reason) == 0 &&
              PyList_Append(c->im->host_places, place) == 0;
  Py_XDECREF(place);
  Py_XDECREF(reason);
  return good;
}

/* ---- of constants alone: at once ---- */

typedef struct host_settled {
  fx_import *im;
  bool varies;
  int tensors;
} host_settled;

/* The tensor that is bound to a value, lying as the graph's did when it was traced; a new
 * reference, NULL for other values. */
static PyObject *host_bound(fx_import *im, const fx_value *v) {
  PyObject *tensor = v->kind == FX_TENSOR ? fx_bound(im, v->value) : NULL;
  PyObject *sizes = tensor ? PyObject_GetAttrString(tensor, "shape") : NULL;
  PyObject *strides = sizes ? PyObject_CallMethod(v->meta, "stride", NULL) : NULL;
  PyObject *made =
      strides ? PyObject_CallMethod(tensor, "new_empty_strided", "OO", sizes, strides) : NULL;
  if (made) Py_SETREF(made, PyObject_CallMethod(made, "copy_", "O", tensor));
  error_drop();
  Py_XDECREF(strides);
  Py_XDECREF(sizes);
  return made;
}

static PyObject *host_settle(void *user, PyObject *o) {
  host_settled *s = user;
  const fx_value *v = fx_value_of(s->im, o);
  if (!v) return Py_NewRef(o);
  if (v->kind == FX_OBJECT) return Py_NewRef(v->object);
  if (v->kind == FX_SIZE && !LOOM_STRIDE_IS_SYM(v->number)) return PyLong_FromLongLong(v->number);
  PyObject *tensor = host_bound(s->im, v);
  s->varies |= !tensor;
  s->tensors++;
  return tensor ? tensor : Py_NewRef(Py_None);
}

/* An op of torch's own gives the same for the same; not so random ones, and those that look into
 * the storage of their operand, which is a copy here. */
static bool host_is_function(PyObject *target) {
  PyObject *text = PyObject_Str(target); /* "aten.linalg_qr.default" */
  const char *name = text ? PyUnicode_AsUTF8(text) : NULL;
  bool is = name && !strncmp(name, "aten.", 5) && !strided_reads_storage(name);
  error_drop();
  Py_XDECREF(text);
  return is && !host_is_random(target);
}

/* Binds the results, if they are what torch declares. */
static bool host_bind(fx_call *c, PyObject *result, loom_value *out) {
  bool many = PyTuple_Check(result) || PyList_Check(result);
  if (c->result_count != (many ? (uint32_t)PySequence_Fast_GET_SIZE(result) : 1)) return false;
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t i = 0; i < c->result_count; i++) {
      PyObject *item = many ? PySequence_Fast_GET_ITEM(result, (Py_ssize_t)i) : result;
      loom_type type;
      if (!c->present[i]) continue;
      if (!pass && (!fx_is_fake_tensor(item) || !fx_read_type(c->im, item, &type) ||
                    !loom_type_equal(&type, &c->types[i])))
        return false;
      if (pass && (out[i] = fx_constant(c->im, item, &c->types[i])) == LOOM_NO_VALUE) return false;
    }
  return true;
}

/* What torch makes of frozen parameters is constant, too. Where torch raises, or results are not
 * what it has declared, the call is made when the plan runs. */
static bool host_emit_settled(fx_call *c, PyObject *args, PyObject *kwargs, loom_value *out) {
  host_settled s = {.im = c->im};
  if (!host_is_function(c->target)) return false;
  PyObject *list = host_map(args, host_settle, &s);
  PyObject *keywords = list && !s.varies ? host_keywords(kwargs, host_settle, &s) : NULL;
  bool settled = keywords && s.tensors && !s.varies;
  bool paused = torch_autocast_pause(c->im->place);
  PyObject *result = settled ? PyObject_Call(c->target, list, keywords) : NULL;
  torch_autocast_resume(c->im->place, paused);
  bool good = result && host_bind(c, result, out);
  error_drop();
  Py_XDECREF(result);
  Py_XDECREF(keywords);
  Py_XDECREF(list);
  return good;
}

/* ---- when the plan runs: the call ---- */

/* Results that an op computes only if it is asked to, as it is by default: by this argument. */
static const struct host_spare {
  const char *op, *keyword;
  Py_ssize_t position;
  uint32_t results; /* bits */
} host_spares[] = {{"aten::_linalg_eigh", "compute_v", 2, 1u << 1},
                   {"aten::_linalg_svd", "compute_uv", 2, 1u << 0 | 1u << 2}};

/* The arguments by name, with which the op leaves out what nobody takes: torch.linalg.eigvalsh and
 * svdvals are traced as eigh and svd, which take twice as long. A new reference. */
static PyObject *host_spare(const fx_call *c, PyObject *args, PyObject *kwargs) {
  PyObject *schema = PyObject_GetAttrString(c->target, "_schema");
  PyObject *name = schema ? PyObject_GetAttrString(schema, "name") : NULL, *spared = NULL;
  uint32_t taken = 0;
  error_drop();
  for (uint32_t i = 0; i < c->result_count; i++)
    taken |= (uint32_t)c->present[i] << i;
  for (size_t k = 0; name && k < sizeof host_spares / sizeof *host_spares; k++) {
    const struct host_spare *s = &host_spares[k];
    if (PyUnicode_CompareWithASCIIString(name, s->op) || taken & s->results ||
        PyTuple_GET_SIZE(args) > s->position || PyDict_GetItemString(kwargs, s->keyword))
      continue;
    spared = PyDict_Copy(kwargs);
    if (spared && PyDict_SetItemString(spared, s->keyword, Py_False) < 0) Py_CLEAR(spared);
    if (!spared) error_drop();
  }
  Py_XDECREF(name);
  Py_XDECREF(schema);
  return spared ? spared : Py_NewRef(kwargs);
}

bool torch_host_emit(fx_call *c, PyObject *args, PyObject *kwargs, loom_value *out) {
  host_row row = {.call = c, .specs = PyList_New(0)};
  host_leave_untaken(c);
  if (!c->result_count || host_is(c->target, "_schema", "is_mutable")) {
    PyErr_Format(PyExc_NotImplementedError, "%S changes its operands", c->target);
    Py_XDECREF(row.specs);
    return false;
  }
  if (row.specs && host_emit_settled(c, args, kwargs, out)) return Py_DECREF(row.specs), true;
  PyObject *list = row.specs ? host_map(args, host_template, &row) : NULL;
  PyObject *asked = list ? host_spare(c, args, kwargs) : NULL;
  PyObject *keywords = asked ? host_keywords(asked, host_template, &row) : NULL;
  Py_XDECREF(asked);
  int64_t axes[FX_MAX_RESULTS][LOOM_MAX_RANK];
  PyObject *results = keywords ? host_results(c, axes) : NULL;
  PyObject *why = results ? PyUnicode_FromString(c->why) : NULL;
  PyObject *entry =
      why ? PyTuple_Pack(6, c->target, list, keywords, row.specs, results, why) : NULL;
  bool good = entry && host_node(&row, entry, axes, out) && host_record(c);
  Py_XDECREF(entry);
  Py_XDECREF(why);
  Py_XDECREF(results);
  Py_XDECREF(keywords);
  Py_XDECREF(list);
  Py_XDECREF(row.specs);
  return good;
}

bool torch_native_emit(fx_call *c, torch_native_fn run, const int *arguments, int count,
                       const int64_t *numbers, int number_count, loom_value *out) {
  if (c->im->place != TORCH_CPU) return fx_decline(c, "it is computed in memory of the host");
  host_row row = {.call = c, .specs = PyList_New(0)};
  int64_t axes[FX_MAX_RESULTS][LOOM_MAX_RANK];
  bool good = row.specs != NULL;
  for (int i = 0; i < count && good; i++) {
    fx_value *v = fx_value_of(c->im, c->args[arguments[i]]);
    PyObject *hole = v && v->kind == FX_TENSOR ? host_operand(&row, NULL, v) : NULL;
    good = hole != NULL;
    Py_XDECREF(hole);
  }
  PyObject *op = good ? torch_native_op(run, numbers, number_count) : NULL;
  PyObject *results = op ? host_results(c, axes) : NULL;
  PyObject *entry = results ? PyTuple_Pack(5, op, Py_None, Py_None, row.specs, results) : NULL;
  good = entry && host_node(&row, entry, axes, out);
  Py_XDECREF(entry);
  Py_XDECREF(results);
  Py_XDECREF(op);
  Py_XDECREF(row.specs);
  error_drop();
  return good || fx_decline(c, "operands that it cannot take");
}

/* ---- when the plan runs ---- */

static bool host_copy(PyObject *to, PyObject *from) {
  PyObject *done = to && from ? PyObject_CallMethod(to, "copy_", "O", from) : NULL;
  Py_XDECREF(done);
  return done != NULL;
}

typedef struct host_fill {
  PyObject *specs;
  const loom_graph *graph;
  const loom_host_call *call;
  Py_ssize_t next;
  torch_place place; /* of the buffers */
  bool other;        /* a result of torch's is of another size than declared, or undefined */
} host_fill;

/* The spec in `bytes` for the sizes of this call. */
static bool host_spec_at(const host_fill *f, PyObject *bytes, torch_spec *out) {
  torch_spec spec;
  memcpy(&spec, PyBytes_AS_STRING(bytes), sizeof spec);
  if (fx_spec_at(f->graph, &spec, f->call->symbols, out)) return true;
  PyErr_SetString(PyExc_OverflowError, "frameloom: a size overflows");
  return false;
}

/* A buffer as the tensor that torch would have there. */
static PyObject *host_wrap(const host_fill *f, PyObject *bytes, void *buffer) {
  torch_spec spec;
  host_part part = {.offset = 0};
  if ((size_t)PyBytes_GET_SIZE(bytes) == sizeof part)
    memcpy(&part, PyBytes_AS_STRING(bytes), sizeof part);
  if (!host_spec_at(f, bytes, &spec)) return NULL;
  int64_t begin = part.offset * (int64_t)loom_dtype_size(spec.dtype);
  return torch_over_on(f->place, &spec, (char *)buffer + begin);
}

static PyObject *host_argument(void *user, PyObject *o) {
  host_fill *f = user;
  if (PySlice_Check(o) && ((PySliceObject *)o)->start == host_hole()) {
    int64_t code = PyLong_AsLongLong(((PySliceObject *)o)->stop), number;
    if (loom_stride_eval(f->graph, code, f->call->symbols, &number))
      return PyLong_FromLongLong(number);
    PyErr_SetString(PyExc_OverflowError, "frameloom: a size overflows");
    return NULL;
  }
  if (o != host_hole()) return Py_NewRef(o);
  Py_ssize_t i = f->next++;
  return host_wrap(f, PyList_GET_ITEM(f->specs, i), f->call->buffers[i]);
}

static bool host_store(host_fill *f, PyObject *bytes, void *buffer, PyObject *result) {
  if (result == Py_None) return f->other = true, false; /* a tensor that is undefined */
  PyObject *to = host_wrap(f, bytes, buffer);
  PyObject *shape = to ? PyObject_GetAttrString(to, "shape") : NULL;
  PyObject *got = shape ? PyObject_GetAttrString(result, "shape") : NULL;
  f->other = got && PyObject_RichCompareBool(shape, got, Py_EQ) == 0;
  bool good = got && !f->other && host_copy(to, result);
  Py_XDECREF(got);
  Py_XDECREF(shape);
  Py_XDECREF(to);
  return good;
}

/* The results that are tensors, in order, into the buffers behind the operands'. */
static bool host_store_all(host_fill *f, PyObject *specs, PyObject *result) {
  void *const *buffers = f->call->buffers + f->call->reads;
  bool many = PyTuple_Check(result) || PyList_Check(result);
  Py_ssize_t count = PyList_GET_SIZE(specs);
  if (many ? PySequence_Fast_GET_SIZE(result) != count : count != 1) {
    PyErr_SetString(PyExc_SystemError, "frameloom: an op gave another number of results in torch");
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *spec = PyList_GET_ITEM(specs, i);
    if (spec == Py_None) continue;
    if (!host_store(f, spec, *buffers++, many ? PySequence_Fast_GET_ITEM(result, i) : result))
      return false;
  }
  return true;
}

/* What is called for an op on a GPU, where that is not the op itself. Borrowed. */
static PyObject *host_called(PyObject *op, torch_place place) {
  static PyObject *instead;
  if (place == TORCH_CPU) return op;
  PyObject *module = instead ? NULL : PyImport_ImportModule("frameloom._torch_devices");
  if (module) instead = PyObject_GetAttrString(module, "INSTEAD");
  Py_XDECREF(module);
  PyObject *other = instead ? PyDict_GetItem(instead, op) : NULL;
  error_drop();
  return other ? other : op;
}

static int host_run(PyObject *hosts, const loom_graph *graph, const loom_host_call *call,
                    torch_place place) {
  if (call->slot >= PyList_GET_SIZE(hosts)) return 1;
  PyObject *row = PyList_GET_ITEM(hosts, call->slot), *key, *item;
  host_fill f = {.specs = PyTuple_GET_ITEM(row, 3), .graph = graph, .call = call, .place = place};
  if (PyList_GET_SIZE(f.specs) != call->reads || call->count < call->reads) return 1;
  PyObject *op = PyTuple_GET_ITEM(row, 0);
  if (torch_is_native(op))
    return torch_native_run(op, f.specs, PyTuple_GET_ITEM(row, 4), graph, call);
  PyObject *args = host_map(PyTuple_GET_ITEM(row, 1), host_argument, &f);
  PyObject *kwargs = args ? PyDict_New() : NULL;
  Py_ssize_t at = 0;
  bool good = kwargs != NULL;
  while (good && PyDict_Next(PyTuple_GET_ITEM(row, 2), &at, &key, &item)) {
    PyObject *made = host_map(item, host_argument, &f);
    good = made && PyDict_SetItem(kwargs, key, made) == 0;
    Py_XDECREF(made);
  }
  PyObject *result = good ? PyObject_Call(host_called(op, place), args, kwargs) : NULL;
  good = result && host_store_all(&f, PyTuple_GET_ITEM(row, 4), result);
  Py_XDECREF(result);
  Py_XDECREF(kwargs);
  Py_XDECREF(args);
  return f.other ? TORCH_HOST_OTHER : !good;
}

/* The graph has the casts that autocast makes: none is added. */
int torch_host_run(PyObject *hosts, const loom_graph *graph, const loom_host_call *call,
                   torch_place place) {
  bool paused = torch_autocast_pause(place);
  int status = host_run(hosts, graph, call, place);
  torch_autocast_resume(place, paused);
  return status;
}
