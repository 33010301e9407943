/* Tensors from C, without linking torch.
 *
 * torch exports a C interface for ahead-of-time compiled code (aoti_torch_*): it takes pointers to
 * at::Tensor, and a tensor's Python object holds its at::Tensor behind the object's head. Where it
 * lies there is not part of any interface, so that it is probed once against what Python says; a
 * torch for which the probe fails is refused with a clear error. */
#include "frontend/base/base.h"
#include "frontend/torch/torch.h"
#include "frontend/torch/torch_internal.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

typedef int32_t torch_status;

static struct {
  bool ready;
  PyTypeObject *tensor, *parameter;
  size_t handle;  /* where a tensor's Python object holds its at::Tensor */
  size_t keys;    /* where a TensorImpl holds its dispatch keys */
  uint64_t lazy;  /* keys of conjugate and negative views, and of zeros without memory */
  uint64_t plain; /* those of an ordinary tensor on the CPU */
  uint64_t quiet; /* those of one that was made in inference mode */
  /* Where a TensorImpl holds the counter of writes that its views share, and where that object
   * holds the count, 32 bits; 0: not found. */
  size_t counter, count;
  size_t autograd; /* where a TensorImpl holds what autograd knows of it; NULL there: nothing */
  torch_status (*data)(void *, void **);
  torch_status (*sizes)(void *, int64_t **);
  torch_status (*strides)(void *, int64_t **);
  torch_status (*rank)(void *, int64_t *);
  torch_status (*offset)(void *, int64_t *);
  torch_status (*storage)(void *, int64_t *); /* its size in bytes */
  torch_status (*dtype)(void *, int32_t *);
  torch_status (*device)(void *, int32_t *);
  torch_status (*index)(void *, int32_t *); /* of the device */
  torch_status (*stream)(int32_t, void **); /* of a device; NULL: not found yet */
  torch_status (*free)(void *);
  torch_status (*empty)(int64_t, const int64_t *, const int64_t *, int32_t, int32_t, int32_t,
                        void **);
  torch_status (*part)(void *, int64_t, const int64_t *, const int64_t *, int64_t, void **);
  torch_status (*blob)(void *, int64_t, const int64_t *, const int64_t *, int64_t, int32_t, int32_t,
                       int32_t, void **);
  torch_status (*product)(void *, void *, void *); /* out, left, right; or NULL */
  bool (*requires_grad)(const void *);             /* of a TensorImpl; or NULL */
  int (*threads)(void);                            /* at::get_num_threads(); or NULL */
  PyObject *(*wrap)(const void *);                 /* THPVariable_Wrap(const at::TensorBase &) */
} torch;

/* at::ScalarType: fixed by torch's serialisation format. */
static const int8_t torch_types[LOOM_DTYPE_COUNT] = {
    [LOOM_BOOL] = 11, [LOOM_I8] = 1,   [LOOM_I16] = 2,  [LOOM_I32] = 3,  [LOOM_I64] = 4,
    [LOOM_U8] = 0,    [LOOM_U16] = 27, [LOOM_U32] = 28, [LOOM_U64] = 29, [LOOM_F16] = 5,
    [LOOM_BF16] = 15, [LOOM_F32] = 6,  [LOOM_F64] = 7,  [LOOM_C64] = 9,  [LOOM_C128] = 10};

int32_t torch_scalar_type(loom_dtype dtype) { return torch_types[dtype]; }

static void *tensor_handle(PyObject *tensor) { return (char *)tensor + torch.handle; }

static uint64_t tensor_keys(PyObject *tensor) {
  char *impl = *(char **)tensor_handle(tensor);
  uint64_t keys;
  memcpy(&keys, impl + torch.keys, sizeof keys);
  return keys;
}

/* ---- finding and probing the interface ---- */

void *torch_library(PyObject *module, const char *name) {
  PyObject *file = PyObject_GetAttrString(module, "__file__");
  const char *path = file ? PyUnicode_AsUTF8(file) : NULL;
  const char *slash = path ? strrchr(path, '/') : NULL;
  char full[4096];
  void *library = NULL;
  if (slash && snprintf(full, sizeof full, "%.*s/lib/%s", (int)(slash - path), path, name) <
                   (int)sizeof full)
    library = dlopen(full, RTLD_NOW | RTLD_NOLOAD);
  Py_XDECREF(file);
  return library;
}

