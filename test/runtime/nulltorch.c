/* What torch has of CUDA in libraries of its own, for a torch that was built without them: tensors
 * on "cuda" whose memory is that of the tests' driver (nullcuda.c), the stream that torch's work is
 * ordered on, and the guard of devices that autograd asks.
 *
 * torch takes tensors of CUDA's memory by DLPack without knowing more of CUDA. Its kernels for them
 * are functions of Python (test/python/support/cuda_tensors.py).
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NULL_EXPORT __attribute__((visibility("default")))
#define NULL_CUDA 1 /* c10::DeviceType::CUDA */
#define NULL_DLPACK 2
#define NULL_RANK 64
#define NULL_DEVICES 2

/* ---- the driver ---- */

static struct {
  int (*DeviceGet)(int *device, int number);
  int (*PrimaryCtxRetain)(void **context, int device);
  int (*CtxPushCurrent)(void *context);
  int (*CtxPopCurrent)(void **context);
  int (*PointerGetAttribute)(void *value, int attribute, uint64_t address);
  int (*StreamCreate)(void **stream, unsigned flags);
  int (*StreamSynchronize)(void *stream);
  int (*MemAllocAsync)(uint64_t *address, size_t size, void *stream);
  int (*MemFreeAsync)(uint64_t address, void *stream);
  int (*MemcpyHtoDAsync)(uint64_t to, const void *from, size_t size, void *stream);
  int (*MemcpyDtoHAsync)(void *to, uint64_t from, size_t size, void *stream);
} cuda;

static struct {
  void *context, *stream; /* `stream`: torch's current one */
} devices[NULL_DEVICES];

static long live; /* tensors' memory */

static int null_enter(int device) {
  int handle = 0;
  if (device < 0 || device >= NULL_DEVICES) return 1;
  if (!devices[device].context &&
      (cuda.DeviceGet(&handle, device) || cuda.PrimaryCtxRetain(&devices[device].context, handle)))
    return 1;
  return cuda.CtxPushCurrent(devices[device].context);
}

static int null_leave(int status) {
  void *context;
  cuda.CtxPopCurrent(&context);
  return status;
}

NULL_EXPORT int loom_nulltorch_open(const char *driver) {
  void *library = dlopen(driver, RTLD_NOW | RTLD_LOCAL);
  const struct {
    const char *name;
    void *slot;
  } wanted[] = {{"cuDeviceGet", &cuda.DeviceGet},
                {"cuDevicePrimaryCtxRetain", &cuda.PrimaryCtxRetain},
                {"cuCtxPushCurrent_v2", &cuda.CtxPushCurrent},
                {"cuCtxPopCurrent_v2", &cuda.CtxPopCurrent},
                {"cuPointerGetAttribute", &cuda.PointerGetAttribute},
                {"cuStreamCreate", &cuda.StreamCreate},
                {"cuStreamSynchronize", &cuda.StreamSynchronize},
                {"cuMemAllocAsync", &cuda.MemAllocAsync},
                {"cuMemFreeAsync", &cuda.MemFreeAsync},
                {"cuMemcpyHtoDAsync_v2", &cuda.MemcpyHtoDAsync},
                {"cuMemcpyDtoHAsync_v2", &cuda.MemcpyDtoHAsync}};
  int (*init)(unsigned) = NULL;
  void *found = library ? dlsym(library, "cuInit") : NULL;
  memcpy(&init, &found, sizeof found);
  for (size_t i = 0; library && i < sizeof wanted / sizeof *wanted; i++) {
    found = dlsym(library, wanted[i].name);
    if (!found) return 1;
    memcpy(wanted[i].slot, &found, sizeof found);
  }
  return init ? init(0) : 1;
}

/* Makes a new stream torch's current one on a device: 0, or the driver's error. */
NULL_EXPORT int loom_nulltorch_stream(int device) {
  int status = null_enter(device);
  return status ? status : null_leave(cuda.StreamCreate(&devices[device].stream, 1));
}

/* Makes one by its handle the current one; 0: the default stream. */
NULL_EXPORT void loom_nulltorch_set_stream(int device, void *stream) {
  devices[device].stream = stream;
}

