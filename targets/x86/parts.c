/* Emission on several threads.
 *
 * The functions of a module are divided into parts of about the same size, each a module of its own
 * for as long as this takes. The MLIR context is read by the calling thread alone: it translates
 * part after part, each into an LLVM context of its own, and threads go on with what is translated.
 * Which part a function is in shows in the order of the code and in nothing else. Threads are made
 * for each emission and joined before its end, so that a fork finds none.
 */
#include <mlir-c/IR.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "dialects/ir.h"
#include "runtime/runtime.h"
#include "targets/target.h"

#define PARTS_MOST 8
#define PARTS_OPS 200          /* fewer are not worth a thread */
#define PARTS_STACK (8u << 20) /* LLVM recurses */

/* Functions that are emitted together. */
typedef struct parts_one {
  MlirModule module;
  int64_t ops;
  loom_emission *emission;
  loom_bytes object;
  loom_error err;
  pthread_t thread;
  bool started, ok;
} parts_one;

/* A public function with the private ones before it. */
typedef struct parts_group {
  MlirOperation *functions;
  intptr_t count;
  int64_t ops;
} parts_group;

typedef struct parts_job {
  MlirModule module;
  MlirOperation *functions; /* in order */
  parts_group *groups;
  intptr_t function_count, group_count;
  parts_one parts[PARTS_MOST];
  int part_count;
} parts_job;

static int64_t parts_count_ops(MlirOperation function) {
  int64_t count = 0;
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
  for (; block.ptr; block = mlirBlockGetNextInRegion(block))
    for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
         op = mlirOperationGetNextInBlock(op))
      count++;
  return count;
}

/* False where the module has anything but functions with a body: then it stays in one part. */
static bool parts_find_groups(parts_job *job) {
  MlirBlock body = mlirModuleGetBody(job->module);
  intptr_t count = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(body); op.ptr;
       op = mlirOperationGetNextInBlock(op), count++)
    if (!loom_is_named(op, "llvm.func") ||
        !mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0)).ptr)
      return false;
  job->functions = calloc((size_t)count + 1, sizeof *job->functions);
  job->groups = calloc((size_t)count + 1, sizeof *job->groups); /* the last stays empty */
  if (!job->functions || !job->groups) return false;
  parts_group *group = job->groups;
  for (MlirOperation op = mlirBlockGetFirstOperation(body); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    MlirAttribute visibility = loom_get_attr(op, "sym_visibility");
    job->functions[job->function_count] = op;
    if (!group->count) group->functions = &job->functions[job->function_count];
    job->function_count++;
    group->count++;
    group->ops += parts_count_ops(op);
    if (!visibility.ptr) group++;
  }
  job->group_count = group - job->groups;
  return !group->count; /* no private function is left without its user */
}

static int parts_larger(const void *a, const void *b) {
  const parts_group *x = a, *y = b;
  return x->ops < y->ops ? 1 : x->ops > y->ops ? -1 : x->functions < y->functions ? -1 : 1;
}

/* The largest groups first, each into the part that has the least. */
static void parts_divide(parts_job *job) {
  int64_t ops = 0;
  for (intptr_t g = 0; g < job->group_count; g++)
    ops += job->groups[g].ops;
  int64_t most = ops / PARTS_OPS;
  if (most > job->group_count) most = job->group_count;
  if (most > PARTS_MOST) most = PARTS_MOST;
  if (most > loom_threads_count()) most = loom_threads_count();
  if (most < 2) return;
  job->part_count = (int)most;
  qsort(job->groups, (size_t)job->group_count, sizeof *job->groups, parts_larger);
  MlirOperation whole = mlirModuleGetOperation(job->module);
  for (int i = 0; i < job->part_count; i++) {
    job->parts[i].module = mlirModuleCreateEmpty(mlirOperationGetLocation(whole));
    MlirOperation op = mlirModuleGetOperation(job->parts[i].module);
    for (intptr_t a = 0; a < mlirOperationGetNumDiscardableAttributes(whole); a++) {
      MlirNamedAttribute attr = mlirOperationGetDiscardableAttribute(whole, a);
      mlirOperationSetDiscardableAttributeByName(op, mlirIdentifierStr(attr.name), attr.attribute);
    }
  }
  for (intptr_t g = 0; g < job->group_count; g++) {
    parts_one *least = job->parts;
    for (int i = 1; i < job->part_count; i++)
      if (job->parts[i].ops < least->ops) least = &job->parts[i];
    least->ops += job->groups[g].ops;
    for (intptr_t f = 0; f < job->groups[g].count; f++) {
      mlirOperationRemoveFromParent(job->groups[g].functions[f]);
      mlirBlockAppendOwnedOperation(mlirModuleGetBody(least->module), job->groups[g].functions[f]);
    }
  }
}