static bool torch_symbols(PyObject *module) {
  void *cpu = torch_library(module, "libtorch_cpu.so");
  void *python = torch_library(module, "libtorch_python.so");
  const struct {
    void *library;
    const char *name;
    void *slot;
  } wanted[] = {{cpu, "aoti_torch_get_data_ptr", &torch.data},
                {cpu, "aoti_torch_get_sizes", &torch.sizes},
                {cpu, "aoti_torch_get_strides", &torch.strides},
                {cpu, "aoti_torch_get_dim", &torch.rank},
                {cpu, "aoti_torch_get_storage_offset", &torch.offset},
                {cpu, "aoti_torch_get_storage_size", &torch.storage},
                {cpu, "aoti_torch_get_dtype", &torch.dtype},
                {cpu, "aoti_torch_get_device_type", &torch.device},
                {cpu, "aoti_torch_get_device_index", &torch.index},
                {cpu, "aoti_torch_delete_tensor_object", &torch.free},
                {cpu, "aoti_torch_empty_strided", &torch.empty},
                {cpu, "aoti_torch__reinterpret_tensor", &torch.part},
                {cpu, "aoti_torch_create_tensor_from_blob", &torch.blob},
                {python, "_Z16THPVariable_WrapRKN2at10TensorBaseE", &torch.wrap}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    void *found = wanted[i].library ? dlsym(wanted[i].library, wanted[i].name) : NULL;
    if (!found) {
      PyErr_Format(PyExc_ImportError, "frameloom: this torch has no %s", wanted[i].name);
      return false;
    }
    memcpy(wanted[i].slot, &found, sizeof found);
  }
  void *core = torch_library(module, "libc10.so");
  void *requires = core ? dlsym(core, "_ZNK3c1010TensorImpl13requires_gradEv") : NULL;
  memcpy(&torch.requires_grad, &requires, sizeof requires);
  void *threads = dlsym(cpu, "_ZN2at15get_num_threadsEv");
  memcpy(&torch.threads, &threads, sizeof threads);
  void *product = dlsym(cpu, "aoti_torch_cpu_mm_out");
  memcpy(&torch.product, &product, sizeof product);
  return true;
}

int torch_threads(void) {
  int most = (int)loom_config.threads, asked = torch.threads ? torch.threads() : 0;
  return asked > 0 && (most <= 0 || asked < most) ? asked : most;
}

bool torch_has_product(void) { return torch.product != NULL; }

/* Is a pointer at this place of the object the at::Tensor of a tensor whose data lies at `data`?
 * The word is read as a TensorImpl only when it looks like a pointer to the heap. */
static bool torch_probe_handle(PyObject *tensor, PyObject *address) {
  void *data, *expected = PyLong_AsVoidPtr(address);
  uintptr_t word;
  torch.handle = sizeof(PyObject); /* the first field of THPVariable */
  memcpy(&word, tensor_handle(tensor), sizeof word);
  if (word < 4096 || word % 8) return false;
  return torch.data(tensor_handle(tensor), &data) == 0 && data == expected;
}

/* The bytes of a TensorImpl that are looked at: all versions of torch have as many. */
enum { PROBED = 176 };

/* The dispatch keys are the first word of a TensorImpl that is the same in another tensor, and
 * differs in one bit between a tensor and its negative view. Two addresses may differ in one bit,
 * too. */
static bool torch_probe_keys(PyObject *tensor, PyObject *other, PyObject *negative,
                             PyObject *conjugate, PyObject *zeros) {
  for (torch.keys = 8; torch.keys < PROBED; torch.keys += 8) {
    uint64_t plain = tensor_keys(tensor), neg = tensor_keys(negative),
             conj = tensor_keys(conjugate);
    uint64_t n = tensor_keys(other) == plain ? plain ^ neg : 0;
    if (n && !(n & (n - 1)) && (neg & n) && !(plain & n)) {
      uint64_t candidates = conj & ~plain; /* of another dtype, but the same functionality keys */
      if (!candidates || (candidates & (candidates - 1))) continue;
      uint64_t none = tensor_keys(zeros) & ~plain;
      if (!none || (none & (none - 1))) continue;
      torch.lazy = n | candidates | none;
      torch.plain = plain;
      return true;
    }
  }
  return false;
}

