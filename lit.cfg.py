"""lit configuration: FileCheck tests for the dialect, the passes and the targets."""

import os
import sys

import lit.formats

config.name = "frameloom"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ll", ".mlir", ".test"]
config.excludes = ["build", "python", "runtime", ".venv", "bench", "examples", "inputs", "fuzz"]
config.test_source_root = os.path.dirname(__file__)
build = os.path.abspath(os.environ.get("LOOM_BUILD", os.path.join(os.path.dirname(__file__), "build", "dev")))
config.test_exec_root = build
llvm = os.environ.get("LLVM_ROOT", "/usr/lib/llvm-22")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(build, "bin"), os.path.join(llvm, "bin"), os.environ["PATH"]])
config.substitutions += [
    ("%loom-opt", os.path.join(build, "bin", "loom-opt")),
    ("%loom-compile", os.path.join(build, "bin", "loom-compile")),
    ("%loom-run", os.path.join(build, "bin", "loom-run")),
    ("%loom-reduce", os.path.join(build, "bin", "loom-reduce")),
    ("%loom-translate", os.path.join(build, "bin", "loom-translate")),
    ("%plugin", os.path.join(build, "lib", "loom_mlir_plugin.so")),
    ("%build", build),
    ("%python", sys.executable),
    ("%llvm", llvm),
]
if any(os.access(os.path.join(p, "ptxas"), os.X_OK) for p in os.environ["PATH"].split(os.pathsep)):
    config.available_features.add("ptxas")
