/* np.einsum: labels are parsed, diagonals taken, labels of one operand alone summed, and operands
 * contracted two by two from the left with dot_general. An expression of one operand that sums
 * nothing is a view, as in NumPy. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/index_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "loom_ops_reductions.h"

#include <string.h>

#define EINSUM_DOTS                                                                                \
  64 /* labels of dimensions that "..." stands for: DOTS + k, counted from the last */
#define EINSUM_OPERANDS 16

typedef struct einsum_term {
  int labels[LOOM_MAX_RANK];
  int rank;
  loom_value node;
} einsum_term;

typedef struct einsum_state {
  einsum_term terms[EINSUM_OPERANDS], out;
  np_array *arrays[EINSUM_OPERANDS];
  int count, dots; /* dots: most dimensions that any "..." stands for */
  loom_dtype dtype;
} einsum_state;

static int einsum_find(const einsum_term *term, int label) {
  for (int i = 0; i < term->rank; i++)
    if (term->labels[i] == label) return i;
  return -1;
}

static bool einsum_fail(tracer *t, const char *text) {
  if (!trace_pending(t)) trace_raise(t, PyExc_ValueError, "%s", text);
  return false;
}

/* One comma-separated part; "..." stands for what is left of `rank` dimensions (or `rank` itself in
 * the output). */
static bool einsum_parse_term(tracer *t, const char *text, size_t length, int rank, int dots,
                              einsum_term *out) {
  int letters = 0;
  bool seen = false;
  for (size_t i = 0; i < length; i++)
    letters += Py_ISALPHA(text[i]) != 0;
  if (rank >= 0) dots = rank - letters;
  for (size_t i = 0; i < length; i++) {
    char ch = text[i];
    if (ch == ' ') continue;
    if (ch == '.') {
      if (seen || i + 2 >= length || strncmp(text + i, "...", 3) != 0 || dots < 0)
        return einsum_fail(t, "einstein sum subscripts string contains a '.' that is not part of "
                              "an ellipsis ('...')");
      seen = true;
      i += 2;
      for (int k = dots - 1; k >= 0 && out->rank < LOOM_MAX_RANK; k--)
        out->labels[out->rank++] = EINSUM_DOTS * 4 + k;
    } else if (Py_ISALPHA(ch) && out->rank < LOOM_MAX_RANK) {
      out->labels[out->rank++] = ch;
    } else {
      return einsum_fail(t, "invalid subscript in einstein sum subscripts string");
    }
  }
  if (rank >= 0 && out->rank != rank)
    return einsum_fail(
        t, "einstein sum subscripts string has a number of labels that does not match an operand");
  if (seen && dots > 0 && rank >= 0 && dots > LOOM_MAX_RANK)
    return einsum_fail(t, "too many dimensions");
  return true;
}

/* Without "->": the labels that occur once, in alphabetic order, after those of "...". */
static void einsum_implicit_output(einsum_state *s) {
  for (int k = s->dots - 1; k >= 0; k--)
    s->out.labels[s->out.rank++] = EINSUM_DOTS * 4 + k;
  for (int label = 'A'; label <= 'z'; label++) {
    int seen = 0;
    for (int i = 0; i < s->count; i++)
      for (int d = 0; d < s->terms[i].rank; d++)
        seen += s->terms[i].labels[d] == label;
    if (seen == 1 && s->out.rank < LOOM_MAX_RANK) s->out.labels[s->out.rank++] = label;
  }
}

static bool einsum_parse(tracer *t, const char *text, einsum_state *s) {
  const char *arrow = strstr(text, "->"), *end = arrow ? arrow : text + strlen(text);
  int term = 0;
  for (const char *p = text; p <= end; term++) {
    size_t n = strcspn(p, ",");
    if (p + n > end) n = (size_t)(end - p);
    if (term >= s->count)
      return einsum_fail(t,
                         "more operands provided to einstein sum than specified in the subscripts");
    if (!einsum_parse_term(t, p, n, s->arrays[term]->type.rank, 0, &s->terms[term])) return false;
    for (int d = 0; d < s->terms[term].rank; d++) {
      int k = s->terms[term].labels[d] - EINSUM_DOTS * 4;
      if (k >= s->dots) s->dots = k + 1;
    }
    p += n + 1;
  }
  if (term != s->count)
    return einsum_fail(t,
                       "fewer operands provided to einstein sum than specified in the subscripts");
  if (!arrow) {
    einsum_implicit_output(s);
    return true;
  }
  if (!einsum_parse_term(t, arrow + 2, strlen(arrow + 2), -1, s->dots, &s->out)) return false;
  for (int i = 0; i < s->out.rank; i++) {
    bool known = false;
    for (int k = 0; k < s->count; k++)
      known |= einsum_find(&s->terms[k], s->out.labels[i]) >= 0;
    if (!known || einsum_find(&s->out, s->out.labels[i]) != i)
      return einsum_fail(t, "einstein sum subscripts string includes an output label that is not "
                            "an input's, or twice");
  }
  return true;
}

