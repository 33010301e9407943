/* Streams, events and memory of the tests' drivers.
 *
 * Device memory is a file without a name, mapped twice: once without access, where its addresses
 * are, and once for the driver. Blocks are opened while a kernel runs and closed behind it. No
 * address is given out twice, and a page between two blocks is nobody's.
 *
 * What a stream gets to do is a list. Only a call that has to wait runs it: the whole list, and of
 * other streams what it waits for. So what relies on work that nobody waited for does not see it.
 */
#include "nullgpu.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MEMORY_ROOM (1ull << 36) /* of addresses */
#define MEMORY_MOST (1ull << 32) /* of bytes in use */
#define MEMORY_PAGE 4096u
#define MEMORY_FRESH 0xff /* of new memory: floats are NaNs */

typedef struct null_block {
  size_t offset, size, room;
  bool open;  /* its allocation has run, and its freeing has not */
  int device; /* by number */
} null_block;

typedef enum null_kind {
  OP_ALLOC,
  OP_FREE,
  OP_TO,
  OP_FROM,
  OP_WITHIN,
  OP_FILL,
  OP_LAUNCH,
  OP_WAIT,
  OP_MARK
} null_kind;

typedef struct null_op {
  struct null_op *next;
  null_kind kind;
  null_block *block;
  uint64_t to, from;
  void *owned, *target;
  size_t size;
  null_work work; /* OP_LAUNCH; its words are `owned` */
  unsigned value;
  struct null_stream *stream; /* OP_WAIT: whose work it waits for, up to `number` */
  uint64_t number;
} null_op;

typedef struct null_stream {
  null_op *first, *last;
  uint64_t ordered, done;
  int device; /* by number */
} null_stream;

typedef struct null_event {
  null_stream *stream; /* NULL: never recorded */
  uint64_t number;
} null_event;

/* The default streams: 0 and 1, and 2. They are every device's. */
static null_stream null_legacy = {.device = -1}, null_thread = {.device = -1};
static uint8_t *null_device, *null_view;
static size_t null_next = MEMORY_PAGE, null_used;
static long null_waiting;
static null_block **null_blocks;
/* What the captured stream was given, in place of running it. */
static null_stream *null_captured, null_recorded = {.device = -1};
static size_t null_block_count, null_block_capacity;

static size_t null_now, null_peak; /* bytes, in the order of the streams */

/* Bytes at the highest point since the last call, beyond those that are there now: of work that has
 * run. */
NULL_EXPORT long loom_nullgpu_peak(void);
long loom_nullgpu_peak(void) {
  size_t peak = null_peak - null_now;
  null_peak = null_now;
  return (long)peak;
}

long loom_nullgpu_pending(void) { return null_waiting; }

/* ---- memory ---- */

