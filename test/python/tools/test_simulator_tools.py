"""The scripts of test/targets/inputs give modules attributes, whatever the module looks like."""

import importlib.util
import subprocess
import sys

import kernel_harness
import pytest
from paths import ROOT

INPUTS = ROOT / "test" / "targets" / "inputs"
FUNCTION = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}\n"
HEADS = {
    "no module": "", "a module": "module {\n", "a module with a name": "module @m {\n", "no attributes": "module attributes {} {\n",
    "the attribute": 'module attributes {loom.matrix = "mma"} {\n', "it and others": 'module attributes {loom.tf32, loom.matrix = "mma", loom.processors = 3 : i64} {\n',
    "others": "module @m attributes {loom.processors = 3 : i64} {\n", "a comment in front": "// module\n\n",
}


@pytest.fixture
def each(monkeypatch):
    monkeypatch.syspath_prepend(str(INPUTS))
    spec = importlib.util.spec_from_file_location("each", INPUTS / "each.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("head", HEADS)
def test_an_attribute_is_set(each, head):
    text = HEADS[head] + FUNCTION + ("}\n" if "module " in HEADS[head] and not HEADS[head].startswith("//") else "")
    assert each.marked(text, {}) == text
    done = subprocess.run([kernel_harness.OPT, "-"], input=each.marked(text, {"loom.matrix": '"mfma"'}), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("module")]
    assert 'loom.matrix = "mfma"' in line and "mma\"," not in line.replace("mfma", "")
    assert ("loom.processors" in line) == ("processors" in HEADS[head]) and ("@m" in line) == ("@m" in HEADS[head])


def test_a_folder_of_traces_takes_no_instructions(tmp_path):
    done = subprocess.run([sys.executable, INPUTS / "sim_fuzz.py", tmp_path, tmp_path, "--matrix=mma"], capture_output=True, text=True)
    assert done.returncode == 1 and "--matrix is for random programs and for a file" in done.stderr
