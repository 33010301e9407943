/* A plan's launches and copies as graphs of the driver, which cost less to order than each of
 * them. A piece is what lies between two things that the host does: loops, branches and calls. It
 * has a graph, built from the plan: a node for each step, with edges where one has to wait for
 * another (device_order.c), so that others may overlap. The first call that asks for it runs
 * plainly, since a plan may be run only once; the second one makes it.
 *
 * Later calls have other addresses, of arguments, results and the arena, and other numbers. What
 * differs from the run before is changed in place, and nothing is copied. What the driver has
 * ordered already is not affected by that, as its documentation says of
 * cuGraphExecKernelNodeSetParams() and its like.
 *
 * The order of its stream keeps a graph's runs apart: a stream has graphs of its own. After some
 * streams (GRAPH_STREAMS) runs on others are plain.
 *
 * Whatever the driver refuses, the run is done plainly, and so are all later ones: the user is told
 * once. A run that has nothing to do where the graph has a node (a copy of memory to itself), or
 * the other way round, or whose copy has another size, is done plainly, and the graph stays.
 */
#include "runtime/device_internal.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"

#define GRAPH_STREAMS 4

typedef struct graph_node {
  void *handle;   /* NULL: none, there is nothing to do */
  uint64_t *last; /* what it was given last */
} graph_node;

/* Of one piece, on one stream. */
struct device_graph {
  device_graphs *set;
  device_graph *next;
  loom_device *device; /* with the stream */
  uint32_t first, end; /* instructions */
  void *graph, *exec;
  device_order *order; /* while it is made */
  void **before;       /* room for handles, meanwhile */
  int failed;          /* the driver's status, or 0 */
  bool used;
  graph_node nodes[]; /* for each instruction */
};

typedef struct graph_piece {
  uint32_t first, end;
} graph_piece;

