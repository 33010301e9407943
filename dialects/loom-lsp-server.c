/* loom-lsp-server: MLIR's language server with the loom dialect.
 *
 * MLIR's parser recurses on nested text, and an editor sends whatever is typed: the server runs on
 * a thread with a stack for deep nesting, of which only touched pages cost. */
#include <pthread.h>

#include "dialects/dialect.h"

#define LSP_STACK (8ul << 30)

typedef struct lsp_job {
  int argc, status;
  char **argv;
} lsp_job;

static void *lsp_main(void *user) {
  lsp_job *job = user;
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  loom_register_dialects(registry);
  job->status = loom_lsp_main(job->argc, job->argv, registry);
  return NULL;
}

LOOM_TOOL_MAIN loom_tool_lsp_server(int argc, char **argv) {
  lsp_job job = {argc, 1, argv};
  pthread_attr_t attributes;
  pthread_t id;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, LSP_STACK);
  if (pthread_create(&id, &attributes, lsp_main, &job) == 0)
    pthread_join(id, NULL);
  else
    lsp_main(&job);
  pthread_attr_destroy(&attributes);
  return job.status;
}
