/* Nesting of MLIR text before it is parsed.
 *
 * MLIR's parser, verifier and printer recurse on nested regions, attributes, types and affine
 * expressions and exhaust the stack on hostile input. So the depth is bounded first: open brackets,
 * plus the depth of the aliases (`#a = ...`,
 * `!t = ...`) that are mentioned inside them, plus runs of affine operators, which the parser
 * handles one call deeper each. Brackets are kept on a stack and `<` is closed by any enclosing
 * bracket, so that comparisons and arrows, which are no brackets, cannot hide a depth. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/dialect.h"

#define SCAN_MAX_DEPTH 400
#define SCAN_MAX_OPERATORS 1000

typedef struct scan_alias {
  const char *name;
  size_t length;
  int depth;
} scan_alias;

typedef struct scan_state {
  const char *at, *end;
  int depth;
  char open[SCAN_MAX_DEPTH + 1];
  int operators[SCAN_MAX_DEPTH + 1]; /* since the last comma at each level */
  scan_alias *aliases;               /* open addressing; at most half full */
  size_t capacity, count;
  scan_alias *defining; /* the alias whose definition is being read, or NULL */
  bool complete;        /* the token before was a word, a string or a closing bracket */
  const char *problem;
} scan_state;

static bool scan_fail(scan_state *s, const char *problem) {
  s->problem = problem;
  return false;
}

/* ---- aliases ---- */

static scan_alias *scan_slot(scan_state *s, const char *name, size_t length) {
  size_t hash = 5381;
  for (size_t i = 0; i < length; i++)
    hash = hash * 33 ^ (unsigned char)name[i];
  size_t i = hash & (s->capacity - 1);
  while (s->aliases[i].name &&
         (s->aliases[i].length != length || memcmp(s->aliases[i].name, name, length) != 0))
    i = (i + 1) & (s->capacity - 1);
  return &s->aliases[i];
}

static bool scan_grow(scan_state *s) {
  scan_state old = *s;
  s->capacity = old.capacity ? old.capacity * 2 : 64;
  s->aliases = calloc(s->capacity, sizeof *s->aliases);
  if (!s->aliases) {
    s->aliases = old.aliases;
    return scan_fail(s, "out of memory");
  }
  for (size_t i = 0; i < old.capacity; i++)
    if (old.aliases[i].name)
      *scan_slot(s, old.aliases[i].name, old.aliases[i].length) = old.aliases[i];
  if (old.defining) s->defining = scan_slot(s, old.defining->name, old.defining->length);
  free(old.aliases);
  return true;
}

/* ---- depth ---- */

static bool scan_note_depth(scan_state *s, int depth) {
  if (depth > SCAN_MAX_DEPTH) return scan_fail(s, "the input is nested too deeply");
  if (s->defining && s->defining->depth < depth) s->defining->depth = depth;
  return true;
}

static bool scan_open(scan_state *s, char bracket) {
  if (s->depth == SCAN_MAX_DEPTH) return scan_fail(s, "the input is nested too deeply");
  s->open[s->depth++] = bracket;
  s->operators[s->depth] = 0;
  return scan_note_depth(s, s->depth);
}

static void scan_close(scan_state *s, char bracket) {
  char wanted = bracket == ')' ? '(' : bracket == ']' ? '[' : bracket == '}' ? '{' : '<';
  int depth = s->depth;
  if (wanted == '<') { /* a lone '>' is a comparison */
    if (depth && s->open[depth - 1] == '<') s->depth--;
    return;
  }
  while (depth && s->open[depth - 1] != wanted)
    depth--;
  if (depth) s->depth = depth - 1; /* else unbalanced: the parser will say so */
}

/* Operators of one expression; ops between braces are not expressions. */
static bool scan_operator(scan_state *s) {
  if (s->depth == 0 || s->open[s->depth - 1] == '{') return true;
  if (++s->operators[s->depth] <= SCAN_MAX_OPERATORS) return true;
  return scan_fail(s, "an expression of the input is too long");
}

/* Two operands side by side are no attribute or type: the second one begins what follows a
 * definition. Without this, all that follows would count as a part of the last alias. */
