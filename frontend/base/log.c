/* Settings and logs. The settings' table is config.def; the environment is read once. */
#include "frontend/base/base.h"

loom_settings loom_config;
void (*loom_config_changed)(void);
uint32_t loom_log_mask;

static const struct {
  const char *name;
  uint32_t bit;
} log_categories[] = {{"breaks", LOOM_LOG_BREAKS},
                      {"guards", LOOM_LOG_GUARDS},
                      {"graph", LOOM_LOG_GRAPH},
                      {"cache", LOOM_LOG_CACHE},
                      {"time", LOOM_LOG_TIME},
                      {"recompiles", LOOM_LOG_RECOMPILES},
                      {"kernels", LOOM_LOG_KERNELS},
                      {"bytecode", LOOM_LOG_BYTECODE},
                      {"dynamic", LOOM_LOG_DYNAMIC},
                      {"host_calls", LOOM_LOG_HOST_CALLS},
                      {"graph_code", LOOM_LOG_GRAPH_CODE},
                      {"side_effects", LOOM_LOG_SIDE_EFFECTS},
                      {"schedule", LOOM_LOG_SCHEDULE}};
enum { LOG_COUNT = sizeof log_categories / sizeof *log_categories };

typedef enum setting_type { SETTING_STR, SETTING_INT, SETTING_BOOL } setting_type;

