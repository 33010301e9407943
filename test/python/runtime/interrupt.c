/* For test_interrupts.py: a signal at the n-th allocation of Python objects, so that every moment
 * at which a signal handler can run is reached by counting, not by a clock. */
#include <Python.h>

static PyMemAllocatorEx before[2];
static const PyMemAllocatorDomain domains[2] = {PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};
static long seen, at;
static int number;
static PyObject *thrown; /* raised in the thread that allocates; NULL: a signal comes */

static void tick(void) {
  if (++seen != at) return;
  if (thrown)
    PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), thrown);
  else
    PyErr_SetInterruptEx(number);
}

static void *tick_malloc(void *context, size_t size) {
  const PyMemAllocatorEx *a = context;
  tick();
  return a->malloc(a->ctx, size);
}

static void *tick_calloc(void *context, size_t count, size_t size) {
  const PyMemAllocatorEx *a = context;
  tick();
  return a->calloc(a->ctx, count, size);
}

static void *tick_realloc(void *context, void *block, size_t size) {
  const PyMemAllocatorEx *a = context;
  tick();
  return a->realloc(a->ctx, block, size);
}

static void tick_free(void *context, void *block) {
  const PyMemAllocatorEx *a = context;
  a->free(a->ctx, block);
}

void interrupt_install(int signal_number) {
  number = signal_number;
  for (int i = 0; i < 2; i++) {
    PyMem_GetAllocator(domains[i], &before[i]);
    PyMemAllocatorEx mine = {&before[i], tick_malloc, tick_calloc, tick_realloc, tick_free};
    PyMem_SetAllocator(domains[i], &mine);
  }
}

void interrupt_remove(void) {
  for (int i = 0; i < 2; i++)
    PyMem_SetAllocator(domains[i], &before[i]);
}

/* The next one comes at the count-th allocation from here on; 0: none does. */
void interrupt_arm(long count, PyObject *exception) {
  seen = 0;
  at = count;
  thrown = exception == Py_None ? NULL : exception;
}

long interrupt_seen(void) { return seen; }
