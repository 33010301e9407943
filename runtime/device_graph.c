/* A plan's launches and copies as one graph of the driver, which costs less to order than each of
 * them. It is built from the plan, a node for each, in their order. The first call that asks for it
 * runs plainly, since a plan may be run only once; the second one makes it.
 *
 * Later calls have other addresses, of arguments, results and the arena, and other numbers. What
 * differs from the run before is changed in place. What the driver has ordered already is not
 * affected by that, as its documentation says of cuGraphExecKernelNodeSetParams() and its like.
 *
 * A plan with loops, branches or calls of the host has no graph: the host runs them. A run on a
 * stream of others or in memory of the caller is done plainly: only the order of the device's own
 * stream keeps a graph's runs apart.
 *
 * Whatever the driver refuses, the run is done plainly, and so are all later ones: the user is told
 * once. A run that has nothing to do where the graph has a node (a copy of memory to itself), or
 * the other way round, or whose copy has another size, is done plainly, and the graph stays.
 */
#include "runtime/device_internal.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"

typedef struct graph_node {
  void *handle;   /* NULL: none, there is nothing to do */
  uint64_t *last; /* what it was given last */
} graph_node;

struct device_graph {
  loom_device_plan *p;
  pthread_mutex_t lock; /* of all below */
  loom_device_graph_state state;
  void *graph, *exec;
  void *before; /* the last node that was added */
  int failed;   /* the driver's status, or 0 */
  uint64_t replays, updates;
  graph_node nodes[]; /* for each instruction */
};

#define GRAPH_EXTRA 4 /* of a launch, beside its lists */

/* Words of what a step gets that may change: addresses and numbers, sizes. */
static uint32_t graph_words(const device_step *step) {
  return step->driver.function ? step->word_count + GRAPH_EXTRA : 3;
}

static void graph_read(const device_step *step, uint64_t out[DEVICE_WORDS + GRAPH_EXTRA]) {
  if (step->driver.function) {
    const uint64_t extra[GRAPH_EXTRA] = {step->status, (uint64_t)step->begin, (uint64_t)step->end,
                                         step->driver.blocks};
    memcpy(out, step->words, step->word_count * sizeof *out);
    memcpy(out + step->word_count, extra, sizeof extra);
    return;
  }
  out[0] = step->driver.to;
  out[1] = step->driver.from;
  out[2] = step->driver.size;
}

/* ---- made and freed ---- */

bool device_graph_new(loom_device_plan *p, loom_error *err) {
  const loom_plan_header *h = loom_plan_header_of(p->plan);
  loom_device_plan_facts facts = loom_device_plan_facts_of(p);
  p->graph = NULL;
  if (facts.launches + facts.copies < 2 || p->hosted) return true;
  device_graph *graph = calloc(1, sizeof *graph + h->instrs.count * sizeof *graph->nodes);
  if (!graph) return loom_fail(err, "out of memory");
  graph->p = p;
  graph->state = LOOM_GRAPH_UNUSED;
  pthread_mutex_init(&graph->lock, NULL);
  p->graph = graph;
  return true;
}

/* Nobody could do anything about an error but try again, which is done once. */
static void graph_drop(device_graph *graph) {
  const driver *d = graph->p->device->driver;
  if (graph->exec && d->GraphExecDestroy(graph->exec)) d->GraphExecDestroy(graph->exec);
  if (graph->graph && d->GraphDestroy(graph->graph)) d->GraphDestroy(graph->graph);
  graph->exec = graph->graph = graph->before = NULL;
  for (uint32_t i = 0; i < loom_plan_header_of(graph->p->plan)->instrs.count; i++) {
    free(graph->nodes[i].last);
    graph->nodes[i] = (graph_node){NULL, NULL};
  }
}

void device_graph_free(loom_device_plan *p) {
  device_graph *graph = p->graph;
  if (!graph) return;
  graph_drop(graph);
  pthread_mutex_destroy(&graph->lock);
  free(graph);
  p->graph = NULL;
}

/* ---- a run ---- */