static void *torch_word(PyObject *tensor, size_t at) {
  void *word;
  memcpy(&word, *(char **)tensor_handle(tensor) + at, sizeof word);
  return word;
}

/* Before the keys: the one word that was NULL before the tensor required a gradient. */
static bool torch_probe_autograd(PyObject *tensor) {
  void *before[PROBED / 8];
  int found = 0;
  for (size_t at = 8; at < torch.keys; at += 8)
    before[at / 8] = torch_word(tensor, at);
  PyObject *done = PyObject_CallMethod(tensor, "requires_grad_", NULL);
  for (size_t at = 8; done && at < torch.keys; at += 8)
    if (!before[at / 8] && torch_word(tensor, at)) {
      torch.autograd = at;
      found++;
    }
  Py_XDECREF(done);
  return found == 1;
}

/* Reads memory that may not be there; false: it is not. */
static bool torch_peek(const void *from, void *to, size_t bytes) {
  struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)from, bytes};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

enum { COUNTER_WORDS = 8 }; /* of the object that holds a count of writes */

/* The one number behind a word of the TensorImpl that a write adds 1 to. Without it, what a run
 * writes into a tensor is copied there by torch. */
static void torch_probe_counter(PyObject *tensor) {
  uint32_t before[16][2 * COUNTER_WORDS], after[2 * COUNTER_WORDS];
  bool there[16];
  int found = 0;
  for (size_t i = 1; i < 16; i++)
    there[i] = torch_peek(torch_word(tensor, i * 8), before[i], sizeof before[i]);
  PyObject *done = PyObject_CallMethod(tensor, "zero_", NULL);
  for (size_t i = 1; done && i < 16 && i * 8 < torch.keys; i++) {
    if (!there[i] || !torch_peek(torch_word(tensor, i * 8), after, sizeof after)) continue;
    for (size_t k = 0; k < 2 * COUNTER_WORDS; k++) {
      if (after[k] != before[i][k] + 1) continue;
      torch.counter = i * 8;
      torch.count = k * 4;
      found++;
    }
  }
  if (found != 1) torch.counter = torch.count = 0;
  error_drop();
  Py_XDECREF(done);
}

/* Switches inference mode on or off: what torch_leave() takes. NULL with an exception. */
static PyObject *torch_enter(PyObject *module, PyObject *on) {
  PyObject *mode = PyObject_CallMethod(module, "inference_mode", "O", on);
  PyObject *entered = mode ? PyObject_CallMethod(mode, "__enter__", NULL) : NULL;
  if (!entered) Py_CLEAR(mode);
  Py_XDECREF(entered);
  return mode;
}

/* Ends it. An exception that is set stays. */
static bool torch_leave(PyObject *mode) {
  PyObject *type, *raised, *trace;
  PyErr_Fetch(&type, &raised, &trace);
  PyObject *left =
      mode ? PyObject_CallMethod(mode, "__exit__", "OOO", Py_None, Py_None, Py_None) : NULL;
  Py_XDECREF(left);
  Py_XDECREF(mode);
  if (type) PyErr_Restore(type, raised, trace);
  return left != NULL;
}

/* A tensor that is made in inference mode lacks autograd's keys. */
static bool torch_probe_quiet(PyObject *module) {
  PyObject *mode = torch_enter(module, Py_True);
  PyObject *tensor = mode ? PyObject_CallMethod(module, "zeros", "i", 3) : NULL;
  if (tensor) torch.quiet = tensor_keys(tensor);
  Py_XDECREF(tensor);
  return torch_leave(mode) && torch.quiet && torch.quiet != torch.plain &&
         !(torch.quiet & ~torch.plain);
}