static const struct setting {
  setting_type type;
  const char *name, *missing, *env, *doc;
  void *place;
} settings_table[] = {
#define LOOM_SETTING(TYPE, NAME, DEFAULT, ENV, DOC)                                                \
  {SETTING_##TYPE, #NAME, DEFAULT, ENV, DOC, (void *)&loom_config.NAME},
#include "frontend/base/config.def"
#undef LOOM_SETTING
#define LOOM_ENV(KIND, ENUM, ENV, DEFAULT, DOC) {SETTING_STR, NULL, DEFAULT, ENV, DOC, NULL},
#include "runtime/env.def"
#undef LOOM_ENV
};
enum { SETTING_COUNT = sizeof settings_table / sizeof *settings_table };

/* ---- logs ----------------------------------------------------------------------------------- */

/* The bits of "a,b"; on an unknown name false with `*bad` at it. */
static bool log_parse(const char *text, uint32_t *out, const char **bad) {
  uint32_t mask = 0;
  while (*text) {
    size_t length = strcspn(text, ", ");
    uint32_t bit = length == 3 && !strncmp(text, "all", 3) ? UINT32_MAX : 0;
    for (int i = 0; i < LOG_COUNT && !bit; i++)
      if (strlen(log_categories[i].name) == length &&
          !strncmp(text, log_categories[i].name, length))
        bit = log_categories[i].bit;
    if (!bit && length) return *bad = text, false;
    mask |= bit;
    text += length;
    text += strspn(text, ", ");
  }
  *out = mask;
  return true;
}

/* To sys.stderr, which may be an object of the user's. Not by PySys_FormatStderr(), which drops
 * what a signal handler raises meanwhile. */
static void log_write(const char *name, PyObject *text) {
  PyObject *stream = PySys_GetObject("stderr");
  PyObject *line = text ? PyUnicode_FromFormat("[frameloom %s] %U\n", name, text) : NULL;
  Py_XINCREF(stream);
  if (line && stream && stream != Py_None) PyFile_WriteObject(line, stream, Py_PRINT_RAW);
  Py_XDECREF(stream);
  Py_XDECREF(line);
  error_drop();
}

void loom_log(uint32_t category, const char *format, ...) {
  if (!(loom_log_mask & category)) return;
  PyObject *type, *value, *traceback; /* a log line must not disturb a pending exception */
  PyErr_Fetch(&type, &value, &traceback);
  const char *name = "log";
  for (int i = 0; i < LOG_COUNT; i++)
    if (log_categories[i].bit == category) name = log_categories[i].name;
  va_list arguments;
  va_start(arguments, format);
  PyObject *text = PyUnicode_FromFormatV(format, arguments);
  va_end(arguments);
  log_write(name, text);
  Py_XDECREF(text);
  error_drop();
  PyErr_Restore(type, value, traceback);
}

/* ---- settings ------------------------------------------------------------------------------- */

static bool setting_check_word(const char *text, const char *const *words) {
  for (; *words; words++)
    if (!strcmp(text, *words)) return true;
  return false;
}

/* Checks strings of which only some are good; sets a ValueError. */
static bool setting_valid(const struct setting *s, const char *text) {
  static const char *const cpus[] = {"native", "x86-64-v3", "x86-64-v4", NULL};
  const char *bad = text;
  static const char *const checks[] = {"", "bounds", NULL};
  uint32_t mask;
  if (s->place == &loom_config.logs && !log_parse(text, &mask, &bad)) {
    PyErr_Format(
        PyExc_ValueError,
        "unknown log '%.40s': use graph, graph_code, bytecode, guards, recompiles, breaks, "
        "dynamic, side_effects, host_calls, kernels, schedule, cache, time or all",
        bad);
    return false;
  }
  if (s->place == &loom_config.backend && !setting_check_word(text, loom_backend_names)) {
    PyErr_Format(PyExc_ValueError, "unknown backend '%.40s': use 'loom', 'interpret' or 'eager'",
                 text);
    return false;
  }
  if (s->place == &loom_config.check && !setting_check_word(text, checks)) {
    PyErr_Format(PyExc_ValueError, "unknown check '%.40s': use 'bounds' or ''", text);
    return false;
  }
  if (s->place == &loom_config.cpu && !setting_check_word(text, cpus)) {
    PyErr_Format(PyExc_ValueError, "unknown cpu '%.40s': use 'native', 'x86-64-v3' or 'x86-64-v4'",
                 text);
    return false;
  }
  return true;
}

static bool setting_store_text(const struct setting *s, const char *text) {
  if (!setting_valid(s, text)) return false;
  char *copy = strdup(text);
  if (!copy) return PyErr_NoMemory(), false;
  free(*(char **)s->place);
  *(char **)s->place = copy;
  const char *bad;
  if (s->place == &loom_config.logs) log_parse(copy, &loom_log_mask, &bad);
  if (s->place == &loom_config.check) loom_block_check(*copy != 0);
  return true;
}

static bool setting_store_number(const struct setting *s, int64_t number) {
  if (number < 0) {
    PyErr_Format(PyExc_ValueError, "%s must not be negative", s->name);
    return false;
  }
  *(int64_t *)s->place = s->type == SETTING_BOOL ? number != 0 : number;
  if (loom_config_changed) loom_config_changed();
  return true;
}

static bool setting_store_env(const struct setting *s, const char *text) {
  if (s->type == SETTING_STR) return setting_store_text(s, text);
  if (s->type == SETTING_BOOL) {
    int on = loom_env_word(text);
    if (on >= 0) return setting_store_number(s, on);
    PyErr_SetString(PyExc_ValueError, "it is neither 1 nor 0");
    return false;
  }
  char *end;
  long long number = strtoll(text, &end, 10);
  if (*end || end == text) {
    PyErr_SetString(PyExc_ValueError, "it is not a number");
    return false;
  }
  return setting_store_number(s, number);
}

/* Turns the exception about a variable's value into a warning, which a filter of the user's may
 * make an exception. */
static bool setting_warn(const struct setting *s, const char *text) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  int failed = PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                                "frameloom: %s='%.80s' is ignored, the default (%s) is used: %S",
                                s->env, text, *s->missing ? s->missing : "none", value);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return !failed;
}

bool loom_config_init(void) {
  for (int i = 0; i < SETTING_COUNT; i++) {
    const struct setting *s = &settings_table[i];
    if (!s->place) continue;
    const char *text = *s->env ? getenv(s->env) : NULL;
    if (!setting_store_env(s, s->missing)) return false;
    if (text && *text && !setting_store_env(s, text) && !setting_warn(s, text)) return false;
  }
  loom_env_check();
  return loom_warn_notices();
}

