/* topk: which of several equal elements eager torch's CPU kernel takes, and in which order.
 *
 * That is not defined in torch, but what a model computes may depend on it (a mask of the largest
 * scores behind a relu, the experts of a router whose scores are equal). The kernel calls the C++
 * library's partial_sort where 64 k <= n, else nth_element and then sort of the k - 1 elements in
 * front of the last one. What these leave to the library are steps of well-known algorithms, whose
 * order of comparisons and moves is kept here:
 *
 * - partial_sort: a heap of the first k elements, through which the others pass; then a heap sort.
 * - nth_element: quickselect with the median of the second, the middle and the last element as
 *   pivot, down to 3 elements, which are sorted by insertion; a heap after 2 log2(n) rounds.
 * - sort: quicksort with the same partition down to 16 elements, insertion at the end; a heap after
 *   2 log2(n) rounds.
 *
 * None of them is stable: all that is known of equal elements is that they do not come "before" one
 * another. Elements are compared by keys, unsigned numbers of which a larger one comes before a
 * smaller one; NaN counts as the largest element, whatever is asked for, and zeros are equal. */
#include "frontend/base/base.h"
#include "frontend/torch/torch.h"
#include "frontend/torch/torch_internal.h"
#include "runtime/runtime.h"

#include <string.h>

typedef struct topk_item {
  uint64_t key;
  int64_t at;
} topk_item;

static bool topk_before(topk_item a, topk_item b) { return a.key > b.key; }

static void topk_swap(topk_item *a, topk_item *b) {
  topk_item t = *a;
  *a = *b;
  *b = t;
}

/* ---- heaps ----------------------------------------------------------------------------------- */

/* Puts `item` into the heap of n whose place `hole` is free: first down to a leaf, then up. */
static void topk_sift(topk_item *heap, int64_t hole, int64_t n, topk_item item) {
  int64_t top = hole, child = hole;
  while (child < (n - 1) / 2) {
    child = 2 * (child + 1);
    if (topk_before(heap[child], heap[child - 1])) child--;
    heap[hole] = heap[child];
    hole = child;
  }
  if (n % 2 == 0 && child == (n - 2) / 2) {
    heap[hole] = heap[2 * child + 1];
    hole = 2 * child + 1;
  }
  for (int64_t parent = (hole - 1) / 2; hole > top && topk_before(heap[parent], item);
       parent = (hole - 1) / 2) {
    heap[hole] = heap[parent];
    hole = parent;
  }
  heap[hole] = item;
}

static void topk_heap_make(topk_item *x, int64_t k) {
  for (int64_t parent = (k - 2) / 2; k > 1 && parent >= 0; parent--)
    topk_sift(x, parent, k, x[parent]);
}

/* The k foremost of n elements as a heap in front, the last of them on its top. */
static void topk_heap_select(topk_item *x, int64_t k, int64_t n) {
  topk_heap_make(x, k);
  for (int64_t i = k; i < n; i++) {
    if (!topk_before(x[i], x[0])) continue;
    topk_item item = x[i];
    x[i] = x[0];
    topk_sift(x, 0, k, item);
  }
}

static void topk_heap_sort(topk_item *heap, int64_t n) {
  for (int64_t last = n - 1; last > 0; last--) {
    topk_item item = heap[last];
    heap[last] = heap[0];
    topk_sift(heap, 0, last, item);
  }
}

/* ---- partitions and insertion ---------------------------------------------------------------- */

/* Swaps the median of three elements to `to`. */
static void topk_median(topk_item *to, topk_item *a, topk_item *b, topk_item *c) {
  if (topk_before(*a, *b))
    topk_swap(to, topk_before(*b, *c) ? b : topk_before(*a, *c) ? c : a);
  else
    topk_swap(to, topk_before(*a, *c) ? a : topk_before(*b, *c) ? c : b);
}

/* Divides n > 3 elements by a pivot, which goes to the front: where the second part begins. The
 * median of three bounds both scans. */
static int64_t topk_partition(topk_item *x, int64_t n) {
  topk_median(x, x + 1, x + n / 2, x + n - 1);
  for (int64_t low = 1, high = n;; low++) {
    while (topk_before(x[low], x[0]))
      low++;
    do
      high--;
    while (topk_before(x[0], x[high]));
    if (low >= high) return low;
    topk_swap(x + low, x + high);
  }
}

static void topk_insertion(topk_item *x, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    topk_item item = x[i];
    int64_t to = i;
    while (to > 0 && topk_before(item, x[to - 1])) {
      x[to] = x[to - 1];
      to--;
    }
    x[to] = item;
  }
}

static int topk_rounds(int64_t n) { return n > 1 ? 2 * (63 - __builtin_clzll((uint64_t)n)) : 0; }

/* The element that belongs at `nth` goes there, those before it in front. */
static void topk_select(topk_item *x, int64_t nth, int64_t n) {
  for (int rounds = topk_rounds(n); n > 3; rounds--) {
    if (!rounds) {
      topk_heap_select(x, nth + 1, n);
      topk_swap(x, x + nth);
      return;
    }
    int64_t cut = topk_partition(x, n);
    if (cut <= nth) {
      x += cut;
      nth -= cut;
      n -= cut;
    } else {
      n = cut;
    }
  }
  topk_insertion(x, n);
}