static bool torch_probe(PyObject *module) {
  PyObject *tensor = PyObject_CallMethod(module, "zeros", "i", 3);
  PyObject *other = PyObject_CallMethod(module, "zeros", "i", 3);
  PyObject *address = tensor ? PyObject_CallMethod(tensor, "data_ptr", NULL) : NULL;
  PyObject *negative = tensor ? PyObject_CallMethod(module, "_neg_view", "O", tensor) : NULL;
  PyObject *complex = tensor ? PyObject_CallMethod(module, "complex", "OO", tensor, tensor) : NULL;
  PyObject *conjugate = complex ? PyObject_CallMethod(complex, "conj", NULL) : NULL;
  PyObject *zeros = PyObject_CallMethod(module, "_efficientzerotensor", "i", 3);
  bool good = address && other && negative && conjugate && zeros &&
              torch_probe_handle(tensor, address) &&
              torch_probe_keys(tensor, other, negative, conjugate, zeros);
  PyObject *leaf = good ? PyObject_CallMethod(module, "zeros", "i", 3) : NULL;
  if (leaf) torch_probe_counter(leaf);
  good = leaf && torch_probe_autograd(leaf) && torch_probe_quiet(module);
  Py_XDECREF(leaf);
  if (!good && !PyErr_Occurred())
    PyErr_SetString(PyExc_ImportError, "frameloom: tensors of this torch are laid out differently");
  Py_XDECREF(zeros);
  Py_XDECREF(conjugate);
  Py_XDECREF(complex);
  Py_XDECREF(negative);
  Py_XDECREF(address);
  Py_XDECREF(other);
  Py_XDECREF(tensor);
  return good;
}

bool torch_init(void) {
  if (torch.ready) return true;
  PyObject *module = PyImport_ImportModule("torch");
  if (!module) return false;
  PyObject *nn = PyImport_ImportModule("torch.nn");
  torch.tensor = (PyTypeObject *)PyObject_GetAttrString(module, "Tensor");
  torch.parameter = nn ? (PyTypeObject *)PyObject_GetAttrString(nn, "Parameter") : NULL;
  if (torch.tensor && torch.parameter && torch_symbols(module)) {
    PyObject *mode = torch_enter(module, Py_False); /* ordinary tensors are looked at */
    bool good = mode && torch_probe(module);
    torch.ready = torch_leave(mode) && good;
  }
  Py_XDECREF(nn);
  Py_DECREF(module);
  return torch.ready;
}

/* ---- reading and making tensors ---- */

bool torch_is_lazy(PyObject *tensor) {
  bool plain = Py_TYPE(tensor) == torch.tensor || Py_TYPE(tensor) == torch.parameter;
  return plain && (tensor_keys(tensor) & torch.lazy);
}

PyObject *torch_resolve(PyObject *tensor) {
  PyObject *conjugated = PyObject_CallMethod(tensor, "resolve_conj", NULL);
  PyObject *resolved = conjugated ? PyObject_CallMethod(conjugated, "resolve_neg", NULL) : NULL;
  Py_XDECREF(conjugated);
  if (resolved && torch_is_lazy(resolved))
    Py_SETREF(resolved, PyObject_CallMethod(resolved, "clone", NULL));
  return resolved;
}

/* Is it a tensor of a subclass that only adds Python to it, without a dispatch of its own? */
static bool torch_is_plain_subclass(PyObject *tensor) {
  if (!PyType_IsSubtype(Py_TYPE(tensor), torch.tensor)) return false;
  const char *name = "__torch_dispatch__";
  PyObject *own = PyObject_GetAttrString((PyObject *)Py_TYPE(tensor), name);
  PyObject *base = PyObject_GetAttrString((PyObject *)torch.tensor, name);
  bool plain = own && own == base;
  error_drop();
  Py_XDECREF(base);
  Py_XDECREF(own);
  return plain;
}

#define TENSOR_CUDA 1 /* c10::DeviceType */

static bool torch_lies_on(void *handle, torch_place place) {
  int32_t type, index;
  if (torch.device(handle, &type)) return false;
  if (place == TORCH_CPU) return type == 0;
  return type == TENSOR_CUDA && !torch.index(handle, &index) && index == place - 1;
}

bool torch_read(torch_place place, PyObject *tensor, torch_view *out) {
  if (Py_TYPE(tensor) != torch.tensor && Py_TYPE(tensor) != torch.parameter &&
      !torch_is_plain_subclass(tensor)) {
    PyErr_Format(PyExc_TypeError, "frameloom: an input is a %s, not a torch.Tensor",
                 Py_TYPE(tensor)->tp_name);
    return false;
  }
  void *handle = tensor_handle(tensor);
  if (!torch_lies_on(handle, place) || (tensor_keys(tensor) & torch.lazy)) {
    PyErr_Format(PyExc_TypeError,
                 "frameloom: an input is not a plain tensor on the %s (another device, or a "
                 "conjugate or negative view, zeros without memory)",
                 place == TORCH_CPU ? "CPU" : "graph's device");
    return false;
  }
  if (torch.dtype(handle, &out->dtype) || torch.rank(handle, &out->rank) ||
      torch.sizes(handle, &out->sizes) || torch.strides(handle, &out->strides) ||
      torch.data(handle, &out->data)) {
    PyErr_SetString(PyExc_TypeError, "frameloom: an input is not a strided tensor");
    return false;
  }
  return true;
}

