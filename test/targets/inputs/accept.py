"""Every function of modules for each GPU, through the vendors' tools: `accept.py BIN FILE ...`.

PTX goes through ptxas where it is found; objects of AMDGPU through the linker, and the code object has the kernels in it. Prints a
row for each function: what ptxas says of registers and spills on sm_90, or the error.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NVIDIA = ("sm_80", "sm_90", "sm_90a", "sm_120")
AMD = ("gfx90a", "gfx942", "gfx1100")


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def accept(bin, name, source, folder):
    said = "no ptxas"
    ptx, cubin, obj, code = (folder / f"x.{end}" for end in ("ptx", "cubin", "o", "hsaco"))
    for arch in NVIDIA:
        run(bin / "loom-compile", "--target=nvptx", f"--mcpu={arch}", "--emit=asm", source, "-o", ptx)
        if ".extern" in ptx.read_text():
            sys.exit(f"{name}: the PTX refers to what is not in it")
        if shutil.which("ptxas"):
            told = run("ptxas", "-v", f"-arch={arch}", ptx, "-o", cubin)
            if arch == "sm_90":
                registers, spills = (re.findall(pattern, told) for pattern in (r"Used (\d+) registers", r"(\d+) bytes spill"))
                said = f"registers {max(map(int, registers))}, spilled bytes {sum(map(int, spills))}"
    for arch in AMD:
        run(bin / "loom-compile", "--target=amdgpu", f"--mcpu={arch}", source, "-o", obj)
        run("ld.lld", "-shared", obj, "-o", code)
        symbols = run("llvm-readelf", "--dyn-syms", "--notes", code)
        kernels = re.findall(r"FUNC +GLOBAL +PROTECTED +\d+ (\S+)", symbols)
        if not kernels or not all(f"{kernel}.kd" in symbols for kernel in kernels):
            sys.exit(f"{name}: the code object for {arch} lacks kernels\n{symbols}")
    return said


def main():
    bin = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for path in sys.argv[2:]:
            for function in re.findall(r"^func\.func .*?^}\n", Path(path).read_text(), re.DOTALL | re.MULTILINE):
                name = re.match(r"func\.func @(\w+)", function)[1]
                source = folder / "x.mlir"
                source.write_text(function)
                print(f"{name}: {accept(bin, name, source, folder)}")


main()