struct device_graphs {
  loom_device_plan *p;
  pthread_mutex_t lock; /* of all below, and of the graphs */
  device_graph *graphs;
  bool failed;
  uint64_t replays, updates;
  uint32_t piece_count;
  graph_piece pieces[];
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

/* ---- pieces ---- */

static bool graph_is_hosts(const loom_plan_instr *in) {
  return in->opcode == LOOM_PLAN_FOR || in->opcode == LOOM_PLAN_WHILE ||
         in->opcode == LOOM_PLAN_BRANCH || in->opcode == LOOM_PLAN_HOST_CALL;
}

/* The next piece with two steps or more, from `at` on. */
static bool graph_next_piece(const loom_plan *plan, uint32_t at, graph_piece *out) {
  uint32_t count = loom_plan_header_of(plan)->instrs.count, steps = 0;
  out->first = at;
  for (out->end = at; out->end < count; out->end++) {
    uint16_t opcode = plan->instrs[out->end].opcode;
    steps += opcode == LOOM_PLAN_LAUNCH || opcode == LOOM_PLAN_COPY;
    if (!graph_is_hosts(&plan->instrs[out->end])) continue;
    if (steps > 1) return true;
    out->first = out->end + 1;
    steps = 0;
  }
  return steps > 1;
}

uint32_t device_graph_piece(const loom_device_plan *p, uint32_t first) {
  for (uint32_t i = 0; p->graphs && i < p->graphs->piece_count; i++)
    if (p->graphs->pieces[i].first == first) return p->graphs->pieces[i].end;
  return 0;
}

/* ---- made and freed ---- */

bool device_graphs_new(loom_device_plan *p, loom_error *err) {
  uint32_t count = 0, at = loom_plan_header_of(p->plan)->prologue;
  graph_piece piece = {0};
  p->graphs = NULL;
  for (uint32_t from = at; graph_next_piece(p->plan, from, &piece); from = piece.end)
    count++;
  if (!count) return true;
  device_graphs *set = calloc(1, sizeof *set + count * sizeof *set->pieces);
  if (!set) return loom_fail(err, "out of memory");
  for (; graph_next_piece(p->plan, at, &piece); at = piece.end)
    set->pieces[set->piece_count++] = piece;
  set->p = p;
  pthread_mutex_init(&set->lock, NULL);
  p->graphs = set;
  return true;
}

static void graph_forget_making(device_graph *graph) {
  device_order_free(graph->order);
  free(graph->before);
  graph->order = NULL;
  graph->before = NULL;
}

/* Nobody could do anything about an error but try again, which is done once. */
static void graph_drop(device_graph *graph) {
  const driver *d = graph->device->driver;
  graph_forget_making(graph);
  if (graph->exec && d->GraphExecDestroy(graph->exec)) d->GraphExecDestroy(graph->exec);
  if (graph->graph && d->GraphDestroy(graph->graph)) d->GraphDestroy(graph->graph);
  graph->exec = graph->graph = NULL;
  for (uint32_t i = 0; i < graph->end - graph->first; i++) {
    free(graph->nodes[i].last);
    graph->nodes[i] = (graph_node){NULL, NULL};
  }
}

static void graph_drop_all(device_graphs *set) {
  for (device_graph *graph = set->graphs, *next; graph; graph = next) {
    next = graph->next;
    graph_drop(graph);
    free(graph);
  }
  set->graphs = NULL;
}

void device_graphs_free(loom_device_plan *p) {
  if (!p->graphs) return;
  graph_drop_all(p->graphs);
  pthread_mutex_destroy(&p->graphs->lock);
  free(p->graphs);
  p->graphs = NULL;
}

/* ---- a run ---- */

/* NULL: it has none yet. It gets one, unless there are many, which the next call makes. */
static device_graph *graph_find(device_graphs *set, loom_device *device, uint32_t first,
                                uint32_t end) {
  uint32_t streams = 0;
  for (device_graph *graph = set->graphs; graph; graph = graph->next) {
    if (graph->first == first && graph->device == device) return graph;
    streams += graph->first == first;
  }
  if (streams == GRAPH_STREAMS) return NULL;
  device_graph *made = calloc(1, sizeof *made + (end - first) * sizeof *made->nodes);
  if (!made) return NULL;
  *made =
      (device_graph){.set = set, .next = set->graphs, .device = device, .first = first, .end = end};
  set->graphs = made;
  return NULL;
}

/* Before it is made. */
static bool graph_begin(device_graph *graph) {
  uint32_t count = graph->end - graph->first;
  graph->order = device_order_new(graph->set->p->plan, graph->first, graph->end);
  graph->before = calloc(count, sizeof *graph->before);
  if (!graph->order || !graph->before) return graph->failed = DRIVER_OUT_OF_MEMORY, false;
  graph->failed = graph->device->driver->GraphCreate(&graph->graph, 0);
  return !graph->failed;
}

device_graph *device_graph_open(loom_device_plan *p, loom_device *device, uint32_t first) {
  device_graphs *set = p->graphs;
  pthread_mutex_lock(&set->lock);
  device_graph *graph =
      set->failed ? NULL : graph_find(set, device, first, device_graph_piece(p, first));
  if (!graph) {
    pthread_mutex_unlock(&set->lock);
    return NULL;
  }
  graph->failed = 0;
  if (!graph->exec) graph_begin(graph);
  return graph;
}

static bool graph_add(device_graph *graph, uint32_t number, const device_step *step) {
  graph_node *node = &graph->nodes[number];
  uint32_t count;
  size_t handles = 0;
  if (step->idle) return true;
  node->last = malloc(graph_words(step) * sizeof *node->last);
  if (!node->last) return graph->failed = DRIVER_OUT_OF_MEMORY, false;
  graph_read(step, node->last);
  const uint32_t *list = device_order_before(graph->order, number, &count);
  for (uint32_t i = 0; i < count; i++)
    if (graph->nodes[list[i]].handle) graph->before[handles++] = graph->nodes[list[i]].handle;
  graph->failed = graph->device->driver->kind->graph_add(graph->device, graph->graph, graph->before,
                                                         handles, &step->driver, &node->handle);
  return !graph->failed;
}

static bool graph_update(device_graph *graph, graph_node *node, const device_step *step) {
  uint64_t words[DEVICE_WORDS + GRAPH_EXTRA];
  if (step->idle != !node->handle) return false;
  if (step->idle) return true;
  size_t size = graph_words(step) * sizeof *words;
  graph_read(step, words);
  if (memcmp(words, node->last, size) == 0) return true;
  if (!step->driver.function && words[2] != node->last[2]) return false;
  graph->failed = graph->device->driver->kind->graph_set(graph->device, graph->exec, node->handle,
                                                         &step->driver);
  if (graph->failed) return false;
  memcpy(node->last, words, size);
  graph->set->updates++;
  return true;
}

bool device_graph_step(device_graph *graph, uint32_t instr, const device_step *step) {
  uint32_t number = instr - graph->first;
  if (graph->failed) return false;
  return graph->exec ? graph_update(graph, &graph->nodes[number], step)
                     : graph_add(graph, number, step);
}

static bool graph_launch(device_graph *graph) {
  const loom_device *device = graph->device;
  const driver *d = device->driver;
  if (!graph->exec) graph->failed = d->GraphInstantiate(&graph->exec, graph->graph, 0);
  if (!graph->failed) graph->failed = d->GraphLaunch(graph->exec, device->stream);
  return !graph->failed;
}

/* What it was made of is given back when what was ordered is done. */
static void graph_give_up(device_graph *graph) {
  device_graphs *set = graph->set;
  loom_error err;
  driver_check(graph->device->driver, graph->failed, &err,
               "a graph of launches on %s is not possible", graph->device->name);
  loom_notice(LOOM_NOTICE_GRAPHS, "%s: they are ordered one by one", err.message);
  for (device_graph *each = set->graphs; each; each = each->next)
    if (each->exec) each->device->driver->StreamSynchronize(each->device->stream);
  graph_drop_all(set);
  set->failed = true;
}

bool device_graph_close(device_graph *graph, bool good) {
  device_graphs *set = graph->set;
  bool done = good && !graph->failed && graph_launch(graph);
  if (done) {
    graph_forget_making(graph);
    graph->used = true;
    set->replays++;
  } else if (graph->failed) {
    graph_give_up(graph);
  } else if (!graph->exec) {
    graph_drop(graph); /* the plan's own error, which the plain run tells */
  }
  pthread_mutex_unlock(&set->lock);
  return done;
}

/* ---- what is told ---- */

static loom_device_graph_state graph_state(const device_graphs *set) {
  loom_device_graph_state state = set->graphs ? LOOM_GRAPH_WAITS : LOOM_GRAPH_UNUSED;
  for (const device_graph *graph = set->graphs; graph; graph = graph->next)
    if (graph->used) state = LOOM_GRAPH_USED;
  return set->failed ? LOOM_GRAPH_FAILED : state;
}

static uint32_t graph_depth(const device_graphs *set) {
  uint32_t depth = 0;
  for (uint32_t i = 0; i < set->piece_count; i++) {
    device_order *order = device_order_new(set->p->plan, set->pieces[i].first, set->pieces[i].end);
    depth += order ? device_order_depth(order) : 0;
    device_order_free(order);
  }
  return depth;
}

loom_device_plan_facts loom_device_plan_facts_of(loom_device_plan *p) {
  const loom_plan_header *h = loom_plan_header_of(p->plan);
  device_graphs *set = p->graphs;
  loom_device_plan_facts facts = {.arena = h->flags & LOOM_PLAN_ARENA_REGISTER ? 0 : h->arena_size,
                                  .asks = p->asks,
                                  .reports = !p->silent};
  for (uint32_t i = 0; i < h->instrs.count; i++) {
    facts.launches += p->plan->instrs[i].opcode == LOOM_PLAN_LAUNCH;
    facts.copies += p->plan->instrs[i].opcode == LOOM_PLAN_COPY;
    if (graph_is_hosts(&p->plan->instrs[i])) facts.graph = LOOM_GRAPH_LOOPS;
  }
  if (!set) return facts;
  pthread_mutex_lock(&set->lock);
  facts.graph = graph_state(set);
  facts.pieces = set->piece_count;
  facts.replays = set->replays;
  facts.updates = set->updates;
  pthread_mutex_unlock(&set->lock);
  facts.depth = graph_depth(set);
  return facts;
}
