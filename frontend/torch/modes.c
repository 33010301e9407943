/* The state of the thread that changes what torch's functions do, read without Python. */
#include "frontend/base/base.h"
#include "frontend/torch/torch.h"
#include "frontend/torch/torch_internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static struct {
  bool ready;
  bool (*records)(void);           /* c10::GradMode::is_enabled() */
  int8_t (*dtype)(void);           /* c10::get_default_dtype_as_scalartype() */
  int64_t (*function_modes)(void); /* at::impl::PythonTorchFunctionTLS::stack_len() */
  const uint64_t *(*hooks)(void);  /* at::SavedTensorDefaultHooks::get_tls_state() */
  int8_t (*cast_dtype)(int8_t);    /* at::autocast::get_autocast_dtype() of a kind of devices */
  bool (*keeps_casts)(void);       /* at::autocast::is_autocast_cache_enabled() */
  void (*set_casts)(int8_t, bool); /* at::autocast::set_autocast_enabled() */
  bool (*get_casts)(int8_t);       /* at::autocast::is_autocast_enabled() */
  bool (*inference)(void);         /* c10::InferenceMode::is_enabled() */
  const bool *anomaly;             /* torch::autograd::AnomalyMode::_enabled */
  const bool *checks_nan;          /* torch::autograd::AnomalyMode::_check_nan */
  uint64_t inference_included, inference_excluded; /* the keys of inference mode */
  uint64_t casts; /* of the excluded keys, the one that differs where the CPU has autocast */
  void *core;     /* the library that holds the dispatch keys of a thread */
  PyObject *forward, *level, *none; /* the names of torch.autograd.forward_ad; of these, the number
                                       of the level that is active, and the number of none */
} modes;

/* The switches of the process (switches.def). */
#define SWITCH(NAME) #NAME,
static const char *const switch_names[] = {
#include "frontend/torch/switches.def"
};
#undef SWITCH
enum { SWITCHES = sizeof switch_names / sizeof *switch_names };
static bool (*switches[SWITCHES])(const void *context);
static const void *switch_context; /* at::globalContext() */

enum { MODES_CPU, MODES_CUDA }; /* c10::DeviceType */

/* Where this thread has its dispatch keys: the included ones, then the excluded ones. */
static _Thread_local const uint64_t *modes_keys __attribute__((tls_model("initial-exec")));

static const uint64_t *modes_find_keys(void) {
  if (!modes_keys) modes_keys = dlsym(modes.core, "_ZN3c104impl26raw_local_dispatch_key_setE");
  return modes_keys;
}

/* Does autograd call functions of the user's with what it saves? Their stack is a std::deque, whose
 * words 2 and 6 are the places of its begin and of its end. */
static bool modes_has_hooks(void) {
  const uint64_t *stack = modes.hooks();
  return stack[2] != stack[6];
}

/* Is a level of forward differentiation active, in any thread? -1 is one object. */
static bool modes_is_dual(void) {
  PyObject *level = PyDict_GetItemWithError(modes.forward, modes.level);
  return level != modes.none;
}

void torch_modes_read(torch_modes *out) {
  const uint64_t *keys = modes_find_keys();
  memset(out, 0, sizeof *out);
  out->included = keys[0];
  out->excluded = keys[1];
  out->function_modes = modes.function_modes();
  out->dtype = modes.dtype();
  out->records = modes.records();
  out->hooks = modes_has_hooks();
  out->cast_dtype = modes.cast_dtype(MODES_CPU);
  out->keeps_casts = modes.keeps_casts();
  out->inference = modes.inference();
  out->casts = (out->excluded & modes.casts) != 0;
  out->dual = modes_is_dual();
  out->anomaly = *modes.anomaly;
  out->checks_nan = *modes.checks_nan;
  for (int i = 0; i < SWITCHES; i++)
    out->switches |= (uint32_t)switches[i](switch_context) << i;
}

bool torch_modes_are_plain(const torch_modes *m) {
  uint64_t included = m->inference ? modes.inference_included : 0;
  uint64_t excluded = m->inference ? modes.inference_excluded : 0;
  return m->included == included && !((m->excluded ^ excluded) & ~modes.casts) &&
         !m->function_modes && !m->hooks && !m->dual;
}

bool torch_modes_equal(const torch_modes *a, const torch_modes *b) {
  return a->included == b->included && a->excluded == b->excluded &&
         a->function_modes == b->function_modes && a->dtype == b->dtype &&
         a->cast_dtype == b->cast_dtype && a->records == b->records &&
         a->keeps_casts == b->keeps_casts && a->hooks == b->hooks && a->dual == b->dual &&
         a->anomaly == b->anomaly && a->checks_nan == b->checks_nan && a->switches == b->switches;
}

