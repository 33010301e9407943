/* Functions of torch that have a model: capture follows the model instead (_tensor_models.py). */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/tensor/internal.h"
#include "frontend/values/values.h"

/* Of _tensor_models.py. */
static struct {
  PyObject *codes, *model_of, *begin, *end;
} model_python;

bool tensor_models_init(void) {
  static const tensor_name names[] = {{"CODES", &model_python.codes},
                                      {"model_of", &model_python.model_of},
                                      {"begin_checkpoint", &model_python.begin},
                                      {"end_checkpoint", &model_python.end}};
  return tensor_import("frameloom._tensor_models", names, sizeof names / sizeof *names) &&
         PyTuple_Check(model_python.codes);
}

/* Has torch.compile() kept Dynamo out of the function? */
static bool models_is_kept_out(PyObject *function) {
  PyObject *attributes = ((PyFunctionObject *)function)->func_dict;
  return attributes && PyDict_GetItemString(attributes, "_torchdynamo_disable") == Py_True;
}

/* Dynamo, once it has compiled, notes of each module when it was made. */
static bool models_is_noting(PyObject *function) {
  PyObject *name = ((PyFunctionObject *)function)->func_qualname;
  return PyUnicode_Check(name) &&
         (!PyUnicode_CompareWithASCIIString(
              name, "install_generation_tagging_init.<locals>.patched_init") ||
          !PyUnicode_CompareWithASCIIString(
              name, "install_generation_tagging_init.<locals>.patched_setstate"));
}

bool tensor_has_model(PyObject *callee) {
  if (!PyFunction_Check(callee)) return false;
  PyObject *code = PyFunction_GET_CODE(callee);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(model_python.codes); i++)
    if (PyTuple_GET_ITEM(model_python.codes, i) == code) return true;
  return models_is_kept_out(callee) || models_is_noting(callee);
}

value *tensor_call_model(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                         PyObject *kwnames) {
  PyObject *model = trace_keep(t, PyObject_CallOneArg(model_python.model_of, callee));
  if (!model) return trace_raise_live(t);
  if (model == Py_None) return t->constants.not_implemented; /* the original is followed */
  const source *s = trace_source(t, SOURCE_CONST, NULL, model, NULL, 0);
  value *function = s ? value_wrap(t, model, s) : NULL;
  return function ? trace_call(t, function, args, count, kwnames) : NULL;
}

/* ---- checkpoints ------------------------------------------------------------------------------
 */

/* A tensor from before the call as it is where a checkpoint begins. */
struct tensor_kept {
  const np_storage *storage;
  loom_value current;
};

bool tensor_is_checkpoint(const PyObject *callee) {
  return callee == model_python.begin || callee == model_python.end;
}

static bool checkpoint_note(tracer *t, tensor_state *state) {
  uint32_t count = 0;
  for (const np_storage *s = np_storages(t); s; s = s->next)
    count += s->source != NULL;
  state->kept = trace_alloc(t, (count + 1) * sizeof *state->kept);
  if (!state->kept) return trace_fail(t) != NULL;
  state->kept_count = 0;
  for (const np_storage *s = np_storages(t); s; s = s->next)
    if (s->source) state->kept[state->kept_count++] = (struct tensor_kept){s, s->current};
  return true;
}

static bool checkpoint_has_written(tracer *t, const tensor_state *state) {
  for (const np_storage *s = np_storages(t); s; s = s->next) {
    uint32_t i = 0;
    if (!s->source || !s->written_count) continue;
    while (i < state->kept_count && state->kept[i].storage != s)
      i++;
    if (i == state->kept_count || state->kept[i].current != s->current) return true;
  }
  return false;
}

/* begin_checkpoint(), end_checkpoint(begun). What torch's backward runs again would write again. */
value *tensor_checkpoint(tracer *t, const PyObject *callee, value *const *args, Py_ssize_t count) {
  tensor_state *state = tensor_state_of(t);
  if (!state) return NULL;
  if (callee == model_python.begin) {
    bool begun = trace_checkpoint_begin(t);
    return begun && !checkpoint_note(t, state) ? NULL : value_bool(t, begun);
  }
  if (count != 1 || args[0]->object != Py_True) return t->constants.none;
  trace_checkpoint_end(t);
  if (checkpoint_has_written(t, state))
    return trace_break(t, BREAK_TENSOR,
                       "a checkpointed function writes into a tensor from before the call");
  return t->constants.none;
}