/* A label that an operand has twice: its diagonal, as a view with the label last. */
static bool einsum_diagonals(tracer *t, einsum_term *term, np_array **a) {
  for (int i = 0; i < term->rank; i++)
    for (int j = i + 1; j < term->rank; j++) {
      if (term->labels[i] != term->labels[j]) continue;
      value *base = np_view_same(t, *a),
            *args[4] = {base, np_int(t, 0), np_int(t, i), np_int(t, j)};
      np_call c = {.name = "diagonal", .args = args, .count = 4, .method = true};
      if (!base || !args[1] || !args[2] || !args[3]) return false;
      if (size_same(t, (*a)->type.dims[i], (*a)->type.dims[j]) <= 0)
        return einsum_fail(t, "dimensions in operand for a repeated subscript are not equal");
      value *v = np_diagonal(t, &c);
      if (!v) return false;
      int label = term->labels[i];
      memmove(term->labels + j, term->labels + j + 1, sizeof(int) * (size_t)(term->rank - j - 1));
      memmove(term->labels + i, term->labels + i + 1,
              sizeof(int) * (size_t)(term->rank - 1 - i - 1));
      term->rank--;
      term->labels[term->rank - 1] = label;
      *a = np_array_of(v);
      (*a)->writeable = np_array_of(base)->writeable;
      i = -1;
      break;
    }
  return true;
}

/* Drops dimensions of one element where another operand has more: they are broadcast. */
static bool einsum_sizes(tracer *t, einsum_state *s) {
  for (int i = 0; i < s->count; i++) {
    einsum_term *term = &s->terms[i];
    int64_t dims[LOOM_MAX_RANK];
    int n = 0;
    for (int d = 0; d < term->rank; d++) {
      int64_t size = emit_type(t, term->node)->dims[d], most = size;
      for (int k = 0; k < s->count; k++) {
        int at = einsum_find(&s->terms[k], term->labels[d]);
        int64_t other = at >= 0 ? s->arrays[k]->type.dims[at] : 1;
        if (at >= 0 && other != 1 && most != 1 && size_same(t, other, most) <= 0)
          return einsum_fail(t, "operands could not be broadcast together with remapped shapes");
        if (at >= 0 && other != 1) most = other;
      }
      if (size != most) continue;
      term->labels[n] = term->labels[d];
      dims[n++] = size;
    }
    term->rank = n;
    term->node = emit_reshape(t, term->node, n, dims);
    if (term->node == LOOM_NO_VALUE) return false;
  }
  return true;
}

/* Sums the labels that neither the output nor a term from `next` on has, and that are not in
 * `keep`. */
static bool einsum_sum_alone(tracer *t, const einsum_state *s, einsum_term *term, int next,
                             const einsum_term *keep) {
  int64_t axes[LOOM_MAX_RANK];
  int n = 0, left = 0;
  for (int d = 0; d < term->rank; d++) {
    bool used = einsum_find(&s->out, term->labels[d]) >= 0 ||
                (keep && einsum_find(keep, term->labels[d]) >= 0);
    for (int k = next; k < s->count && !used; k++)
      used = einsum_find(&s->terms[k], term->labels[d]) >= 0;
    if (used)
      term->labels[left++] = term->labels[d];
    else
      axes[n++] = d;
  }
  term->rank = left;
  if (n) term->node = emit_reduce(t, s->dtype == LOOM_BOOL ? "or" : "sum", term->node, axes, n);
  return term->node != LOOM_NO_VALUE;
}

