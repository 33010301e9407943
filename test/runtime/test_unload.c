/* Closing a library that holds the runtime: workers end, and neither fork nor a thread's end calls
 * into it. */
#include "build.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void *library;
static int (*work)(void);
static pthread_barrier_t barrier;

static void *work_and_outlive(void *argument) {
  *(int *)argument = work();
  pthread_barrier_wait(&barrier); /* the library may be closed */
  pthread_barrier_wait(&barrier); /* it was */
  return NULL;
}

static void can_be_closed_and_opened_again(void **state) {
  for (int round = 0; round < 5; round++) {
    library = dlopen(LOOM_TEST_MODULE, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail_msg("%s", dlerror());
    *(void **)&work = dlsym(library, "unload_work");
    assert_non_null(work);
    assert_int_equal(work(), 0);
    pthread_t thread;
    int result = -1;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, work_and_outlive, &result);
    pthread_barrier_wait(&barrier);
    assert_int_equal(result, 0);
    assert_int_equal(dlclose(library), 0);
    assert_null(dlopen(LOOM_TEST_MODULE, RTLD_NOW | RTLD_NOLOAD));
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&barrier);
    pid_t child = fork();
    if (!child) _exit(7);
    int status = 0;
    waitpid(child, &status, 0);
    assert_int_equal(WEXITSTATUS(status), 7);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(can_be_closed_and_opened_again)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
