/* The module definition of frameloom._native. */
#include "frontend/frontend.h"

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, .m_name = "frameloom._native", .m_size = -1};

PyMODINIT_FUNC PyInit__native(void) { return PyModule_Create(&module_def); }