/* Contracts two terms; labels that a later term or the output has stay. */
static bool einsum_contract(tracer *t, const einsum_state *s, einsum_term *l, einsum_term *r,
                            int next) {
  int64_t lb[LOOM_MAX_RANK], rb[LOOM_MAX_RANK], lc[LOOM_MAX_RANK], rc[LOOM_MAX_RANK];
  int batch = 0, contract = 0;
  einsum_term out = {.rank = 0};
  if (!einsum_sum_alone(t, s, l, next, r) || !einsum_sum_alone(t, s, r, next, l)) return false;
  for (int i = 0; i < l->rank; i++) {
    int j = einsum_find(r, l->labels[i]);
    if (j < 0) continue;
    bool stays = einsum_find(&s->out, l->labels[i]) >= 0;
    for (int k = next; k < s->count && !stays; k++)
      stays = einsum_find(&s->terms[k], l->labels[i]) >= 0;
    if (stays) {
      lb[batch] = i;
      rb[batch++] = j;
      out.labels[out.rank++] = l->labels[i];
    } else {
      lc[contract] = i;
      rc[contract++] = j;
    }
  }
  if (l->rank + r->rank - batch - 2 * contract > LOOM_MAX_RANK) {
    trace_break(t, BREAK_LIMIT, "an einsum of more than %d dimensions", LOOM_MAX_RANK);
    return false;
  }
  for (int i = 0; i < l->rank; i++)
    if (einsum_find(r, l->labels[i]) < 0) out.labels[out.rank++] = l->labels[i];
  for (int i = 0; i < r->rank; i++)
    if (einsum_find(l, r->labels[i]) < 0) out.labels[out.rank++] = r->labels[i];
  loom_attr attrs[4] = {attr_ints(lb, batch), attr_ints(rb, batch), attr_ints(lc, contract),
                        attr_ints(rc, contract)};
  out.node =
      trace_node(t, LOOM_OP_DOT_GENERAL, (loom_value[]){l->node, r->node}, 2, attrs, 4, NULL);
  *l = out;
  return out.node != LOOM_NO_VALUE;
}

static void einsum_perm(const einsum_state *s, const einsum_term *term, int64_t *perm) {
  for (int i = 0; i < s->out.rank; i++)
    perm[i] = einsum_find(term, s->out.labels[i]);
}

/* Memory order of the result: that of NumPy's iterator over all labels, the output's first. */
static void einsum_layout(tracer *t, const einsum_state *s, const einsum_term *terms,
                          const loom_type *type, int64_t *strides) {
  int labels[LOOM_MAX_RANK * 2], n = 0, axes[EINSUM_OPERANDS][LOOM_MAX_RANK * 2];
  for (int i = 0; i < s->out.rank; i++)
    labels[n++] = s->out.labels[i];
  for (int k = 0; k < s->count; k++)
    for (int d = 0; d < terms[k].rank; d++) {
      bool seen = false;
      for (int i = 0; i < n && !seen; i++)
        seen = labels[i] == terms[k].labels[d];
      if (!seen && n < LOOM_MAX_RANK * 2) labels[n++] = terms[k].labels[d];
    }
  for (int k = 0; k < s->count; k++)
    for (int i = 0; i < n; i++)
      axes[k][i] = einsum_find(&terms[k], labels[i]);
  np_layout_labels(t, s->arrays, s->count, axes[0], LOOM_MAX_RANK * 2, n, type, strides);
}

static value *einsum_run(tracer *t, einsum_state *s, value *out) {
  einsum_term before[EINSUM_OPERANDS];
  int64_t perm[LOOM_MAX_RANK], strides[LOOM_MAX_RANK];
  for (int k = 0; k < s->count; k++)
    if (!einsum_diagonals(t, &s->terms[k], &s->arrays[k])) return NULL;
  memcpy(before, s->terms, sizeof before);
  if (s->count == 1 && s->terms[0].rank == s->out.rank && !out &&
      s->dtype == s->arrays[0]->type.dtype) {
    if (s->out.rank == 0) return np_result(t, np_read(t, s->arrays[0]), NULL);
    einsum_perm(s, &s->terms[0], perm);
    return np_view_transpose(t, s->arrays[0], perm);
  }
  for (int k = 0; k < s->count; k++) {
    s->terms[k].node = emit_convert(t, np_read(t, s->arrays[k]), s->dtype);
    if (s->terms[k].node == LOOM_NO_VALUE) return NULL;
  }
  if (!einsum_sizes(t, s)) return NULL;
  einsum_term acc = s->terms[0];
  for (int k = 1; k < s->count; k++)
    if (!einsum_contract(t, s, &acc, &s->terms[k], k + 1)) return NULL;
  if (!einsum_sum_alone(t, s, &acc, s->count, NULL)) return NULL;
  if (acc.rank != s->out.rank)
    return trace_break(t, BREAK_NUMPY_FUNCTION, "an einsum that broadcasts its output");
  einsum_perm(s, &acc, perm);
  loom_value v = emit_transpose(t, acc.node, perm);
  if (v == LOOM_NO_VALUE) return NULL;
  if (out) {
    np_array *o = np_array_of(out);
    if (!o || o->type.dtype != emit_type(t, v)->dtype ||
        !np_same_sizes(t, &o->type, emit_type(t, v)))
      return trace_break(t, BREAK_NUMPY_FUNCTION, "einsum into another dtype");
    return np_write(t, o, v) ? out : NULL;
  }
  einsum_layout(t, s, before, emit_type(t, v), strides);
  return np_result(t, v, strides);
}