/* What torch calls for ahead-of-time compiled code. */
NULL_EXPORT int aoti_torch_get_current_cuda_stream(int32_t device, void **out) {
  if (device < 0 || device >= NULL_DEVICES) return 1;
  *out = devices[device].stream;
  return 0;
}

/* ---- tensors, by DLPack ---- */

typedef struct null_tensor {
  void *data;
  int32_t device, number, rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t offset;
  void *context;
  void (*deleter)(struct null_tensor *self);
  int64_t numbers[2 * NULL_RANK];
} null_tensor;

static void null_delete(null_tensor *tensor) {
  int device = tensor->number;
  if (tensor->data && !null_enter(device)) {
    int status = cuda.MemFreeAsync((uint64_t)(uintptr_t)tensor->data, devices[device].stream);
    null_leave(status);
    if (!status) __atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
  }
  free(tensor);
}

/* A DLManagedTensor of new memory; NULL: there is none. Sizes and strides in elements. */
NULL_EXPORT void *loom_nulltorch_new(int device, int code, int bits, int rank, const int64_t *shape,
                                     const int64_t *strides, size_t bytes) {
  null_tensor *made = rank <= NULL_RANK ? calloc(1, sizeof *made) : NULL;
  uint64_t address = 0;
  if (!made || null_enter(device)) return free(made), NULL;
  if (null_leave(cuda.MemAllocAsync(&address, bytes ? bytes : 1, devices[device].stream)))
    return free(made), NULL;
  memcpy(made->numbers, shape, sizeof *shape * (size_t)rank);
  memcpy(made->numbers + rank, strides, sizeof *strides * (size_t)rank);
  made->data = (void *)(uintptr_t)address;
  made->device = NULL_DLPACK;
  made->number = device;
  made->rank = rank;
  made->code = (uint8_t)code;
  made->bits = (uint8_t)bits;
  made->lanes = 1;
  made->shape = made->numbers;
  made->strides = made->numbers + rank;
  made->deleter = null_delete;
  __atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
  return made;
}

NULL_EXPORT long loom_nulltorch_live(void) { return __atomic_load_n(&live, __ATOMIC_RELAXED); }

NULL_EXPORT int loom_nulltorch_read(int device, void *to, uint64_t from, size_t size) {
  int status = null_enter(device);
  if (status) return status;
  status = cuda.MemcpyDtoHAsync(to, from, size, devices[device].stream);
  return null_leave(status ? status : cuda.StreamSynchronize(devices[device].stream));
}

/* The driver has read memory that is not its own when the call returns. */
NULL_EXPORT int loom_nulltorch_write(int device, uint64_t to, const void *from, size_t size) {
  int status = null_enter(device);
  return status ? status : null_leave(cuda.MemcpyHtoDAsync(to, from, size, devices[device].stream));
}

/* ---- the guard of devices ----
 *
 * An object of c10::impl::DeviceGuardImplInterface of torch 2.13, laid out by the C++ ABI of
 * Itanium: a pointer to functions in the order in which the class declares them. */

typedef struct null_device {
  int8_t type, index;
} null_device;

typedef struct null_stream {
  null_device device;
  int64_t id;
} null_stream;

static _Thread_local int8_t current;

static int8_t guard_type(const void *self) { return NULL_CUDA; }
static null_device guard_get(const void *self) { return (null_device){NULL_CUDA, current}; }
static void guard_set(const void *self, null_device device) { current = device.index; }
static null_device guard_exchange(const void *self, null_device device) {
  null_device before = {NULL_CUDA, current};
  current = device.index;
  return before;
}
static null_stream guard_stream(const void *self, null_device device) {
  return (null_stream){{NULL_CUDA, device.index < 0 ? current : device.index}, 0};
}
static null_stream guard_stream_of(const void *self, null_device device, int unused) {
  return guard_stream(self, device);
}
static null_stream guard_exchange_stream(const void *self, null_stream stream) {
  return guard_stream(self, stream.device);
}
static void *guard_handle(const void *self, const null_stream *stream) {
  return devices[stream->device.index].stream;
}
static void guard_destroy(const void *self, void *event, int8_t device) {}
static void guard_record(const void *self, void **event, const null_stream *stream, int8_t device,
                         int flag) {}
