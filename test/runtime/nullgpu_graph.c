/* Graphs of the tests' drivers. What was made of a graph is launched as its nodes, on one stream,
 * in the most unexpected of the orders that the nodes' dependencies allow: of those that may come
 * next, the one that was added last. */
#include "nullgpu.h"

#include <stdlib.h>
#include <string.h>

#define GRAPH_NODES 1024

typedef struct null_node {
  null_work work;
  size_t count;
  struct null_node *before[];
} null_node;

typedef struct null_graph {
  null_node *nodes[GRAPH_NODES];
  size_t count;
} null_graph;

/* What was made of a graph has work of its own. */
typedef struct null_exec {
  const null_node *nodes[GRAPH_NODES]; /* handles; the graph may be gone */
  size_t order[GRAPH_NODES];
  null_work work[GRAPH_NODES];
  size_t count;
} null_exec;

/* The same with words of its own. */
static bool graph_copy(const null_work *work, null_work *out) {
  *out = *work;
  if (!work->function) return true;
  size_t size = (null_words(work->function) + 1) * sizeof *work->words;
  out->words = malloc(size);
  if (out->words) memcpy(out->words, work->words, size - sizeof *work->words);
  return out->words != NULL;
}

int null_GraphCreate(void **graph, unsigned flags) {
  NULL_CALL(GraphCreate, false);
  null_graph *made = flags ? NULL : calloc(1, sizeof *made);
  if (!made || !null_add(NULL_GRAPH, made)) return free(made), DRIVER_INVALID_VALUE;
  *graph = made;
  return 0;
}

int null_GraphDestroy(void *handle) {
  NULL_CALL(GraphDestroy, false);
  null_graph *graph = handle;
  if (!null_has(NULL_GRAPH, graph)) return DRIVER_INVALID_HANDLE;
  null_remove(NULL_GRAPH, graph);
  for (size_t i = 0; i < graph->count; i++) {
    free(graph->nodes[i]->work.words);
    free(graph->nodes[i]);
  }
  free(graph);
  return 0;
}

static bool graph_has(const null_graph *graph, const void *node) {
  for (size_t i = 0; i < graph->count; i++)
    if (graph->nodes[i] == node) return true;
  return false;
}

int null_graph_add(void **node, void *handle, void *const *before, size_t count,
                   const null_work *work) {
  null_graph *graph = handle;
  bool good = null_has(NULL_GRAPH, graph) && graph->count < GRAPH_NODES;
  for (size_t i = 0; good && i < count; i++)
    good = graph_has(graph, before[i]);
  null_node *made = good ? calloc(1, sizeof *made + count * sizeof *made->before) : NULL;
  if (!made) return free(work->words), DRIVER_INVALID_VALUE;
  made->work = *work;
  for (made->count = 0; made->count < count; made->count++)
    made->before[made->count] = before[made->count];
  *node = graph->nodes[graph->count++] = made;
  return 0;
}

/* The last of the nodes that are not in the order yet and whose dependencies are. */
static size_t graph_next(const null_graph *graph, const bool taken[GRAPH_NODES]) {
  for (size_t i = graph->count; i-- > 0;) {
    bool ready = !taken[i];
    for (size_t k = 0; k < graph->nodes[i]->count; k++)
      for (size_t j = 0; j < graph->count; j++)
        if (graph->nodes[j] == graph->nodes[i]->before[k]) ready &= taken[j];
    if (ready) return i;
  }
  return graph->count;
}

static void exec_free(null_exec *exec) {
  for (size_t i = 0; i < exec->count; i++)
    free(exec->work[i].words);
  free(exec);
}

int null_GraphInstantiate(void **out, void *handle, unsigned long long flags) {
  NULL_CALL(GraphInstantiate, true);
  const null_graph *graph = handle;
  bool taken[GRAPH_NODES] = {false};
  if (!null_has(NULL_GRAPH, graph) || flags) return DRIVER_INVALID_VALUE;
  null_exec *exec = calloc(1, sizeof *exec);
  if (!exec || !null_add(NULL_EXEC, exec)) return free(exec), DRIVER_OUT_OF_MEMORY;
  for (exec->count = 0; exec->count < graph->count; exec->count++) {
    exec->nodes[exec->count] = graph->nodes[exec->count];
    size_t next = exec->order[exec->count] = graph_next(graph, taken);
    taken[next] = true;
    if (!graph_copy(&graph->nodes[exec->count]->work, &exec->work[exec->count])) abort();
  }
  *out = exec;
  return 0;
}

int null_GraphExecDestroy(void *handle) {
  NULL_CALL(GraphExecDestroy, false);
  if (!null_has(NULL_EXEC, handle)) return DRIVER_INVALID_HANDLE;
  null_remove(NULL_EXEC, handle);
  exec_free(handle);
  return 0;
}

/* A node keeps its kind, its kernel and the size of a copy, as drivers want it. */
int null_graph_set(void *handle, void *node, const null_work *work) {
  null_exec *exec = handle;
  size_t i = 0;
  if (!null_has(NULL_EXEC, exec)) return free(work->words), DRIVER_INVALID_HANDLE;
  while (i < exec->count && exec->nodes[i] != node)
    i++;
  if (i == exec->count || exec->work[i].function != work->function ||
      exec->work[i].size != work->size)
    return free(work->words), DRIVER_INVALID_VALUE;
  free(exec->work[i].words);
  exec->work[i] = *work;
  return 0;
}

/* What is changed later does not change what is ordered now. */
int null_GraphLaunch(void *handle, void *stream) {
  NULL_CALL(GraphLaunch, true);
  const null_exec *exec = handle;
  if (!null_has(NULL_EXEC, exec)) return DRIVER_INVALID_HANDLE;
  for (size_t i = 0; i < exec->count; i++) {
    null_work work;
    if (!graph_copy(&exec->work[exec->order[i]], &work)) abort();
    int status = null_order(stream, &work);
    if (status) return status;
  }
  return 0;
}