device_graph *device_graph_open(loom_device_plan *p) {
  device_graph *graph = p->graph;
  if (!graph) return NULL;
  pthread_mutex_lock(&graph->lock);
  bool first = graph->state == LOOM_GRAPH_UNUSED;
  if (first) graph->state = LOOM_GRAPH_WAITS;
  if (first || graph->state == LOOM_GRAPH_FAILED) {
    pthread_mutex_unlock(&graph->lock);
    return NULL;
  }
  graph->failed = 0;
  if (!graph->graph) graph->failed = p->device->driver->GraphCreate(&graph->graph, 0);
  return graph;
}

static bool graph_add(device_graph *graph, graph_node *node, const device_step *step) {
  loom_device *device = graph->p->device;
  if (step->idle) return true;
  node->last = malloc(graph_words(step) * sizeof *node->last);
  if (!node->last) return graph->failed = DRIVER_OUT_OF_MEMORY, false;
  graph_read(step, node->last);
  graph->failed = device->driver->kind->graph_add(device, graph->graph, graph->before,
                                                  &step->driver, &node->handle);
  if (!graph->failed) graph->before = node->handle;
  return !graph->failed;
}

static bool graph_update(device_graph *graph, graph_node *node, const device_step *step) {
  loom_device *device = graph->p->device;
  uint64_t words[DEVICE_WORDS + GRAPH_EXTRA];
  if (step->idle != !node->handle) return false;
  if (step->idle) return true;
  size_t size = graph_words(step) * sizeof *words;
  graph_read(step, words);
  if (memcmp(words, node->last, size) == 0) return true;
  if (!step->driver.function && words[2] != node->last[2]) return false;
  graph->failed = device->driver->kind->graph_set(device, graph->exec, node->handle, &step->driver);
  if (graph->failed) return false;
  memcpy(node->last, words, size);
  graph->updates++;
  return true;
}

bool device_graph_step(device_graph *graph, uint32_t instr, const device_step *step) {
  if (graph->failed) return false;
  graph_node *node = &graph->nodes[instr];
  return graph->exec ? graph_update(graph, node, step) : graph_add(graph, node, step);
}

static bool graph_launch(device_graph *graph) {
  const loom_device *device = graph->p->device;
  const driver *d = device->driver;
  if (!graph->exec) graph->failed = d->GraphInstantiate(&graph->exec, graph->graph, 0);
  if (!graph->failed) graph->failed = d->GraphLaunch(graph->exec, device->stream);
  return !graph->failed;
}

/* What it was made of is given back when what was ordered is done. */
static void graph_give_up(device_graph *graph) {
  const loom_device *device = graph->p->device;
  loom_error err;
  driver_check(device->driver, graph->failed, &err, "a graph of launches on %s is not possible",
               device->name);
  loom_notice(LOOM_NOTICE_GRAPHS, "%s: they are ordered one by one", err.message);
  if (graph->exec) device->driver->StreamSynchronize(device->stream);
  graph_drop(graph);
  graph->state = LOOM_GRAPH_FAILED;
}

bool device_graph_close(device_graph *graph, bool good) {
  bool done = good && graph_launch(graph);
  if (done) {
    graph->state = LOOM_GRAPH_USED;
    graph->replays++;
  } else if (graph->failed) {
    graph_give_up(graph);
  } else if (!graph->exec) {
    graph_drop(graph); /* the plan's own error, which the plain run tells */
  }
  pthread_mutex_unlock(&graph->lock);
  return done;
}

/* ---- what is told ---- */

loom_device_plan_facts loom_device_plan_facts_of(loom_device_plan *p) {
  const loom_plan_header *h = loom_plan_header_of(p->plan);
  loom_device_plan_facts facts = {.arena = h->flags & LOOM_PLAN_ARENA_REGISTER ? 0 : h->arena_size,
                                  .waits = !p->silent};
  if (p->hosted) facts.graph = LOOM_GRAPH_LOOPS;
  for (uint32_t i = 0; i < h->instrs.count; i++) {
    facts.launches += p->plan->instrs[i].opcode == LOOM_PLAN_LAUNCH;
    facts.copies += p->plan->instrs[i].opcode == LOOM_PLAN_COPY;
  }
  if (!p->graph) return facts;
  pthread_mutex_lock(&p->graph->lock);
  facts.graph = p->graph->state;
  facts.replays = p->graph->replays;
  facts.updates = p->graph->updates;
  pthread_mutex_unlock(&p->graph->lock);
  return facts;
}
