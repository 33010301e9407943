"""Every function of modules for GPUs, through the vendors' tools: `accept.py BIN [--sum] [--all] [--only=NAME,...] FILE ...`.

A function has sm_90, one of NVIDIA's other architectures and one of AMD's: the next function has the next ones. With --all each has all,
with --sum one of NVIDIA's four and one of AMD's three.
PTX goes through ptxas where it is found; objects of AMDGPU through the linker, and the code object has the kernels in it. Prints a
row for each function: what ptxas says of registers on sm_90 and of spills, or why the compiler has no code for it yet. With
--groups, only sm_90a, for products of warpgroups, of which none may wait for another. With --spills=ARCH, an architecture of AMD,
the registers that each kernel spills there, in place of all that. With --sum, a row for each file: how many functions there are of each sort, and the bytes that they spill. A few bytes do not count in a
kernel that has come down to 64 or 128 registers by them: so many let one more block run at once.
"""
import argparse
import collections
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NVIDIA = ("sm_80", "sm_90a", "sm_120")
AMD = ("gfx90a", "gfx942", "gfx1100")
FEW = 64
RESULT = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads\n.*Used (\d+) registers")
NOT_YET = re.compile(r"error: (symbolic sizes on a GPU)$", re.MULTILINE)


class NotYet(Exception):
    """The compiler refuses a function with one of the errors for what has no form on GPUs."""


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def compile(bin, *words):
    command = [str(bin / "loom-compile"), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True)
    if refused := done.returncode == 1 and NOT_YET.search(done.stderr):
        raise NotYet(refused[1])
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")


def architectures(number, every, groups, one):
    """Those of NVIDIA and of AMD that function number `number` is for."""
    if groups:
        return ("sm_90a",), ()
    if one and not every:
        return (NVIDIA[number % 3] if number % 4 else "sm_90",), (AMD[number % 3],)
    return ("sm_90", *(NVIDIA if every else NVIDIA[number % 3 :][:1])), AMD if every else AMD[number % 3 :][:1]


def accept(bin, name, source, folder, nvidia, amd):
    """The kernels, the most registers of one on sm_90 (None: not known), and the bytes spilled."""
    registers, spilled, kernels = None, 0, []
    ptx, cubin, obj, code = (folder / f"x.{end}" for end in ("ptx", "cubin", "o", "hsaco"))
    for arch in nvidia:
        compile(bin, "--target=nvptx", f"--mcpu={arch}", "--emit=asm", source, "-o", ptx)
        text = ptx.read_text()
        kernels = re.findall(r"\.entry (\w+)", text)
        if re.search(r"\.extern (?!\.shared)", text):
            sys.exit(f"{name}: the PTX refers to what is not in it")
        if shutil.which("ptxas") and kernels:
            told = run("ptxas", "-v", f"-arch={arch}", ptx, "-o", cubin)
            if "C75" in told:
                sys.exit(f"{name}: ptxas makes products of warpgroups wait for each other\n{told}")
            rows = [tuple(map(int, row)) for row in RESULT.findall(told)]
            if len(rows) != len(kernels):
                sys.exit(f"{name}: ptxas says of {len(rows)} of {len(kernels)} kernels what they use\n{told}")
            spilled += sum(stores + loads for stores, loads, used in rows if used not in (64, 128) or stores + loads > FEW)
            if arch == nvidia[0]:
                registers = max(used for _, _, used in rows)
    for arch in amd:
        compile(bin, "--target=amdgpu", f"--mcpu={arch}", source, "-o", obj)
        run("ld.lld", "-shared", obj, "-o", code)
        symbols = run("llvm-readelf", "--dyn-syms", "--notes", code)
        there = re.findall(r"FUNC +GLOBAL +PROTECTED +\d+ (\S+)", symbols)
        if sorted(there) != sorted(kernels) or not all(f"{kernel}.kd" in symbols for kernel in there):
            sys.exit(f"{name}: the code object for {arch} lacks kernels\n{symbols}")
    return kernels, registers, spilled


def spilled_on(bin, arch, source, folder):
    """Registers that each kernel of a function spills on an architecture of AMD."""
    obj = folder / "x.o"
    compile(bin, "--target=amdgpu", f"--mcpu={arch}", source, "-o", obj)
    return re.findall(r"\.vgpr_spill_count: +(\d+)", run("llvm-readelf", "--notes", obj))


def functions(path):
    """Names and modules of a file's functions: each with the aliases and the module's attributes that the file defines."""
    text = path.read_text()
    aliases = "".join(re.findall(r"^[#!].*\n", text, re.MULTILINE))
    module = re.search(r"^module .*\n", text, re.MULTILINE)
    for function in re.finditer(r"^( *)func\.func @(\w+).*?^\1}\n", text, re.DOTALL | re.MULTILINE):
        yield function[2], aliases + (f"{module[0]}{function[0]}}}\n" if module else function[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("bin", type=Path)
    parser.add_argument("--sum", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--groups", action="store_true")
    parser.add_argument("--spills")
    parser.add_argument("--only", type=lambda names: names.split(","))
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    number = 0
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "x.mlir"
        for path in options.files:
            sorts, total = collections.Counter(), 0
            for name, module in functions(path):
                if options.only and name not in options.only:
                    continue
                source.write_text(module)
                if options.spills:
                    print(f"{name}: {' '.join(spilled_on(options.bin, options.spills, source, Path(folder)))} registers")
                    continue
                try:
                    on = architectures(number, options.all, options.groups, options.sum)
                    kernels, registers, spilled = accept(options.bin, name, source, Path(folder), *on)
                    said = "no ptxas" if registers is None else f"registers {registers}, spilled bytes {spilled}"
                    sort, total = "accepted" if kernels else "without kernels", total + spilled
                except NotYet as refused:
                    said, sort = f"refused: {refused}", "refused"
                sorts[sort] += 1
                number += 1
                if not options.sum:
                    print(f"{name}: {said}")
            if options.sum:
                print(f"{path.name}: {', '.join(f'{n} {sort}' for sort, n in sorted(sorts.items()))}, spilled bytes {total}")


if __name__ == "__main__":
    main()