static void scan_operand(scan_state *s) {
  if (s->depth == 0 && s->complete) s->defining = NULL;
  s->complete = true;
}

/* ---- tokens ---- */

static bool scan_is_name(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '-';
}

/* `#name` or `!name`: a definition when it is at the outermost level and `=` follows, else a
 * mention. */
static bool scan_sigil(scan_state *s) {
  const char *start = s->at++;
  while (s->at < s->end && scan_is_name(*s->at) &&
         !(*s->at == '-' && s->at + 1 < s->end && s->at[1] == '>'))
    s->at++;
  size_t length = (size_t)(s->at - start);
  scan_operand(s);
  const char *next = s->at;
  while (next < s->end && (*next == ' ' || *next == '\t'))
    next++;
  bool defines = s->depth == 0 && next < s->end && *next == '=';
  if (s->count * 2 >= s->capacity && !scan_grow(s)) return false;
  scan_alias *slot = scan_slot(s, start, length);
  if (!defines) return !slot->name || scan_note_depth(s, s->depth + slot->depth + 1);
  if (!slot->name) {
    *slot = (scan_alias){start, length, 0};
    s->count++;
  }
  s->defining = slot;
  return true;
}

static void scan_string(scan_state *s) {
  for (s->at++; s->at < s->end && *s->at != '"' && *s->at != '\n'; s->at++)
    if (*s->at == '\\' && s->at + 1 < s->end) s->at++;
  if (s->at < s->end && *s->at == '"') s->at++;
}

static void scan_comment(scan_state *s) {
  while (s->at < s->end && *s->at != '\n')
    s->at++;
}

static bool scan_token(scan_state *s) {
  char c = *s->at, next = s->at + 1 < s->end ? s->at[1] : 0;
  switch (c) {
  case '"': scan_operand(s), scan_string(s); return true;
  case '/':
    if (next == '/') return scan_comment(s), true;
    s->complete = false;
    break;
  case '#':
  case '!': return scan_sigil(s);
  case '-':
    if (next == '>') return s->complete = false, s->at += 2, true;
    /* fall through */
  case '+':
  case '*': return s->complete = false, s->at++, scan_operator(s);
  case '(':
  case '[':
  case '{':
  case '<': return s->at++, scan_open(s, c);
  case ')':
  case ']':
  case '}':
  case '>': scan_close(s, c), s->complete = true; break;
  case ',': s->operators[s->depth] = 0, s->complete = false; break;
  case '%':
    if (s->depth == 0) s->defining = NULL; /* an op's result */
    s->complete = false;
    break;
  default:
    if (scan_is_name(c)) { /* a word: an operator when it is one of affine's */
      const char *start = s->at;
      scan_operand(s);
      while (s->at < s->end && scan_is_name(*s->at) && *s->at != '-')
        s->at++;
      size_t length = (size_t)(s->at - start);
      bool is_operator = (length == 3 && memcmp(start, "mod", 3) == 0) ||
                         (length == 8 && memcmp(start, "floordiv", 8) == 0) ||
                         (length == 7 && memcmp(start, "ceildiv", 7) == 0);
      return !is_operator || scan_operator(s);
    }
    if (!isspace((unsigned char)c)) s->complete = false;
    break;
  }
  s->at++;
  return true;
}

static bool scan_is_blank(const char *text, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (!isspace((unsigned char)text[i])) return false;
  return true;
}

const char *loom_scan_text(const char *text, size_t size) {
  static const char bytecode[] = "ML\xefR";
  if (size >= 4 && memcmp(text, bytecode, 4) == 0) return NULL;
  if (memchr(text, 0, size)) return "the input has a NUL byte: not MLIR text";
  if (scan_is_blank(text, size)) return "the input is empty";
  scan_state *s = calloc(1, sizeof *s);
  if (!s) return "out of memory";
  *s = (scan_state){.at = text, .end = text + size};
  while (s->at < s->end && scan_token(s))
    ;
  const char *problem = s->problem;
  free(s->aliases);
  free(s);
  return problem;
}