bool torch_autocast_pause(torch_place place) {
  if (!modes.ready) return false;
  bool active =
      place == TORCH_CPU ? (modes_find_keys()[1] & modes.casts) != 0 : modes.get_casts(MODES_CUDA);
  if (active) modes.set_casts(place == TORCH_CPU ? MODES_CPU : MODES_CUDA, false);
  return active;
}

void torch_autocast_resume(torch_place place, bool paused) {
  if (paused) modes.set_casts(place == TORCH_CPU ? MODES_CPU : MODES_CUDA, true);
}

static bool modes_find_autocast(void *cpu) {
  void *dtype = cpu ? dlsym(cpu, "_ZN2at8autocast18get_autocast_dtypeEN3c1010DeviceTypeE") : NULL;
  void *keeps = cpu ? dlsym(cpu, "_ZN2at8autocast25is_autocast_cache_enabledEv") : NULL;
  void *set = cpu ? dlsym(cpu, "_ZN2at8autocast20set_autocast_enabledEN3c1010DeviceTypeEb") : NULL;
  memcpy(&modes.cast_dtype, &dtype, sizeof dtype);
  memcpy(&modes.keeps_casts, &keeps, sizeof keeps);
  memcpy(&modes.set_casts, &set, sizeof set);
  void *get = cpu ? dlsym(cpu, "_ZN2at8autocast19is_autocast_enabledEN3c1010DeviceTypeE") : NULL;
  memcpy(&modes.get_casts, &get, sizeof get);
  return dtype && keeps && set && get;
}

/* Which key tells that the CPU has autocast: it is switched on and off. False: none does. */
static bool modes_find_casts(void) {
  const uint64_t *keys = modes_find_keys();
  uint64_t before = keys[1], on, off;
  modes.set_casts(MODES_CPU, true);
  on = keys[1];
  modes.set_casts(MODES_CPU, false);
  off = keys[1];
  modes.set_casts(MODES_CPU, before == on);
  modes.casts = on & ~off;
  return modes.casts && !(modes.casts & (modes.casts - 1)) && keys[1] == before;
}

static bool modes_find_level(void) {
  PyObject *forward = PyImport_ImportModule("torch.autograd.forward_ad");
  modes.forward = forward ? PyModule_GetDict(forward) : NULL; /* it lives as long as the process */
  modes.level = PyUnicode_InternFromString("_current_level");
  modes.none = PyLong_FromLong(-1);
  bool good = modes.forward && modes.level && modes.none &&
              PyDict_GetItemWithError(modes.forward, modes.level);
  error_drop();
  return good;
}

static bool modes_find_anomaly(void *cpu) {
  modes.anomaly = cpu ? dlsym(cpu, "_ZN5torch8autograd11AnomalyMode8_enabledE") : NULL;
  modes.checks_nan = cpu ? dlsym(cpu, "_ZN5torch8autograd11AnomalyMode10_check_nanE") : NULL;
  return modes.anomaly && modes.checks_nan;
}

static bool modes_find_switches(void *cpu) {
  void *global = cpu ? dlsym(cpu, "_ZN2at13globalContextEv") : NULL, *found;
  const void *(*context)(void);
  char symbol[96];
  memcpy(&context, &global, sizeof global);
  switch_context = global ? context() : NULL;
  for (int i = 0; switch_context && i < SWITCHES; i++) {
    snprintf(symbol, sizeof symbol, "_ZNK2at7Context%zu%sEv", strlen(switch_names[i]),
             switch_names[i]);
    if (!(found = dlsym(cpu, symbol))) return false;
    memcpy(&switches[i], &found, sizeof found);
  }
  return switch_context != NULL;
}

static bool modes_find(PyObject *module) {
  void *cpu = torch_library(module, "libtorch_cpu.so");
  modes.core = torch_library(module, "libc10.so");
  void *records = modes.core ? dlsym(modes.core, "_ZN3c108GradMode10is_enabledEv") : NULL;
  void *dtype = modes.core ? dlsym(modes.core, "_ZN3c1031get_default_dtype_as_scalartypeEv") : NULL;
  void *functions = cpu ? dlsym(cpu, "_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv") : NULL;
  void *hooks = cpu ? dlsym(cpu, "_ZN2at23SavedTensorDefaultHooks13get_tls_stateEv") : NULL;
  memcpy(&modes.records, &records, sizeof records);
  memcpy(&modes.hooks, &hooks, sizeof hooks);
  memcpy(&modes.dtype, &dtype, sizeof dtype);
  void *inference = modes.core ? dlsym(modes.core, "_ZN3c1013InferenceMode10is_enabledEv") : NULL;
  memcpy(&modes.inference, &inference, sizeof inference);
  memcpy(&modes.function_modes, &functions, sizeof functions);
  return records && dtype && functions && inference && hooks && modes_find_keys() &&
         modes_find_level() && modes_find_autocast(cpu) && modes_find_casts() &&
         modes_find_anomaly(cpu) && modes_find_switches(cpu);
}

