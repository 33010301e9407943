/* The state of the thread that changes what torch's functions do, read without Python. */
#include "frontend/base/base.h"
#include "frontend/torch/torch.h"
#include "frontend/torch/torch_internal.h"

#include <dlfcn.h>
#include <string.h>

static struct {
  bool ready;
  bool (*records)(void);           /* c10::GradMode::is_enabled() */
  int8_t (*dtype)(void);           /* c10::get_default_dtype_as_scalartype() */
  int64_t (*function_modes)(void); /* at::impl::PythonTorchFunctionTLS::stack_len() */
  void *core;                      /* the library that holds the dispatch keys of a thread */
} modes;

/* Where this thread has its dispatch keys: the included ones, then the excluded ones. */
static _Thread_local const uint64_t *modes_keys __attribute__((tls_model("initial-exec")));

static const uint64_t *modes_find_keys(void) {
  if (!modes_keys) modes_keys = dlsym(modes.core, "_ZN3c104impl26raw_local_dispatch_key_setE");
  return modes_keys;
}

void torch_modes_read(torch_modes *out) {
  const uint64_t *keys = modes_find_keys();
  memset(out, 0, sizeof *out);
  out->included = keys[0];
  out->excluded = keys[1];
  out->function_modes = modes.function_modes();
  out->dtype = modes.dtype();
  out->records = modes.records();
}

bool torch_modes_are_plain(const torch_modes *m) {
  return !m->included && !m->excluded && !m->function_modes;
}

bool torch_modes_equal(const torch_modes *a, const torch_modes *b) {
  return a->included == b->included && a->excluded == b->excluded &&
         a->function_modes == b->function_modes && a->dtype == b->dtype && a->records == b->records;
}

static bool modes_find(PyObject *module) {
  void *cpu = torch_library(module, "libtorch_cpu.so");
  modes.core = torch_library(module, "libc10.so");
  void *records = modes.core ? dlsym(modes.core, "_ZN3c108GradMode10is_enabledEv") : NULL;
  void *dtype = modes.core ? dlsym(modes.core, "_ZN3c1031get_default_dtype_as_scalartypeEv") : NULL;
  void *functions = cpu ? dlsym(cpu, "_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv") : NULL;
  memcpy(&modes.records, &records, sizeof records);
  memcpy(&modes.dtype, &dtype, sizeof dtype);
  memcpy(&modes.function_modes, &functions, sizeof functions);
  return records && dtype && functions && modes_find_keys();
}

/* Do the functions tell what torch's public ones do? Gradients are switched off and on again. */
static bool modes_agree(PyObject *module) {
  torch_modes before, off, after;
  torch_modes_read(&before);
  PyObject *enabled = PyObject_CallMethod(module, "is_grad_enabled", NULL);
  PyObject *core = enabled ? PyObject_GetAttrString(module, "_C") : NULL;
  PyObject *set = core ? PyObject_CallMethod(core, "_set_grad_enabled", "O", Py_False) : NULL;
  if (set) torch_modes_read(&off);
  PyObject *again = set ? PyObject_CallMethod(core, "_set_grad_enabled", "O", enabled) : NULL;
  if (again) torch_modes_read(&after);
  bool good = again && before.records == (enabled == Py_True) && !off.records &&
              after.records == before.records;
  Py_XDECREF(again);
  Py_XDECREF(set);
  Py_XDECREF(core);
  Py_XDECREF(enabled);
  return good;
}

bool torch_modes_init(void) {
  if (modes.ready) return true;
  PyObject *module = PyImport_ImportModule("torch");
  modes.ready = module && modes_find(module) && modes_agree(module);
  if (!modes.ready && !PyErr_Occurred())
    PyErr_SetString(PyExc_ImportError, "frameloom: this torch does not tell its modes");
  Py_XDECREF(module);
  return modes.ready;
}