static void guard_block(const void *self, void *event, const null_stream *stream) {}
static bool guard_query(const void *self, const void *what) { return true; }
static int8_t guard_count(const void *self) { return NULL_DEVICES; }
static uint64_t guard_capability(const void *self, null_device device) { return UINT64_MAX; }
static void guard_wait(const void *self, const void *what) {}
static bool guard_captures(const void *self, const null_stream *stream) { return false; }
static void guard_wait_device(const void *self, int8_t device) {}
static void guard_keep(const void *self, const void *data, const null_stream *stream) {}
static double guard_elapsed(const void *self, void *a, void *b, int8_t device) { return 0; }
static void guard_end(const void *self) {}

typedef void (*guard_function)(void);
#define GUARD(NAME) (guard_function)(NAME)

static const guard_function guard_table[] = {GUARD(guard_type),       GUARD(guard_exchange),
                                             GUARD(guard_get),        GUARD(guard_set),
                                             GUARD(guard_set),        GUARD(guard_stream),
                                             GUARD(guard_stream),     GUARD(guard_stream_of),
                                             GUARD(guard_stream_of),  GUARD(guard_exchange_stream),
                                             GUARD(guard_handle),     GUARD(guard_destroy),
                                             GUARD(guard_record),     GUARD(guard_block),
                                             GUARD(guard_query),      GUARD(guard_count),
                                             GUARD(guard_capability), GUARD(guard_query),
                                             GUARD(guard_wait),       GUARD(guard_captures),
                                             GUARD(guard_wait),       GUARD(guard_wait_device),
                                             GUARD(guard_keep),       GUARD(guard_elapsed),
                                             GUARD(guard_end),        GUARD(guard_end)};

static const guard_function *const guard = guard_table;

/* Takes c10::impl::device_guard_impl_registry. */
NULL_EXPORT void loom_nulltorch_guard(const void **registry) { registry[NULL_CUDA] = &guard; }

/* ---- what torch asks of CUDA ----
 *
 * A torch without CUDA has one object of at::CUDAHooksInterface, which says so. It gets a table of
 * functions of its own, with some that say something else. */

#define HOOKS_COUNT 80
enum {
  HOOKS_BUILT = 2,
  HOOKS_AVAILABLE = 3,
  HOOKS_HAS_CONTEXT = 4,
  HOOKS_INIT = 5,
  HOOKS_COUNT_DEVICES = 6,
  HOOKS_CURRENT = 8,
  HOOKS_DEVICE_OF = 13,
  HOOKS_HAS_CUDA = 16
};

static guard_function hooks_table[2 + HOOKS_COUNT]; /* before the functions: offset, type */

static bool hooks_yes(const void *self) { return true; }
static int8_t hooks_current(const void *self) { return current; }
static null_device hooks_device_of(const void *self, const void *data) {
  int device = current, status = null_enter(current);
  if (!status) {
    status = cuda.PointerGetAttribute(&device, 9, (uint64_t)(uintptr_t)data);
    null_leave(status);
  }
  return (null_device){NULL_CUDA, (int8_t)device};
}

/* `object`: at::detail::getCUDAHooks(); `count`: of its functions. */
NULL_EXPORT int loom_nulltorch_hooks(const guard_function **object, size_t count) {
  if (count > HOOKS_COUNT || count <= HOOKS_HAS_CUDA) return 1;
  memcpy(hooks_table, *object - 2, (2 + count) * sizeof *hooks_table);
  hooks_table[2 + HOOKS_BUILT] = GUARD(hooks_yes);
  hooks_table[2 + HOOKS_AVAILABLE] = GUARD(hooks_yes);
  hooks_table[2 + HOOKS_HAS_CONTEXT] = GUARD(hooks_yes);
  hooks_table[2 + HOOKS_INIT] = GUARD(guard_end);
  hooks_table[2 + HOOKS_COUNT_DEVICES] = GUARD(guard_count);
  hooks_table[2 + HOOKS_CURRENT] = GUARD(hooks_current);
  hooks_table[2 + HOOKS_DEVICE_OF] = GUARD(hooks_device_of);
  hooks_table[2 + HOOKS_HAS_CUDA] = GUARD(hooks_yes);
  *object = hooks_table + 2;
  return 0;
}