/* Appends the letters of a list of numbers, as NumPy names them: in their order. */
static bool einsum_letters(tracer *t, value *list, char *text, size_t room) {
  value *items = value_is_sequence(list) ? trace_to_tuple(t, list) : NULL;
  size_t n = strlen(text);
  for (Py_ssize_t i = 0; items && i < items->seq.count; i++) {
    int64_t letter;
    if (n + 4 > room) return false;
    if (np_known(t, items->seq.items[i]) == Py_Ellipsis) {
      n = (size_t)(stpcpy(text + n, "...") - text);
      continue;
    }
    if (!np_int_arg(t, items->seq.items[i], &letter) || letter < 0 || letter >= 52) return false;
    text[n++] = (char)(letter < 26 ? 'A' + letter : 'a' + letter - 26);
    text[n] = 0;
  }
  return items != NULL;
}

/* The operands and the subscripts of a call; NULL: of one that is not captured. */
static const char *einsum_arguments(tracer *t, const np_call *c, value **operands, int *count) {
  const size_t room = 256;
  bool lists = c->count > 1 && np_is_array(c->args[0]);
  if (!lists) {
    const char *text = c->count > 1 ? np_str_arg(t, c->args[0]) : NULL;
    *count = (int)c->count - 1;
    for (int i = 0; text && i < *count && i < EINSUM_OPERANDS; i++)
      operands[i] = c->args[1 + i];
    return text;
  }
  char *text = trace_alloc(t, room + 4 * EINSUM_OPERANDS);
  *count = (int)c->count / 2;
  if (!text || *count > EINSUM_OPERANDS) return text ? "" : NULL;
  *text = 0;
  for (int i = 0; i < *count; i++) {
    operands[i] = c->args[2 * i];
    if (i) strcat(text, ",");
    if (!einsum_letters(t, c->args[2 * i + 1], text, room - 8)) return NULL;
  }
  if (c->count % 2 && !einsum_letters(t, c->args[c->count - 1], strcat(text, "->"), room - 4))
    return NULL;
  return text;
}

value *np_einsum(tracer *t, const np_call *c) {
  einsum_state *s = trace_alloc(t, sizeof *s);
  np_operand o[EINSUM_OPERANDS];
  value *out = NULL;
  value *operands[EINSUM_OPERANDS];
  const char *text = s ? einsum_arguments(t, c, operands, &s->count) : NULL;
  if (!text) return trace_pending(t) ? NULL : np_unsupported(t, c, "with such subscripts");
  for (Py_ssize_t i = 0; c->kwnames && i < PyTuple_GET_SIZE(c->kwnames); i++) {
    const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(c->kwnames, i));
    value *v = c->args[c->count + i];
    if (strcmp(name, "out") == 0)
      out = np_is_none(t, v) ? NULL : v;
    else if (strcmp(name, "optimize") != 0 || np_known(t, v) != Py_False)
      return np_unsupported(t, c, name);
  }
  if (s->count > EINSUM_OPERANDS) return np_unsupported(t, c, "of many operands");
  for (int i = 0; i < s->count; i++) {
    if (!(s->arrays[i] = np_as_array(t, operands[i]))) return NULL;
    o[i] = (np_operand){.array = s->arrays[i]};
  }
  if (!np_result_type(t, o, s->count, &s->dtype) || !einsum_parse(t, text, s)) return NULL;
  return einsum_run(t, s, out);
}
