/* Functions of torch that have a model: capture follows the model instead (_tensor_models.py). */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/tensor/internal.h"
#include "frontend/values/values.h"

/* Of _tensor_models.py. */
static struct {
  PyObject *codes, *model_of;
} model_python;

bool tensor_models_init(void) {
  static const tensor_name names[] = {{"CODES", &model_python.codes},
                                      {"model_of", &model_python.model_of}};
  return tensor_import("frameloom._tensor_models", names, sizeof names / sizeof *names) &&
         PyTuple_Check(model_python.codes);
}

bool tensor_has_model(PyObject *callee) {
  if (!PyFunction_Check(callee)) return false;
  PyObject *code = PyFunction_GET_CODE(callee);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(model_python.codes); i++)
    if (PyTuple_GET_ITEM(model_python.codes, i) == code) return true;
  return false;
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