#define TOPK_RUN 16 /* elements that are left to insertion */

static void topk_quicksort(topk_item *x, int64_t n, int rounds) {
  for (; n > TOPK_RUN; rounds--) {
    if (!rounds) {
      topk_heap_select(x, n, n);
      topk_heap_sort(x, n);
      return;
    }
    int64_t cut = topk_partition(x, n);
    topk_quicksort(x + cut, n - cut, rounds - 1);
    n = cut;
  }
}

static void topk_sort(topk_item *x, int64_t n) {
  topk_quicksort(x, n, topk_rounds(n));
  topk_insertion(x, n);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* What makes keys of elements: their sign bit, the bits of infinity (0: no floats), and whether the
 * sign is to be turned (integers). */
typedef struct topk_order {
  uint64_t sign, infinity, turn;
  uint64_t flip; /* all bits where the smallest elements are wanted */
} topk_order;

static topk_order topk_order_of(loom_dtype dtype, bool largest) {
  topk_order o = {.flip = largest ? 0 : UINT64_MAX};
  o.sign = UINT64_C(1) << (8 * loom_dtype_size(dtype) - 1);
  if (loom_dtype_is_signed(dtype)) o.turn = o.sign;
  if (loom_dtype_is_float(dtype))
    o.infinity = dtype == LOOM_F64    ? UINT64_C(0x7FF0000000000000)
                 : dtype == LOOM_F32  ? 0x7F800000
                 : dtype == LOOM_BF16 ? 0x7F80
                                      : 0x7C00;
  return o;
}

static inline uint64_t topk_key(const topk_order *o, uint64_t x) {
  if (!o->infinity) return x ^ o->turn;
  uint64_t magnitude = x & (o->sign - 1);
  if (magnitude > o->infinity) return UINT64_MAX;
  return x & o->sign ? o->sign - magnitude : o->sign + magnitude; /* zeros: the same */
}

#define TOPK_READ(TYPE)                                                                            \
  for (int64_t i = 0; i < n; i++) {                                                                \
    TYPE x;                                                                                        \
    memcpy(&x, from + i * step, sizeof x);                                                         \
    items[i] = (topk_item){topk_key(o, x) ^ o->flip, i};                                           \
  }                                                                                                \
  return

static void topk_read(topk_item *items, const topk_order *o, const char *from, int64_t step,
                      int64_t size, int64_t n) {
  switch (size) {
  case 1: TOPK_READ(uint8_t);
  case 2: TOPK_READ(uint16_t);
  case 4: TOPK_READ(uint32_t);
  default: TOPK_READ(uint64_t);
  }
}

/* ---- few of many ----------------------------------------------------------------------------- */

#define TOPK_BLOCK 32

/* May one of a block's elements come before the last one of the heap? Where either is NaN the
 * answer is yes. */
#define TOPK_MAY_ENTER(NAME, TYPE)                                                                 \
  static bool NAME(const char *block, const char *last, bool largest) {                            \
    const TYPE *x = (const TYPE *)block, limit = *(const TYPE *)last;                              \
    int enter = 0;                                                                                 \
    if (largest)                                                                                   \
      for (int i = 0; i < TOPK_BLOCK; i++)                                                         \
        enter |= !(x[i] <= limit);                                                                 \
    else                                                                                           \
      for (int i = 0; i < TOPK_BLOCK; i++)                                                         \
        enter |= !(x[i] >= limit);                                                                 \
    return enter != 0;                                                                             \
  }
TOPK_MAY_ENTER(topk_singles_may_enter, float)
TOPK_MAY_ENTER(topk_doubles_may_enter, double)

#define TOPK_PASS(TYPE)                                                                            \
  for (int64_t i = begin; i < end; i++) {                                                          \
    TYPE x;                                                                                        \
    memcpy(&x, from + i * step, sizeof x);                                                         \
    topk_item item = {topk_key(o, x) ^ o->flip, i};                                                \
    if (topk_before(item, heap[0])) topk_sift(heap, 0, k, item);                                   \
  }                                                                                                \
  return

static void topk_pass(topk_item *heap, int64_t k, const topk_order *o, const char *from,
                      int64_t step, int64_t size, int64_t begin, int64_t end) {
  switch (size) {
  case 1: TOPK_PASS(uint8_t);
  case 2: TOPK_PASS(uint16_t);
  case 4: TOPK_PASS(uint32_t);
  default: TOPK_PASS(uint64_t);
  }
}

/* topk_heap_select() of elements that are read as they pass: what does not enter the heap is never
 * looked at again. Of floats in a line most blocks are passed by as a whole. */
static void topk_heap_read(topk_item *heap, int64_t k, const topk_order *o, const char *from,
                           int64_t step, int64_t size, int64_t n) {
  bool blocks = o->infinity && step == size && size >= 4;
  topk_read(heap, o, from, step, size, k);
  topk_heap_make(heap, k);
  int64_t i = k;
  for (; blocks && i + TOPK_BLOCK <= n; i += TOPK_BLOCK) {
    const char *block = from + i * step, *last = from + heap[0].at * step;
    if (size == 4 ? topk_singles_may_enter(block, last, !o->flip)
                  : topk_doubles_may_enter(block, last, !o->flip))
      topk_pass(heap, k, o, from, step, size, i, i + TOPK_BLOCK);
  }
  topk_pass(heap, k, o, from, step, size, i, n);
}

/* ---- lines ----------------------------------------------------------------------------------- */

typedef struct topk_job {
  const torch_array *from;
  torch_array *values, *indices;
  int64_t k, n, axis, lines, chunk;
  topk_order order;
  bool sorted;
} topk_job;

/* One line after the other: their coordinates (0 along the axis), and where they begin in the
 * operand, the values and the indices. */
typedef struct topk_walk {
  int64_t at[LOOM_MAX_RANK], offsets[3];
} topk_walk;

static const torch_spec *topk_spec(const topk_job *j, int i) {
  return i == 0 ? &j->from->spec : i == 1 ? &j->values->spec : &j->indices->spec;
}

static void topk_move(const topk_job *j, topk_walk *w, int axis, int64_t by) {
  w->at[axis] += by;
  for (int i = 0; i < 3; i++)
    w->offsets[i] += by * topk_spec(j, i)->strides[axis];
}

static void topk_start(const topk_job *j, topk_walk *w, int64_t line) {
  memset(w, 0, sizeof *w);
  for (int i = j->from->spec.rank - 1; i >= 0; i--) {
    if (i == j->axis) continue;
    topk_move(j, w, i, line % j->from->spec.sizes[i]);
    line /= j->from->spec.sizes[i];
  }
}

static void topk_step(const topk_job *j, topk_walk *w) {
  for (int i = j->from->spec.rank - 1; i >= 0; i--) {
    if (i == j->axis) continue;
    topk_move(j, w, i, 1);
    if (w->at[i] < j->from->spec.sizes[i]) return;
    topk_move(j, w, i, -w->at[i]);
  }
}

static void topk_one(const topk_job *j, const topk_walk *w, topk_item *items) {
  int64_t size = (int64_t)loom_dtype_size(j->from->spec.dtype);
  int64_t step = j->from->spec.strides[j->axis] * size, n = j->n, k = j->k;
  const char *from = (const char *)j->from->data + w->offsets[0] * size;
  if (k * 64 <= n) {
    topk_heap_read(items, k, &j->order, from, step, size, n);
    topk_heap_sort(items, k);
  } else {
    topk_read(items, &j->order, from, step, size, n);
    topk_select(items, k - 1, n);
    if (j->sorted) topk_sort(items, k - 1);
  }
  char *value = (char *)j->values->data + w->offsets[1] * size;
  int64_t *index = (int64_t *)j->indices->data + w->offsets[2];
  for (int64_t i = 0; i < k; i++) {
    memcpy(value, from + items[i].at * step, (size_t)size);
    *index = items[i].at;
    value += j->values->spec.strides[j->axis] * size;
    index += j->indices->spec.strides[j->axis];
  }
}

static uint32_t topk_chunks(void *const *buffers, const uint64_t *params, void *scratch,
                            int64_t begin, int64_t end) {
  const topk_job *j = buffers[0];
  int64_t line = begin * j->chunk, stop = end * j->chunk < j->lines ? end * j->chunk : j->lines;
  topk_walk walk;
  (void)params;
  topk_start(j, &walk, line);
  for (; line < stop; line++) {
    topk_one(j, &walk, scratch);
    topk_step(j, &walk);
  }
  return 0;
}

#define TOPK_WORK 8192 /* elements that make a chunk worth its launch */

int torch_topk(const torch_array *operands, torch_array *results, const int64_t *numbers) {
  topk_job j = {.from = operands,
                .values = results,
                .indices = results + 1,
                .k = numbers[0],
                .axis = numbers[1],
                .order = topk_order_of(operands->spec.dtype, numbers[2]),
                .sorted = numbers[3],
                .lines = 1};
  j.n = operands->spec.sizes[j.axis];
  if (j.k < 1 || j.k > j.n) return TORCH_HOST_OTHER;
  for (int i = 0; i < operands->spec.rank; i++)
    if (i != j.axis) j.lines *= operands->spec.sizes[i];
  j.chunk = j.n < TOPK_WORK ? TOPK_WORK / j.n : 1;
  void *buffers[] = {&j};
  uint32_t status = loom_threads_launch(topk_chunks, buffers, NULL, (size_t)j.n * sizeof(topk_item),
                                        0, (j.lines + j.chunk - 1) / j.chunk);
  if (status & LOOM_STATUS_MEMORY) PyErr_NoMemory();
  return (status & LOOM_STATUS_MEMORY) != 0;
}
