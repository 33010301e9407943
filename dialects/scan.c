/* A look at MLIR text before MLIR parses it: its parser is recursive and runs out of stack on
 * deeply nested input. */
#include "dialects/dialect.h"

#define SCAN_DEPTH 256     /* of brackets */
#define SCAN_ALIASES 65536 /* each may nest the one before */

/* Skips a string literal or comment that begins at `at`; else returns `at`. */
static size_t scan_skip(const char *text, size_t size, size_t at) {
  if (text[at] == '"') {
    for (at++; at < size && text[at] != '"'; at++)
      if (text[at] == '\\') at++;
  } else if (text[at] == '/' && at + 1 < size && text[at + 1] == '/') {
    while (at < size && text[at] != '\n')
      at++;
  } else if (text[at] == '-' && at + 1 < size && text[at + 1] == '>') {
    at++;
  } else if (text[at] == '>' && at + 1 < size && text[at + 1] == '=') {
    at++;
  }
  return at;
}

const char *loom_scan_text(const char *text, size_t size) {
  int depth = 0, aliases = 0;
  bool line_start = true, blank = true;
  for (size_t at = 0; at < size; at++) {
    char c = text[at];
    if (c == 0) return "the input has a NUL byte: not MLIR text";
    if (line_start && (c == '!' || c == '#') && ++aliases > SCAN_ALIASES)
      return "too many type and attribute aliases";
    line_start = c == '\n' || (line_start && (c == ' ' || c == '\t' || c == '\r'));
    blank = blank && (line_start || c == '\r');
    size_t next = scan_skip(text, size, at);
    if (next != at) {
      line_start = next < size && text[next] == '\n';
      blank = blank && c == '/';
      at = next;
    } else if (c == '(' || c == '[' || c == '{' || c == '<') {
      if (++depth > SCAN_DEPTH) return "the input is nested too deeply";
    } else if ((c == ')' || c == ']' || c == '}' || c == '>') && depth > 0) {
      depth--;
    }
  }
  return blank ? "the input is empty" : NULL;
}
