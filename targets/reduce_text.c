/* Edits of loom-reduce (reduce.h) in the text of a module: sizes and dimensions of tensors stand in
 * types and in lists alike. The edited text may not be a valid module. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "targets/reduce.h"

/* ---- sizes ---- */

/* A number of the text that is a size of a tensor or, with `lists`, an entry of a list. */
typedef struct size_reader {
  const char *text, *at;
  bool lists;
} size_reader;

/* The next one, whose digits are from `*begin` to `at`. */
static bool size_next(size_reader *r, const char **begin) {
  while (*r->at) {
    while (*r->at && !isdigit((unsigned char)*r->at))
      r->at++;
    *begin = r->at;
    while (isdigit((unsigned char)*r->at))
      r->at++;
    if (*begin == r->at) return false;
    char before = *begin > r->text ? (*begin)[-1] : 0;
    bool dimension = (before == '<' || before == 'x') && *r->at == 'x';
    const char *item = *begin;
    while (item > r->text && item[-1] == ' ')
      item--;
    char left = item > r->text ? item[-1] : 0;
    bool entry = (left == '[' || left == ',') && (*r->at == ',' || *r->at == ']');
    if (dimension || (r->lists && entry)) return true;
  }
  return false;
}

long reduce_next_size(const char *text, long previous) {
  size_reader r = {text, text, false};
  const char *begin;
  long next = 0;
  while (size_next(&r, &begin)) {
    long size = strtol(begin, NULL, 10);
    if (size > previous && (!next || size < next)) next = size;
  }
  return next;
}

char *reduce_size(const char *text, long size, long smaller, bool lists) {
  char *out = NULL;
  size_t length;
  FILE *file = open_memstream(&out, &length);
  if (!file) return NULL;
  size_reader r = {text, text, lists};
  const char *begin, *copied = text;
  while (size_next(&r, &begin)) {
    if (strtol(begin, NULL, 10) != size) continue;
    fwrite(copied, 1, (size_t)(begin - copied), file);
    fprintf(file, "%ld", smaller);
    copied = r.at;
  }
  fputs(copied, file);
  if (fclose(file) == 0) return out;
  free(out);
  return NULL;
}

/* ---- dimensions ---- */

typedef struct dim_writer {
  const char *at;
  FILE *out;
  int rank, dimension;
  unsigned how;
  bool any;
} dim_writer;

static void dim_copy(dim_writer *w, const char *to) {
  fwrite(w->at, 1, (size_t)(to - w->at), w->out);
  w->at = to;
}

/* Behind a size of a type, "4x" or "?x"; NULL where there is none. */
static const char *dim_size_end(const char *at) {
  const char *end = at;
  if (*end == '?') return end[1] == 'x' ? end + 2 : NULL;
  while (isdigit((unsigned char)*end))
    end++;
  return end > at && *end == 'x' ? end + 1 : NULL;
}

/* The type behind "tensor<" or "memref<"; its map of sizes, if any, is another list. */
static void dim_type(dim_writer *w) {
  const char *ends[LOOM_MAX_RANK], *end = w->at;
  int rank = 0;
  while (rank < LOOM_MAX_RANK && (end = dim_size_end(end)))
    ends[rank++] = end;
  bool lower = w->how & REDUCE_LOWER_RANKS && rank > w->dimension && rank < w->rank;
  if (rank != w->rank && !lower) return;
  dim_copy(w, w->dimension ? ends[w->dimension - 1] : w->at);
  w->at = ends[w->dimension];
  w->any = true;
}

/* The entries of "1, 2]" as numbers; their count, or -1 where it is another list. */
static int dim_entries(const char *at, char close, long *out, const char **end) {
  int count = 0;
  for (;; at++) {
    char *behind;
    while (*at == ' ')
      at++;
    if (count == LOOM_MAX_RANK || !(isdigit((unsigned char)*at) || *at == '-')) return -1;
    out[count++] = strtol(at, &behind, 10);
    at = behind;
    if (*at == close) break;
    if (*at != ',') return -1;
  }
  *end = at;
  return count;
}

/* A list with an entry for each dimension loses one; one of numbers of dimensions is counted anew.
 */
static void dim_list(dim_writer *w, char close) {
  long entries[LOOM_MAX_RANK];
  const char *end = NULL;
  int count = dim_entries(w->at, close, entries, &end), kept = 0;
  bool whole = count == w->rank, each = whole && w->how & REDUCE_LISTS;
  bool numbers = w->how & (whole ? REDUCE_WHOLE_NUMBERS : REDUCE_NUMBERS) && !each;
  if (count < 0 || (!each && !numbers)) return;
  for (int i = 0; i < count; i++) {
    if (each ? i == w->dimension : entries[i] == w->dimension) continue;
    long entry = entries[i] - (numbers && entries[i] > w->dimension);
    fprintf(w->out, "%s%ld", kept++ ? ", " : "", entry);
  }
  w->at = end;
}

/* "axis = 1" */
static void dim_axis(dim_writer *w) {
  char *end;
  long axis = strtol(w->at, &end, 10);
  if (end == w->at || axis <= w->dimension || !(w->how & REDUCE_NUMBERS)) return;
  fprintf(w->out, "%ld", axis - 1);
  w->at = end;
}

static bool dim_behind(const dim_writer *w, const char *text, const char *word) {
  size_t length = strlen(word);
  return (size_t)(w->at - text) >= length && !memcmp(w->at - length, word, length);
}

char *reduce_dimension(const char *text, int rank, int dimension, unsigned how) {
  char *out = NULL;
  size_t length;
  dim_writer w = {.at = text,
                  .out = open_memstream(&out, &length),
                  .rank = rank,
                  .dimension = dimension,
                  .how = how};
  if (!w.out) return NULL;
  while (*w.at) {
    dim_copy(&w, w.at + 1);
    if (dim_behind(&w, text, "tensor<") || dim_behind(&w, text, "memref<"))
      dim_type(&w);
    else if (w.at[-1] == '[')
      dim_list(&w, ']');
    else if (dim_behind(&w, text, "array<i64:"))
      dim_list(&w, '>');
    else if (dim_behind(&w, text, "axis = "))
      dim_axis(&w);
  }
  if (fclose(w.out) == 0 && w.any) return out;
  free(out);
  return NULL;
}
