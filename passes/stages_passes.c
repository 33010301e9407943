/* The passes that loom-check-stages runs one by one. MLIR reads the text of a pipeline and prints
 * it with all that its names stand for; each pass in it becomes a pipeline of its own within the
 * same operations. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/check_stages.h"

enum { PASSES_DEPTH = 8, PASSES_LIMIT = 1024 };

static void passes_print(MlirStringRef text, void *user) {
  fwrite(text.data, 1, text.length, user);
}

/* A place in a printed pipeline: "builtin.module(func.func(" and what follows it. */
typedef struct passes_reader {
  const char *at;
  const char *around[PASSES_DEPTH]; /* beginnings of the names around, */
  int lengths[PASSES_DEPTH], depth; /* and their lengths */
  stages_passes *out;
} passes_reader;

static bool passes_add(passes_reader *r, const char *name, int length) {
  stages_passes *out = r->out;
  stages_pass *grown = realloc(out->list, sizeof *grown * (size_t)(out->count + 1));
  if (!grown || out->count == PASSES_LIMIT) return false;
  out->list = grown;
  stages_pass *pass = &out->list[out->count++];
  pass->name = strndup(name, strcspn(name, "{,()"));
  size_t size;
  FILE *file = open_memstream(&pass->pipeline, &size);
  for (int i = 0; file && i < r->depth; i++)
    fprintf(file, "%.*s(", r->lengths[i], r->around[i]);
  if (file) fprintf(file, "%.*s", length, name);
  for (int i = 0; file && i < r->depth; i++)
    fputc(')', file);
  return file && fclose(file) == 0 && pass->name;
}

/* The name at the place, with its options in braces. */
static int passes_length(const char *at) {
  int length = 0, braces = 0;
  for (; at[length] && (braces || !strchr(",()", at[length])); length++)
    braces += (at[length] == '{') - (at[length] == '}');
  return length;
}

static bool passes_split(passes_reader *r) {
  while (*r->at) {
    int length = passes_length(r->at);
    const char *name = r->at;
    r->at += length;
    if (*r->at == '(') {
      if (r->depth == PASSES_DEPTH) return false;
      r->around[r->depth] = name;
      r->lengths[r->depth++] = length;
    } else if (length && !passes_add(r, name, length)) {
      return false;
    }
    if (*r->at == ')' && r->depth-- == 0) return false;
    r->at += *r->at != 0;
  }
  return true;
}

/* Reads with the anchor "builtin.module(...)" or without it. */
static bool passes_parse(MlirOpPassManager manager, const char *text, FILE *errors) {
  bool anchored = strncmp(text, "builtin.module(", 15) == 0;
  MlirLogicalResult done =
      anchored ? mlirParsePassPipeline(manager, loom_str(text), passes_print, errors)
               : mlirOpPassManagerAddPipeline(manager, loom_str(text), passes_print, errors);
  return mlirLogicalResultIsSuccess(done);
}

bool stages_passes_read(MlirLocation loc, const char *text, stages_passes *out) {
  char *errors = NULL, *printed = NULL;
  size_t error_size, printed_size;
  *out = (stages_passes){NULL, 0};
  MlirPassManager manager = mlirPassManagerCreate(mlirLocationGetContext(loc));
  MlirOpPassManager passes = mlirPassManagerGetAsOpPassManager(manager);
  FILE *told = open_memstream(&errors, &error_size);
  FILE *into = open_memstream(&printed, &printed_size);
  bool memory = told && into, good = memory && passes_parse(passes, text, told);
  if (good) mlirPrintPassPipeline(passes, passes_print, into);
  if (told) fclose(told);
  if (into) fclose(into);
  if (memory && !good)
    loom_emit_error(loc, "the passes to be checked: %.*s", (int)strcspn(errors, "\n"), errors);
  passes_reader reader = {.at = printed, .out = out};
  if (good && !passes_split(&reader))
    good = memory = loom_emit_error(loc, "too many passes are to be checked");
  else if (good && !out->count)
    good = loom_emit_error(loc, "there is no pass to be checked");
  mlirPassManagerDestroy(manager);
  free(errors);
  free(printed);
  return good || (memory ? false : loom_emit_error(loc, "the passes cannot be read"));
}

void stages_passes_fini(stages_passes *passes) {
  for (int i = 0; i < passes->count; i++) {
    free(passes->list[i].pipeline);
    free(passes->list[i].name);
  }
  free(passes->list);
}

/* A pass may be part of a pipeline and not be registered by itself. */
static void passes_refuse(MlirStringRef text, void *user) {
  MlirOperation *module = user;
  int length = 0;
  while (length < (int)text.length && text.data[length] != '\n')
    length++;
  loom_emit_error(mlirOperationGetLocation(*module), "%.*s", length, text.data);
}

bool stages_passes_run(const stages_pass *pass, MlirOperation module) {
  MlirPassManager manager = mlirPassManagerCreate(mlirOperationGetContext(module));
  MlirOpPassManager passes = mlirPassManagerGetAsOpPassManager(manager);
  bool good = mlirLogicalResultIsSuccess(mlirParsePassPipeline(passes, loom_str(pass->pipeline),
                                                               passes_refuse, &module)) &&
              mlirLogicalResultIsSuccess(mlirPassManagerRunOnOp(manager, module));
  mlirPassManagerDestroy(manager);
  return good;
}