/* What was noted, behind the code of its page where it has one: a new string. */
static PyObject *notice_words(int cause, const char *text) {
  static const int codes[LOOM_NOTICE_COUNT] = {
      [LOOM_NOTICE_FOLDER] = BREAK_CACHE,     [LOOM_NOTICE_WRITE] = BREAK_CACHE,
      [LOOM_NOTICE_LIBRARY] = BREAK_COMPILER, [LOOM_NOTICE_TRACED] = BREAK_TRACING,
      [LOOM_NOTICE_AGAIN] = BREAK_AGAIN,
  };
  char code[16] = "";
  if (codes[cause]) snprintf(code, sizeof code, "FL%04d: ", codes[cause]);
  return PyUnicode_FromFormat("%s%s", code, text);
}

bool loom_warn_notices(void) {
  char text[LOOM_NOTICE_SIZE];
  for (int cause = loom_notice_take(text); cause >= 0; cause = loom_notice_take(text)) {
    PyObject *words = notice_words(cause, text);
    int shown = words ? PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "frameloom: %U", words) : -1;
    Py_XDECREF(words);
    if (shown < 0) return false;
  }
  return true;
}

PyObject *loom_py_notices(PyObject *module, PyObject *unused) {
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < LOOM_NOTICE_COUNT; i++) {
    const char *text = loom_notice_text(i);
    PyObject *words = text ? notice_words(i, text) : NULL;
    if (text && (!words || PyList_Append(list, words) < 0)) Py_CLEAR(list);
    Py_XDECREF(words);
  }
  return list;
}

/* The setting that a name means: its own, or another one for it. */
static const char *setting_own_name(PyObject *name) {
  static const char *const aliases[][2] = {
#define LOOM_SETTING(TYPE, NAME, DEFAULT, ENV, DOC)
#define LOOM_SETTING_ALIAS(NAME, SETTING) {#NAME, #SETTING},
#include "frontend/base/config.def"
#undef LOOM_SETTING_ALIAS
#undef LOOM_SETTING
  };
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
    if (PyUnicode_CompareWithASCIIString(name, aliases[i][0]) == 0) return aliases[i][1];
  return PyUnicode_AsUTF8(name);
}

static const struct setting *setting_find(PyObject *name) {
  const char *own = PyUnicode_Check(name) ? setting_own_name(name) : NULL;
  for (int i = 0; own && i < SETTING_COUNT; i++)
    if (settings_table[i].place && !strcmp(own, settings_table[i].name)) return &settings_table[i];
  if (PyErr_Occurred()) return NULL;
  PyErr_Format(PyExc_AttributeError, "frameloom.config has no setting %R", name);
  return NULL;
}

PyObject *loom_py_settings(PyObject *module, PyObject *unused) {
  static const char *const types[] = {"str", "int", "bool"};
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < SETTING_COUNT; i++) {
    const struct setting *s = &settings_table[i];
    PyObject *row = Py_BuildValue("(zssss)", s->name, types[s->type], s->missing, s->env, s->doc);
    if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

PyObject *loom_py_get_setting(PyObject *module, PyObject *name) {
  const struct setting *s = setting_find(name);
  if (!s) return NULL;
  if (s->type == SETTING_STR) return PyUnicode_FromString(*(const char **)s->place);
  int64_t number = *(int64_t *)s->place;
  return s->type == SETTING_BOOL ? PyBool_FromLong(number != 0) : PyLong_FromLongLong(number);
}

PyObject *loom_py_set_setting(PyObject *module, PyObject *args) {
  PyObject *name, *item;
  if (!PyArg_ParseTuple(args, "OO", &name, &item)) return NULL;
  const struct setting *s = setting_find(name);
  if (!s) return NULL;
  bool good = false;
  if (s->type == SETTING_STR && PyUnicode_Check(item)) {
    const char *text = PyUnicode_AsUTF8(item);
    good = text && setting_store_text(s, text);
  } else if (s->type == SETTING_BOOL ? PyBool_Check(item)
                                     : s->type == SETTING_INT && PyLong_CheckExact(item)) {
    long long number = PyLong_AsLongLong(item);
    good = !(number == -1 && PyErr_Occurred()) && setting_store_number(s, number);
  } else {
    static const char *const types[] = {"a str", "an int", "a bool"};
    PyErr_Format(PyExc_TypeError, "%s must be %s, not %.100s", s->name, types[s->type],
                 Py_TYPE(item)->tp_name);
  }
  if (!good) return NULL;
  Py_RETURN_NONE;
}
