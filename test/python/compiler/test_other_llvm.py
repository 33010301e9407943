"""The compiler library holds an LLVM of its own: nothing of it is seen from outside, and a process may hold another one, loaded
before or after. Debian's own is of the same version, with the same names, which is the hardest case."""

import importlib.util
import os
import pathlib
import subprocess

import pytest
from processes import printed

import frameloom

LIBRARY = pathlib.Path(frameloom.__file__).parent / "libloom_compiler.so"
LLVM = pathlib.Path(os.environ.get("LLVM_ROOT", "/usr/lib/llvm-22")) / "lib"

OURS = """
import numpy as np, frameloom
def ours(n):
    def f(x):
        return np.exp(x).sum(axis=0) * n
    x = np.linspace(0, 1, 24).reshape(4, 6)
    compiled = frameloom.compile(f, fullgraph=True)
    assert np.allclose(compiled(x), f(x), rtol=1e-13)
    assert "libloom_compiler" in open("/proc/self/maps").read()
"""

# Each loads an LLVM and uses it; called again, it uses the same.
OTHERS = {
    "debian": """
import ctypes
def other(n):
    llvm = ctypes.CDLL("{llvm}/libLLVM.so", mode=ctypes.RTLD_GLOBAL)
    ctypes.CDLL("{llvm}/libMLIR.so", mode=ctypes.RTLD_GLOBAL)
    for name in ("LLVMModuleCreateWithName", "LLVMPrintModuleToString", "LLVMGetTargetName"):
        getattr(llvm, name).restype = ctypes.c_void_p
    for part in ("TargetInfo", "Target", "TargetMC"):
        getattr(llvm, "LLVMInitializeX86" + part)()
    module = ctypes.c_void_p(llvm.LLVMModuleCreateWithName(b"other%d" % n))
    assert b"ModuleID = 'other%d'" % n in ctypes.string_at(llvm.LLVMPrintModuleToString(module))
    llvm.LLVMGetFirstTarget.restype = ctypes.c_void_p
    assert ctypes.string_at(llvm.LLVMGetTargetName(ctypes.c_void_p(llvm.LLVMGetFirstTarget()))).startswith(b"x86")
    llvm.LLVMDisposeModule(module)
""".replace("{llvm}", str(LLVM)),
    "llvmlite": """
import ctypes
def other(n):
    import llvmlite.binding as llvm
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly("define i64 @f(i64 %%x) { %%y = add i64 %%x, %d ret i64 %%y }" % n)
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(engine.get_function_address("f"))(40) == 40 + n
""",
    "torch": """
def other(n):
    import torch
    f = torch.jit.CompilationUnit("def f(x, n: int): return torch.tanh(x * n) + x").f
    x = torch.linspace(0, 1, 9)
    for _ in range(3):
        assert torch.allclose(f(x, n), torch.tanh(x * n) + x)
""",
    "triton": """
def other(n):
    from triton._C.libtriton import ir, llvm
    context = ir.context()
    ir.load_dialects(context)
    llvm.context()
""",
}


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("name", OTHERS)
def test_another_llvm_in_the_process(name, order):
    if name == "debian":
        if not (LLVM / "libLLVM.so").exists():
            pytest.skip(f"no libLLVM.so in {LLVM}")
    elif importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    elif name == "torch" and not __import__("torch")._C._llvm_enabled():
        pytest.skip("this torch holds no LLVM")
    calls = "other(1); ours(2); other(3); ours(4)" if order == "before" else "ours(1); other(2); ours(3); other(4)"
    program = OURS + OTHERS[name] + calls + "\nprint('well')"
    assert printed(program, environment={"FRAMELOOM_CACHE": "0"}) == "well\n"


def test_nothing_else_is_exported():
    names = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", str(LIBRARY)], capture_output=True, text=True, check=True)
    assert {line.split()[0] for line in names.stdout.splitlines()} == {
        "loom_compiler_abi", "loom_compiler_compile", "loom_tool_compile", "loom_tool_lsp_server", "loom_tool_opt", "loom_tool_reduce",
        "loom_tool_run", "loom_tool_translate"}


def test_the_c_library_is_all_it_needs():
    dynamic = subprocess.run(["readelf", "-dW", str(LIBRARY)], capture_output=True, text=True, check=True).stdout
    needed = {line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "(NEEDED)" in line}
    assert needed <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"}
    wanted = subprocess.run(["nm", "-D", "--undefined-only", str(LIBRARY)], capture_output=True, text=True, check=True).stdout
    assert "_Z" not in wanted and "LLVM" not in wanted