/* A call of a function of a module of torch; takes `args`. False with an exception. */
static bool modes_call(PyObject *module, const char *name, PyObject *args) {
  PyObject *function = args ? PyObject_GetAttrString(module, name) : NULL;
  PyObject *done = function ? PyObject_CallObject(function, args) : NULL;
  Py_XDECREF(function);
  Py_XDECREF(args);
  Py_XDECREF(done);
  return done != NULL;
}

/* Do the functions tell what torch's public ones do? Gradients are switched off and on again. */
static bool modes_agree_on_records(PyObject *core, bool enabled) {
  torch_modes before, off, after;
  torch_modes_read(&before);
  if (!modes_call(core, "_set_grad_enabled", Py_BuildValue("(O)", Py_False))) return false;
  torch_modes_read(&off);
  if (!modes_call(core, "_set_grad_enabled", Py_BuildValue("(O)", enabled ? Py_True : Py_False)))
    return false;
  torch_modes_read(&after);
  return before.records == enabled && !off.records && after.records == enabled;
}

/* The same of hooks, which are pushed twice and popped. */
static bool modes_agree_on_hooks(PyObject *core) {
  PyObject *autograd = PyObject_GetAttrString(core, "_autograd");
  torch_modes before, now;
  torch_modes_read(&before);
  bool good = autograd != NULL;
  for (int i = 0; good && i < 2; i++) {
    good = modes_call(autograd, "_push_saved_tensors_default_hooks",
                      Py_BuildValue("(OO)", (PyObject *)&PyTuple_Type, (PyObject *)&PyTuple_Type));
    torch_modes_read(&now);
    good = good && now.hooks;
  }
  for (int i = 0; good && i < 2; i++) {
    good = modes_call(autograd, "_pop_saved_tensors_default_hooks", PyTuple_New(0));
    torch_modes_read(&now);
    good = good && now.hooks == (before.hooks || !i);
  }
  Py_XDECREF(autograd);
  return good;
}

/* Inference mode is switched on and off. What it changes of the keys is learned. */
static bool modes_agree_on_inference(PyObject *core) {
  torch_modes off, on;
  PyObject *outer = PyObject_CallMethod(core, "_InferenceMode", "O", Py_False), *mode = NULL;
  PyObject *entered = outer ? PyObject_CallMethod(outer, "__enter__", NULL) : NULL;
  bool good = entered != NULL;
  torch_modes_read(&off);
  if (good) good = (mode = PyObject_CallMethod(core, "_InferenceMode", "O", Py_True)) != NULL;
  PyObject *inner = mode ? PyObject_CallMethod(mode, "__enter__", NULL) : NULL;
  torch_modes_read(&on);
  PyObject *left =
      inner ? PyObject_CallMethod(mode, "__exit__", "OOO", Py_None, Py_None, Py_None) : NULL;
  if (entered)
    Py_XSETREF(entered, PyObject_CallMethod(outer, "__exit__", "OOO", Py_None, Py_None, Py_None));
  modes.inference_included = on.included ^ off.included;
  modes.inference_excluded = on.excluded ^ off.excluded;
  good = good && left && entered && on.inference && !off.inference && !on.records;
  Py_XDECREF(left);
  Py_XDECREF(inner);
  Py_XDECREF(mode);
  Py_XDECREF(entered);
  Py_XDECREF(outer);
  return good;
}

/* Anomaly mode is switched to each of its states, and back. */
static bool modes_agree_on_anomaly(PyObject *core) {
  torch_modes before, now;
  torch_modes_read(&before);
  bool good = true;
  for (int i = 0; good && i < 5; i++) {
    bool on = i < 4 ? i & 1 : before.anomaly, checks = i < 4 ? i >> 1 : before.checks_nan;
    good = modes_call(core, "set_anomaly_enabled",
                      Py_BuildValue("(OO)", on ? Py_True : Py_False, checks ? Py_True : Py_False));
    torch_modes_read(&now);
    good = good && now.anomaly == on && now.checks_nan == checks;
  }
  return good;
}

static bool modes_agree(PyObject *module) {
  PyObject *enabled = PyObject_CallMethod(module, "is_grad_enabled", NULL);
  PyObject *core = enabled ? PyObject_GetAttrString(module, "_C") : NULL;
  bool good = core && modes_agree_on_records(core, enabled == Py_True) &&
              modes_agree_on_hooks(core) && modes_agree_on_inference(core) &&
              modes_agree_on_anomaly(core);
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