bool torch_matches(const torch_view *t, const torch_spec *spec, bool *strides) {
  if (t->dtype != torch_scalar_type(spec->dtype) || t->rank != spec->rank) return false;
  *strides = true;
  for (int i = 0; i < spec->rank; i++) {
    if (t->sizes[i] != spec->sizes[i]) return false;
    *strides &= t->strides[i] == spec->strides[i] || spec->sizes[i] <= 1;
  }
  return true;
}

bool torch_is_exact(const PyObject *object) {
  return torch.ready && (Py_TYPE(object) == torch.tensor || Py_TYPE(object) == torch.parameter);
}

bool torch_is_tensor(PyObject *object) {
  return torch.ready && PyObject_TypeCheck(object, torch.tensor);
}

PyTypeObject *torch_tensor_type(void) { return torch.tensor; }

bool torch_dtype(int32_t scalar_type, loom_dtype *out) {
  for (int i = 0; i < LOOM_DTYPE_COUNT; i++)
    if (torch_types[i] == scalar_type && (scalar_type || i == LOOM_U8))
      return *out = (loom_dtype)i, true;
  return false;
}

/* Lie all elements within the storage? It may have been given another size since. */
static bool torch_is_stored(void *handle, const torch_view *v) {
  int64_t offset, bytes, last = 1;
  loom_dtype dtype;
  for (int64_t i = 0; i < v->rank; i++) {
    if (!v->sizes[i]) return true;
    last += (v->sizes[i] - 1) * v->strides[i];
  }
  return v->data && !torch.offset(handle, &offset) && !torch.storage(handle, &bytes) &&
         torch_dtype(v->dtype, &dtype) &&
         (offset + last) * (int64_t)loom_dtype_size(dtype) <= bytes;
}

/* The keys come first: of a tensor that is not strided, or not on the CPU, nothing else is asked.
 */
bool torch_look(PyObject *tensor, torch_view *out) {
  void *handle = tensor_handle(tensor);
  if (!torch_is_exact(tensor)) return false;
  uint64_t keys = tensor_keys(tensor);
  out->inference = keys == torch.quiet;
  return (keys == torch.plain || out->inference) && !torch.dtype(handle, &out->dtype) &&
         !torch.rank(handle, &out->rank) && !torch.sizes(handle, &out->sizes) &&
         !torch.strides(handle, &out->strides) && !torch.data(handle, &out->data) &&
         torch_is_stored(handle, out);
}

bool torch_requires_grad(PyObject *tensor) {
  if (!torch_word(tensor, torch.autograd)) return false;
  if (torch.requires_grad) return torch.requires_grad(*(void **)tensor_handle(tensor));
  PyObject *answer = PyObject_GetAttrString(tensor, "requires_grad");
  bool requires = answer == Py_True;
  error_drop();
  Py_XDECREF(answer);
  return requires;
}

bool torch_count_write(PyObject *tensor) {
  if (!torch.counter) return false;
  char *counter = torch_word(tensor, torch.counter);
  if (!counter) return false; /* made in inference mode */
  __atomic_fetch_add((uint32_t *)(void *)(counter + torch.count), 1, __ATOMIC_RELAXED);
  return true;
}

PyObject *torch_py_write_counts(PyObject *module, PyObject *tensors) {
  if (!PyTuple_Check(tensors))
    return PyErr_SetString(PyExc_TypeError, "write_counts() takes a tuple of tensors"), NULL;
  Py_ssize_t count = PyTuple_GET_SIZE(tensors);
  PyObject *all = PyBytes_FromStringAndSize(NULL, 4 * count);
  for (Py_ssize_t i = 0; all && i < count; i++) {
    PyObject *tensor = PyTuple_GET_ITEM(tensors, i);
    uint32_t writes = 0;
    char *counter =
        torch.counter && torch_is_exact(tensor) ? torch_word(tensor, torch.counter) : NULL;
    if (counter) memcpy(&writes, counter + torch.count, sizeof writes);
    memcpy(PyBytes_AS_STRING(all) + 4 * i, &writes, sizeof writes);
  }
  return all;
}