static bool memory_map(void) {
  if (null_device) return true;
  int file = memfd_create("nullgpu", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, (off_t)MEMORY_ROOM)) return false;
  null_device = mmap(NULL, MEMORY_ROOM, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
  null_view = mmap(NULL, MEMORY_ROOM, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (null_device != MAP_FAILED && null_view != MAP_FAILED) return true;
  null_device = null_view = NULL;
  return false;
}

static null_block *memory_find(uint64_t address) {
  size_t offset = (size_t)(address - (uintptr_t)null_device);
  for (size_t i = 0; null_device && i < null_block_count; i++)
    if (offset >= null_blocks[i]->offset && offset - null_blocks[i]->offset < null_blocks[i]->size)
      return null_blocks[i];
  return NULL;
}

/* [address, address + size) as the driver sees it; NULL: no such memory, or not yet, or no more. */
static uint8_t *memory_at(uint64_t address, size_t size) {
  null_block *block = memory_find(address);
  size_t offset = (size_t)(address - (uintptr_t)null_device);
  if (!block || !block->open || block->size - (offset - block->offset) < size) return NULL;
  return null_view + offset;
}

/* Of a device; -1: of all. */
static void memory_protect(int access, int device) {
  for (size_t i = 0; i < null_block_count; i++)
    if (null_blocks[i]->open && (device < 0 || device == null_blocks[i]->device))
      mprotect(null_device + null_blocks[i]->offset, null_blocks[i]->room, access);
}

static void memory_drop(null_block *block) {
  madvise(null_view + block->offset, block->room, MADV_REMOVE);
  for (size_t i = 0; i < null_block_count; i++)
    if (null_blocks[i] == block) null_blocks[i] = null_blocks[--null_block_count];
  null_used -= block->room;
  null_remove(NULL_MEMORY, block);
  free(block);
}

/* ---- running ---- */

static void run_until(null_stream *stream, uint64_t number);

/* A kernel reaches the memory of its own device. */
static void run_launch(const null_work *work, int device) {
  const null_function *f = work->function;
  int64_t begin = work->begin, end = work->end;
  int64_t reach = (int64_t)work->grid * (f->flags & LOOM_PLAN_KERNEL_BLOCKS ? 1 : f->threads);
  if (end > begin + reach) end = begin + reach; /* the blocks that were launched */
  memory_protect(PROT_READ | PROT_WRITE, device);
  uint64_t *maps = f->maps ? work->words + f->buffers + f->params : NULL;
  uint32_t status = f->run((void *const *)work->words, work->words + f->buffers, maps, begin, end);
  if (status && work->status) *(uint32_t *)(uintptr_t)work->status |= status;
  memory_protect(PROT_NONE, device);
  if (status & LOOM_STATUS_BOUNDS) null_break(DRIVER_LAUNCH_FAILED);
}

static void run_move(const null_op *op) {
  uint8_t *to = op->kind == OP_FROM ? op->target : memory_at(op->to, op->size);
  const uint8_t *from = op->kind == OP_TO ? op->owned : memory_at(op->from, op->size);
  if (to && from)
    memmove(to, from, op->size);
  else
    null_break(DRIVER_LAUNCH_FAILED);
}

static void run_fill(const null_op *op) {
  uint8_t *to = memory_at(op->to, op->size);
  if (!to) null_break(DRIVER_LAUNCH_FAILED);
  for (size_t i = 0; to && i < op->size; i += sizeof op->value)
    memcpy(to + i, &op->value, sizeof op->value);
}

static void run_op(null_op *op, int device) {
  switch (op->kind) {
  case OP_ALLOC:
    op->block->open = true;
    null_now += op->block->size;
    if (null_now > null_peak) null_peak = null_now;
    memset(null_view + op->block->offset, MEMORY_FRESH, op->block->size);
    break;
  case OP_FREE:
    null_now -= op->block->size;
    memory_drop(op->block);
    break;
  case OP_TO:
  case OP_FROM:
  case OP_WITHIN: run_move(op); break;
  case OP_FILL: run_fill(op); break;
  case OP_LAUNCH: run_launch(&op->work, device); break;
  case OP_WAIT: run_until(op->stream, op->number); break;
  case OP_MARK: break;
  }
}

static void run_until(null_stream *stream, uint64_t number) {
  while (stream->first && stream->done < number) {
    null_op *op = stream->first;
    stream->first = op->next;
    if (!stream->first) stream->last = NULL;
    run_op(op, stream->device);
    stream->done++;
    null_waiting--;
    free(op->owned);
    free(op);
  }
}

static null_op *order(null_stream *stream, null_kind kind) {
  null_op *op = calloc(1, sizeof *op);
  if (!op) return NULL;
  op->kind = kind;
  if (null_captured && stream == null_captured) {
    stream = &null_recorded;
    null_waiting--;
  }
  if (stream->last)
    stream->last->next = op;
  else
    stream->first = op;
  stream->last = op;
  stream->ordered++;
  null_waiting++;
  return op;
}

static null_stream *stream_of(void *handle) {
  uintptr_t number = (uintptr_t)handle;
  if (number <= 2) return number == 2 ? &null_thread : &null_legacy;
  return null_has(NULL_STREAM, handle) ? handle : NULL;
}

/* ---- streams and events ---- */

int null_StreamCreate(void **stream, unsigned flags) {
  NULL_CALL(StreamCreate, true);
  null_stream *made = calloc(1, sizeof *made);
  if (!made || !null_add(NULL_STREAM, made)) return free(made), DRIVER_OUT_OF_MEMORY;
  made->device = null_current();
  *stream = made;
  return 0;
}

/* Its work is done first. */
int null_StreamDestroy(void *stream) {
  NULL_CALL(StreamDestroy, true);
  if (!null_has(NULL_STREAM, stream)) return DRIVER_INVALID_HANDLE;
  run_until(stream, UINT64_MAX);
  null_remove(NULL_STREAM, stream);
  free(stream);
  return 0;
}

int null_StreamSynchronize(void *stream) {
  NULL_CALL(StreamSynchronize, true);
  null_stream *s = stream_of(stream);
  if (!s) return DRIVER_INVALID_HANDLE;
  if (s == null_captured) return DRIVER_CAPTURE_UNSUPPORTED;
  run_until(s, UINT64_MAX);
  return null_broken_now();
}

void loom_nullgpu_capture(void *stream) { null_captured = stream ? stream_of(stream) : NULL; }

static void *copy_bytes(const void *from, size_t size) {
  void *made = malloc(size ? size : 1);
  if (!made) abort();
  return from ? memcpy(made, from, size) : made;
}

/* A stream gets to do all that was kept while another one was captured. Memory that was freed
 * meanwhile stays until it is forgotten. */
NULL_EXPORT void loom_nullgpu_replay(void *handle);
NULL_EXPORT void loom_nullgpu_forget(void);

void loom_nullgpu_replay(void *handle) {
  null_stream *stream = stream_of(handle);
  for (const null_op *op = null_recorded.first; stream && op; op = op->next) {
    if (op->kind == OP_FREE) continue;
    null_op *made = order(stream, op->kind), *next = made ? made->next : NULL;
    if (!made) abort();
    *made = *op;
    made->next = next;
    const null_function *f = op->work.function;
    size_t words = f ? null_words(f) + 1 : 0;
    if (op->kind == OP_LAUNCH) made->work.words = copy_bytes(op->owned, words * sizeof(uint64_t));
    made->owned = op->kind == OP_LAUNCH ? made->work.words
                  : op->owned           ? copy_bytes(op->owned, op->size)
                                        : NULL;
  }
}

void loom_nullgpu_forget(void) {
  for (null_op *op = null_recorded.first, *next; op; op = next) {
    next = op->next;
    if (op->kind == OP_FREE) memory_drop(op->block);
    free(op->owned);
    free(op);
  }
  null_recorded = (null_stream){.device = -1};
}

int null_StreamIsCapturing(void *stream, int *status) {
  NULL_CALL(StreamIsCapturing, true);
  if (!stream_of(stream)) return DRIVER_INVALID_HANDLE;
  *status = null_captured && stream_of(stream) == null_captured;
  return 0;
}

int null_StreamWaitEvent(void *stream, void *event, unsigned flags) {
  NULL_CALL(StreamWaitEvent, true);
  null_stream *s = stream_of(stream);
  null_event *e = event;
  if (!s || !null_has(NULL_EVENT, e)) return DRIVER_INVALID_HANDLE;
  if (!e->stream) return 0;
  null_op *op = order(s, OP_WAIT);
  if (!op) return DRIVER_OUT_OF_MEMORY;
  op->stream = e->stream;
  op->number = e->number;
  return 0;
}

int null_EventCreate(void **event, unsigned flags) {
  NULL_CALL(EventCreate, true);
  null_event *made = calloc(1, sizeof *made);
  if (!made || !null_add(NULL_EVENT, made)) return free(made), DRIVER_OUT_OF_MEMORY;
  *event = made;
  return 0;
}

int null_EventRecord(void *event, void *stream) {
  NULL_CALL(EventRecord, true);
  null_stream *s = stream_of(stream);
  null_event *e = event;
  if (!s || !null_has(NULL_EVENT, e)) return DRIVER_INVALID_HANDLE;
  if (!order(s, OP_MARK)) return DRIVER_OUT_OF_MEMORY;
  e->stream = s;
  e->number = s->ordered;
  return 0;
}

/* ---- memory in the order of streams ---- */

static null_block *block_new(size_t size, int device) {
  size_t room = (size + MEMORY_PAGE - 1) / MEMORY_PAGE * MEMORY_PAGE;
  if (null_used + room > MEMORY_MOST || null_next + room + MEMORY_PAGE > MEMORY_ROOM) return NULL;
  if (null_block_count == null_block_capacity) {
    size_t capacity = null_block_capacity * 2 + 16;
    null_block **more = realloc(null_blocks, capacity * sizeof *more);
    if (!more) return NULL;
    null_blocks = more;
    null_block_capacity = capacity;
  }
  null_block *block = calloc(1, sizeof *block);
  if (!block || !null_add(NULL_MEMORY, block)) return free(block), NULL;
  *block = (null_block){null_next, size, room, false, device};
  null_next += room + MEMORY_PAGE;
  null_used += room;
  return null_blocks[null_block_count++] = block;
}

int null_MemAllocAsync(uint64_t *address, size_t size, void *stream) {
  NULL_CALL(MemAllocAsync, true);
  null_stream *s = stream_of(stream);
  if (!s) return DRIVER_INVALID_HANDLE;
  if (!size) return DRIVER_INVALID_VALUE;
  if (size > MEMORY_MOST || !memory_map()) return DRIVER_OUT_OF_MEMORY;
  null_block *block =
      block_new(size, s == &null_legacy || s == &null_thread ? null_current() : s->device);
  if (block && s == null_captured) { /* the graph's, at once */
    run_op(&(null_op){.kind = OP_ALLOC, .block = block}, block->device);
    *address = (uintptr_t)null_device + block->offset;
    return 0;
  }
  null_op *op = block ? order(s, OP_ALLOC) : NULL;
  if (!op) return DRIVER_OUT_OF_MEMORY;
  op->block = block;
  *address = (uintptr_t)null_device + block->offset;
  return 0;
}

int null_MemFreeAsync(uint64_t address, void *stream) {
  NULL_CALL(MemFreeAsync, true);
  null_stream *s = stream_of(stream);
  null_block *block = memory_find(address);
  if (!s || !block || address != (uintptr_t)null_device + block->offset)
    return DRIVER_INVALID_VALUE;
  null_op *op = order(s, OP_FREE);
  if (!op) return DRIVER_OUT_OF_MEMORY;
  op->block = block;
  return 0;
}

int null_PointerGetAttribute(void *value, int attribute, uint64_t address) {
  NULL_CALL(PointerGetAttribute, true);
  const null_block *block = memory_find(address);
  if (attribute != DRIVER_POINTER_DEVICE || !block) return DRIVER_INVALID_VALUE;
  memcpy(value, &block->device, sizeof block->device);
  return 0;
}

/* ---- copies and launches ---- */

/* The driver has taken the bytes when the call returns. */
int null_MemcpyHtoDAsync(uint64_t to, const void *from, size_t size, void *stream) {
  NULL_CALL(MemcpyHtoDAsync, true);
  null_stream *s = stream_of(stream);
  if (!s || !memory_find(to)) return DRIVER_INVALID_VALUE;
  void *owned = malloc(size ? size : 1);
  null_op *op = owned ? order(s, OP_TO) : NULL;
  if (!op) return free(owned), DRIVER_OUT_OF_MEMORY;
  op->owned = memcpy(owned, from, size);
  op->to = to;
  op->size = size;
  return 0;
}

static struct {
  uint8_t *begin, *end;
} null_pinned[16];
static size_t null_pinned_count;

int null_MemAllocHost(void **address, size_t size, unsigned flags) {
  NULL_CALL(MemAllocHost, true);
  if (!size || flags != DRIVER_HOST_PORTABLE || null_pinned_count == 16)
    return DRIVER_INVALID_VALUE;
  uint8_t *made = calloc(1, size);
  if (!made) return DRIVER_OUT_OF_MEMORY;
  null_pinned[null_pinned_count].begin = made;
  null_pinned[null_pinned_count++].end = made + size;
  *address = made;
  return 0;
}

static bool is_pinned(const void *address) {
  bool is = false;
  for (size_t i = 0; i < null_pinned_count; i++)
    is |= (const uint8_t *)address >= null_pinned[i].begin &&
          (const uint8_t *)address < null_pinned[i].end;
  return is;
}

/* To memory that the driver has not made it is done when the call returns. */
int null_MemcpyDtoHAsync(void *to, uint64_t from, size_t size, void *stream) {
  NULL_CALL(MemcpyDtoHAsync, true);
  null_stream *s = stream_of(stream);
  if (!s || !memory_find(from)) return DRIVER_INVALID_VALUE;
  if (s == null_captured && !is_pinned(to)) return DRIVER_CAPTURE_UNSUPPORTED;
  null_op *op = order(s, OP_FROM);
  if (!op) return DRIVER_OUT_OF_MEMORY;
  op->target = to;
  op->from = from;
  op->size = size;
  if (!is_pinned(to)) run_until(s, s->ordered);
  return null_broken_now();
}

int null_MemcpyDtoDAsync(uint64_t to, uint64_t from, size_t size, void *stream) {
  NULL_CALL(MemcpyDtoDAsync, true);
  return null_order(stream, &(null_work){.to = to, .from = from, .size = size});
}

int null_MemsetD32Async(uint64_t to, unsigned value, size_t count, void *stream) {
  NULL_CALL(MemsetD32Async, true);
  null_stream *s = stream_of(stream);
  if (!s || !memory_find(to) || to % sizeof value) return DRIVER_INVALID_VALUE;
  null_op *op = order(s, OP_FILL);
  if (!op) return DRIVER_OUT_OF_MEMORY;
  op->to = to;
  op->value = value;
  op->size = count * sizeof value;
  return 0;
}

/* The driver has taken the arguments when a call returns. */
int null_read_launch(const void *function, const unsigned grid[3], const unsigned block[3],
                     void **parameters, null_work *out) {
  const null_function *f = null_function_of(function);
  *out = (null_work){.function = f};
  if (!f) return DRIVER_INVALID_HANDLE;
  if (block[0] != f->threads || block[1] != 1 || block[2] != 1 || !grid[0] || grid[1] != 1 ||
      grid[2] != 1)
    return DRIVER_INVALID_VALUE;
  uint64_t *words = malloc((null_words(f) + 1) * sizeof *words);
  if (!words) return DRIVER_OUT_OF_MEMORY;
  memcpy(words, parameters[0], f->buffers * sizeof *words);
  memcpy(words + f->buffers, parameters[1], f->params * sizeof *words);
  if (f->maps) memcpy(words + f->buffers + f->params, parameters[5], f->maps * LOOM_MAP_BYTES);
  out->words = words;
  out->grid = grid[0];
  memcpy(&out->begin, parameters[2], sizeof out->begin);
  memcpy(&out->end, parameters[3], sizeof out->end);
  memcpy(&out->status, parameters[4], sizeof out->status);
  return 0;
}

int null_order(void *stream, const null_work *work) {
  null_stream *s = stream_of(stream);
  bool good = s && (work->function || (memory_find(work->to) && memory_find(work->from)));
  if (!good) return free(work->words), DRIVER_INVALID_VALUE;
  null_op *op = order(s, work->function ? OP_LAUNCH : OP_WITHIN);
  if (!op) return free(work->words), DRIVER_OUT_OF_MEMORY;
  op->work = *work;
  op->owned = work->words;
  op->to = work->to;
  op->from = work->from;
  op->size = work->size;
  return 0;
}

int null_order_peer(void *stream, uint64_t to, int to_device, uint64_t from, int from_device,
                    size_t size) {
  const null_block *target = memory_find(to), *source = memory_find(from);
  if (!target || !source || target->device != to_device || source->device != from_device)
    return DRIVER_INVALID_VALUE;
  return null_order(stream, &(null_work){.to = to, .from = from, .size = size});
}

int null_launch(void *stream, const void *function, const unsigned grid[3], const unsigned block[3],
                void **parameters) {
  null_work work;
  int status = null_read_launch(function, grid, block, parameters, &work);
  return status ? status : null_order(stream, &work);
}
