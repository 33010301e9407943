"""The instructions of each basic block that multiplies matrices: `matrix_code.py BIN CPU FILE`, for NVIDIA's GPUs (sm_...) in PTX and for AMD's in
assembly. Prints a row for each: products, reads of shared memory, moves between registers, and all others; then the numbers that the
assembly of AMD's GPUs says: bytes of the stack and registers spilled. Where ptxas and nvdisasm are found, the same instructions of NVIDIA's
machine code are counted.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

KINDS = (("products", r"mma\.sync|v_mfma|v_wmma"), ("reads", r"ldmatrix|ld\.shared|ds_read|ds_load"), ("moves", r"mov\.|v_mov|v_dual_mov|v_accvgpr"))


def machine_code(cpu, text):
    """Products and reads of fragments in the machine code of PTX."""
    if not shutil.which("ptxas") or not shutil.which("nvdisasm"):
        return "no disassembler"
    with tempfile.TemporaryDirectory() as folder:
        ptx, cubin = Path(folder) / "x.ptx", Path(folder) / "x.cubin"
        ptx.write_text(text)
        subprocess.run(["ptxas", f"-arch={cpu}", ptx, "-o", cubin], check=True)
        code = subprocess.run(["nvdisasm", "-c", cubin], check=True, capture_output=True, text=True).stdout
    counts = {name: len(re.findall(rf"\s{name}\b", code)) for name in ("HMMA", "DMMA", "LDSM", "LDGSTS")}
    return "machine code: " + ", ".join(f"{n} {name}" for name, n in counts.items())


def main():
    bin, cpu, source = sys.argv[1:]
    target = "nvptx" if cpu.startswith("sm_") else "amdgpu"
    command = [f"{bin}/loom-compile", f"--target={target}", f"--mcpu={cpu}", "--emit=asm", source, "-o", "-"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for block in re.split(r"^[.$]?\w*BB\d+_\d+:.*$", text, flags=re.MULTILINE):
        counts = dict.fromkeys([name for name, _ in KINDS] + ["others"], 0)
        for line in block.split("\n"):
            word = re.match(r"\t(@%p\d+ )?([a-z]\S*)", line)  # not operands on lines of their own
            if word and not line.endswith(":"):
                counts[next((name for name, pattern in KINDS if re.search(pattern, word[2])), "others")] += 1
        if counts["products"]:
            print(", ".join(f"{n} {name}" for name, n in counts.items()))
    stack = re.findall(r"\.private_segment_fixed_size: (\d+)", text)
    spilled = re.findall(r"\.[sv]gpr_spill_count: (\d+)", text)
    if target == "amdgpu":
        print(f"stack {sum(map(int, stack))}, spilled {sum(map(int, spilled))}")
    else:
        print(machine_code(cpu, text))


if __name__ == "__main__":
    main()
