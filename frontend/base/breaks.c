/* Reasons for which capture ends: the rows of breaks.def. */
#include "frontend/base/base.h"

static const struct {
  int code;
  const char *name, *text, *hint;
} explain_reasons[] = {
#define LOOM_BREAK(CODE, NAME, TEXT, HINT) {CODE, #NAME, TEXT, HINT},
#include "frontend/base/breaks.def"
#undef LOOM_BREAK
};

const char *loom_break_text(int reason, const char **name_out, const char **hint_out) {
  for (size_t i = 0; i < sizeof explain_reasons / sizeof *explain_reasons; i++)
    if (explain_reasons[i].code == reason) {
      *name_out = explain_reasons[i].name;
      *hint_out = explain_reasons[i].hint;
      return explain_reasons[i].text;
    }
  *name_out = "UNKNOWN";
  *hint_out = "";
  return "unknown reason";
}

PyObject *loom_py_reasons(PyObject *module, PyObject *unused) {
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < sizeof explain_reasons / sizeof *explain_reasons; i++) {
    PyObject *row = Py_BuildValue("(isss)", explain_reasons[i].code, explain_reasons[i].name,
                                  explain_reasons[i].text, explain_reasons[i].hint);
    if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}