/* Puts the functions back into their module. */
static void parts_restore(parts_job *job) {
  MlirBlock body = mlirModuleGetBody(job->module);
  for (intptr_t f = 0; job->part_count && f < job->function_count; f++) {
    mlirOperationRemoveFromParent(job->functions[f]);
    mlirBlockAppendOwnedOperation(body, job->functions[f]);
  }
  for (int i = 0; i < job->part_count; i++)
    mlirModuleDestroy(job->parts[i].module);
}

static void *parts_end(void *argument) {
  parts_one *part = argument;
  part->ok = loom_emission_end(part->emission, &part->object, &part->err);
  part->emission = NULL;
  return NULL;
}

static void *parts_main(void *argument) {
  prctl(PR_SET_NAME, "loom-emit");
  return parts_end(argument);
}

/* Signals stay with the program's own threads. Without a thread, the caller does it. */
static void parts_start(parts_one *part) {
  sigset_t all, old;
  pthread_attr_t attributes;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, PARTS_STACK);
  part->started = pthread_create(&part->thread, &attributes, parts_main, part) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (!part->started) parts_end(part);
}

/* The MLIR context is read by this thread alone: it translates a part after the other, and threads
 * go on with what is translated. The last part is its own. */
static bool parts_run(parts_job *job, const loom_target *target, const loom_target_cpu *cpu,
                      loom_error *err) {
  int last = job->part_count - 1;
  bool ok = true;
  for (int i = 0; i <= last && ok; i++) {
    parts_one *part = &job->parts[i];
    ok = loom_emission_begin(target, part->module, cpu, LOOM_EMIT_OBJECT, &part->emission, err);
    if (!ok)
      loom_emission_drop(part->emission);
    else if (i < last)
      parts_start(part);
    else
      parts_end(part);
  }
  for (int i = 0; i <= last; i++) {
    parts_one *part = &job->parts[i];
    if (part->started) pthread_join(part->thread, NULL);
    if (ok && !part->ok) ok = loom_fail(err, "%s", part->err.message);
  }
  return ok;
}

/* One object for each part, or for all. */
static bool parts_objects(parts_job *job, const loom_target_options *options, loom_bytes *objects,
                          int *count, loom_error *err) {
  loom_target_cpu cpu;
  const loom_target *target = loom_target_here(options);
  if (parts_find_groups(job)) parts_divide(job);
  if (!job->part_count) {
    *count = 1;
    return loom_target_emit(target, job->module, options, LOOM_EMIT_OBJECT, objects, err);
  }
  bool ok = loom_target_resolve(target, options, &cpu, err);
  for (int i = 0; i < job->part_count && ok; i++)
    ok = loom_legal_check(target, &cpu, job->parts[i].module, err);
  ok = ok && parts_run(job, target, &cpu, err);
  *count = job->part_count;
  for (int i = 0; i < job->part_count; i++)
    objects[i] = job->parts[i].object;
  return ok;
}

bool loom_x86_emit(MlirModule module, const loom_target_options *options, loom_bytes *image,
                   loom_entries *entries, loom_error *err) {
  parts_job job = {.module = module};
  loom_bytes objects[PARTS_MOST] = {{NULL, 0}};
  loom_error own;
  int count = 0;
  if (!err) err = &own;
  err->message[0] = 0;
  bool ok = parts_objects(&job, options, objects, &count, err);
  ok = ok && loom_x86_link(objects, (size_t)count, image, entries, err);
  parts_restore(&job);
  for (int i = 0; i < count; i++)
    free(objects[i].data);
  free(job.functions);
  free(job.groups);
  return ok;
}
