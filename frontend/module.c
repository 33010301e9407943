/* The module definition of frameloom._native. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/capture/capture.h"
#include "frontend/captured/adapter.h"
#include "frontend/compile/compile.h"
#include "frontend/device/device.h"
#include "frontend/dispatch/callable.h"
#include "frontend/eval/eval.h"
#include "frontend/library/library.h"
#include "frontend/loops/loops.h"
#include "frontend/numpy/array.h"
#include "frontend/pygraph/pygraph.h"
#include "frontend/run/run.h"
#include "frontend/size/size.h"
#include "frontend/tensor/tensor.h"
#include "frontend/torch/torch.h"
#include "frontend/values/values.h"

static PyMethodDef module_methods[] = {
    {"reset", loom_py_reset, METH_NOARGS,
     PyDoc_STR(
         "reset()\n--\n\nForgets everything that was compiled, and gives cached memory back.")},
    {"graph_break", (PyCFunction)(void (*)(void))loom_py_graph_break, METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("graph_break(msg='')\n--\n\nEnds capture here, for the reason in `msg`: what comes "
               "before and what comes after are compiled apart.\nUnder fullgraph=True it raises "
               "GraphBreak; in plain Python it does nothing.")},
    {"skip_frame", (PyCFunction)(void (*)(void))loom_py_skip_frame, METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("skip_frame(msg='')\n--\n\nLeaves the function that calls it to plain Python, for "
               "the reason in `msg`; functions that it calls may still be compiled.\nUnder "
               "fullgraph=True it raises GraphBreak; in plain Python it does nothing.")},
    {"set_stance", loom_py_set_stance, METH_O, PyDoc_STR("Sets the stance; see set_stance.")},
    {"get_stance", loom_py_get_stance, METH_NOARGS, PyDoc_STR("The name of the stance.")},
    {"is_compiling", loom_py_is_compiling, METH_NOARGS,
     PyDoc_STR(
         "is_compiling()\n--\n\nTrue while a function is being captured, False in plain Python.")},
    {"callables", loom_py_callables, METH_NOARGS, PyDoc_STR("All compiled functions that live.")},
    {"set_rule", loom_py_set_rule, METH_VARARGS,
     PyDoc_STR("set_rule(object, kind, function, fake or None, name): see custom_op.")},
    {"notices", loom_py_notices, METH_NOARGS,
     PyDoc_STR("What the user was told of in this process, once for each cause.")},
    {"measure_guards", loom_py_measure_guards, METH_O,
     PyDoc_STR("measure_guards(on): time the guards of new versions; gives what was set before.")},
    {"compile_times", loom_py_compile_times, METH_NOARGS,
     PyDoc_STR("(name, from the disk, {phase: ms}) of each compilation.")},
    {"reasons", loom_py_reasons, METH_NOARGS, PyDoc_STR("Rows of the table of graph breaks.")},
    {"settings", loom_py_settings, METH_NOARGS, PyDoc_STR("Rows of the table of settings.")},
    {"get_setting", loom_py_get_setting, METH_O, NULL},
    {"set_setting", loom_py_set_setting, METH_VARARGS, NULL},
    {"mark", loom_py_mark, METH_VARARGS,
     PyDoc_STR("mark(array, axis, (least, largest) or None): see mark_dynamic and mark_static.")},
    {"torch_init", torch_py_init, METH_NOARGS,
     PyDoc_STR("torch_init()\n--\n\nFinds torch's C interface; ImportError when this torch is too "
               "different.")},
    {"torch_compile", torch_py_compile, METH_VARARGS,
     PyDoc_STR("torch_compile(graph_module, cpu, interpret, fastmath, visible, gradients, "
               "frozen, device, cudagraphs)\n--\n\nA "
               "callable for an FX graph of ATen ops. device: \"\" is the CPU.")},
    {"torch_has_row", torch_py_has_row, METH_O,
     PyDoc_STR("torch_has_row(name)\n--\n\nIs \"gelu.default\" an operation of ATen with a row of "
               "its own in "
               "the table of those that are compiled?")},
    {"tensor_size", tensor_py_size, METH_VARARGS,
     PyDoc_STR("tensor_size(operation, number, number, reason): what torch asks of symbolic sizes "
               "while a "
               "call is captured.")},
    {"write_counts", torch_py_write_counts, METH_O,
     PyDoc_STR("write_counts(tensors)\n--\n\nHow often each tensor of a tuple has been written, as "
               "autograd counts it: bytes, four for each.")},
    {"read_source", loom_py_read_source, METH_VARARGS,
     PyDoc_STR("read_source(kind, index, key, holder): a tuple with what a source reads of an "
               "object, or ().")},
    {"stand_in", loom_py_stand_in, METH_VARARGS,
     PyDoc_STR("stand_in(shape, strides, dtype, used): an array of the host that nobody reads.")},
    {"place_of", loom_py_place_of, METH_O,
     PyDoc_STR("place_of(array): the address of its first element.")},
    {"graph_work", loom_py_graph_work, METH_VARARGS,
     PyDoc_STR("graph_work(graph, symbols): (bytes, operations, kernels, is the count of a loop a "
               "guess?), estimated.")},
    {"graph_flags", loom_py_graph_flags, METH_VARARGS,
     PyDoc_STR(
         "graph_flags(graph, globals): the floating-point flags of which somebody would see a "
         "warning; -1: the library has to run.")},
    {"graph_witness", loom_py_graph_witness, METH_VARARGS,
     PyDoc_STR(
         "graph_witness(graph, flags): a graph that tells whether an operation has raised one "
         "of these, or None.")},
    {"device_array", loom_py_device_array, METH_VARARGS,
     PyDoc_STR("device_array(device, memory, address, shape, strides, dtype): an array there.")},
    {"set_device_array", loom_py_set_device_array, METH_O,
     PyDoc_STR("set_device_array(class): what device_array() makes.")},
    {"open_device", loom_py_open_device, METH_O, PyDoc_STR("open_device(name): see device.")},
    {"read_dlpack", loom_py_read_dlpack, METH_O,
     PyDoc_STR("read_dlpack(capsule): (owner, device type, device, address, shape, strides, code, "
               "bits) of a tensor, which is taken.")},
    {"frames_agree", loom_py_frames_agree, METH_O,
     PyDoc_STR("frames_agree(function): are the interpreter's frames as they are taken to be?")},
    {"frame_probe", loom_py_frame_probe, METH_O,
     PyDoc_STR("frame_probe(local): is this the first local of the frame that calls?")},
    {"_capture", loom_debug_capture, METH_VARARGS, PyDoc_STR("Captures one call, for tests.")},
    {"_recode", loom_debug_recode, METH_O,
     PyDoc_STR("Decodes a code object and encodes it again, for tests.")},
    {"_pretend_times", loom_py_pretend_times, METH_VARARGS,
     PyDoc_STR(
         "_pretend_times(compiled wall, CPU, plain wall, CPU): what runs of functions take in "
         "ns where they are compared, for tests; without arguments: what they do take.")},
    {"_rewrite", loom_debug_rewrite, METH_VARARGS,
     PyDoc_STR("Encodes a code object again, to be run, for tests.")},
    {NULL, NULL, 0, NULL}};

static bool module_in_main_interpreter(void) {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return true;
  PyErr_SetString(PyExc_ImportError, "frameloom cannot be imported in a sub-interpreter");
  return false;
}

static int module_exec(PyObject *module) {
  loom_compile_watch();
  Py_AtExit(loom_compile_close); /* where it cannot: exit() waits (compile.c) */
  if (!module_in_main_interpreter() || !loom_config_init()) return -1;
  eval_init();
  loops_init();
  if (!loom_adapter_register(&loom_numpy_adapter) || !tensor_init()) return -1;
  if (!builtins_init()) return -1; /* now: before a program puts others in their places */
  return loom_callable_init(module) && loom_graph_object_init(module) && loom_device_init(module) &&
                 torch_compiled_init(module)
             ? 0
             : -1;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL}};

static struct PyModuleDef module_def = {PyModuleDef_HEAD_INIT, .m_name = "frameloom._native",
                                        .m_methods = module_methods, .m_slots = module_slots};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&module_def); }