bool torch_offset(PyObject *tensor, int64_t *out) {
  return !torch.offset(tensor_handle(tensor), out);
}

bool torch_is_whole(PyObject *tensor, int64_t bytes) {
  int64_t offset, size;
  void *handle = tensor_handle(tensor);
  return !torch.offset(handle, &offset) && !torch.storage(handle, &size) && offset == 0 &&
         size == bytes;
}

static PyObject *torch_take(void *handle) {
  PyObject *tensor = torch.wrap(handle);
  torch.free(handle);
  return tensor;
}

/* What torch's interface takes for a place: a type of devices, and a number. */
static int32_t torch_type_of(torch_place place) { return place == TORCH_CPU ? 0 : TENSOR_CUDA; }
static int32_t torch_index_of(torch_place place) { return place == TORCH_CPU ? 0 : place - 1; }

PyObject *torch_empty_on(torch_place place, const torch_spec *spec, void **data) {
  void *handle;
  if (torch.empty(spec->rank, spec->sizes, spec->strides, torch_types[spec->dtype],
                  torch_type_of(place), torch_index_of(place), &handle) != 0 ||
      torch.data(handle, data) != 0)
    return PyErr_NoMemory();
  return torch_take(handle);
}

PyObject *torch_empty(const torch_spec *spec, void **data) {
  return torch_empty_on(TORCH_CPU, spec, data);
}

PyObject *torch_part(PyObject *tensor, const torch_spec *spec, int64_t offset) {
  void *handle;
  if (torch.part(tensor_handle(tensor), spec->rank, spec->sizes, spec->strides, offset, &handle))
    return PyErr_NoMemory();
  return torch_take(handle);
}

PyObject *torch_over_on(torch_place place, const torch_spec *spec, void *data) {
  void *handle;
  if (torch.blob(data, spec->rank, spec->sizes, spec->strides, 0, torch_types[spec->dtype],
                 torch_type_of(place), torch_index_of(place), &handle) != 0)
    return PyErr_NoMemory();
  return torch_take(handle);
}

PyObject *torch_over(const torch_spec *spec, void *data) {
  return torch_over_on(TORCH_CPU, spec, data);
}

/* torch's library for NVIDIA's GPUs, that for AMD's, and then all that the process has loaded for
 * everybody. */
static void *torch_find_stream(void) {
  static const char name[] = "aoti_torch_get_current_cuda_stream";
  PyObject *module = PyImport_ImportModule("torch");
  void *library = module ? torch_library(module, "libtorch_cuda.so") : NULL;
  if (module && !library) library = torch_library(module, "libtorch_hip.so");
  error_drop();
  Py_XDECREF(module);
  void *found = library ? dlsym(library, name) : NULL;
  return found ? found : dlsym(RTLD_DEFAULT, name);
}

bool torch_stream(torch_place place, void **out) {
  if (!torch.stream) {
    void *found = torch_find_stream();
    memcpy(&torch.stream, &found, sizeof found);
  }
  if (torch.stream && !torch.stream(torch_index_of(place), out)) return true;
  PyErr_SetString(PyExc_NotImplementedError, "this torch does not tell its current stream");
  return false;
}

static void *torch_handle_over(const torch_array *a) {
  const torch_spec *spec = &a->spec;
  void *handle = NULL;
  return torch.blob(a->data, spec->rank, spec->sizes, spec->strides, 0, torch_types[spec->dtype], 0,
                    0, &handle) == 0
             ? handle
             : NULL;
}

bool torch_product(const torch_array *l, const torch_array *r, const torch_array *out) {
  void *handles[3] = {torch_handle_over(out), torch_handle_over(l), torch_handle_over(r)};
  bool made = handles[0] && handles[1] && handles[2];
  bool good = made && torch.product(handles[0], handles[1], handles[2]) == 0;
  for (int i = 0; i < 3; i++)
    if (handles[i]) torch.free(handles[i]);
  if (!made) return PyErr_NoMemory(), false;
  if (!good) PyErr_SetString(PyExc_RuntimeError, "frameloom: a product of torch failed");
  return good;
}
