"""MLIR runs what it can on several threads: modules come out as they do of one."""

import subprocess

import pytest
from paths import BUILD, ROOT

FILES = [path for path in sorted((ROOT / "test").glob("*/*.mlir")) if "affine_map<()[s" in path.read_text()]
# Each function makes sizes that no other has: all go into the one table of the module.
SIZES = """
func.func @f{n}(%a: tensor<?xf32, affine_map<()[s0] -> (s0)>>, %b: tensor<?xf32, affine_map<()[s0, s1] -> (s1)>>) -> (tensor<i64>, tensor<f32>) {{
  %0 = loom.concatenate %a, %b axis = 0 : (tensor<?xf32, affine_map<()[s0] -> (s0)>>, tensor<?xf32, affine_map<()[s0, s1] -> (s1)>>) -> tensor<?xf32, affine_map<()[s0, s1] -> (s0 + s1)>>
  %z = loom.constant(0.0 : f32) : tensor<f32>
  %1 = loom.pad %0, %z low = [{n}] high = [0] : (tensor<?xf32, affine_map<()[s0, s1] -> (s0 + s1)>>, tensor<f32>) -> tensor<?xf32, affine_map<()[s0, s1] -> (s0 + s1 + {n})>>
  %2 = loom.size %1 axis = 0 : (tensor<?xf32, affine_map<()[s0, s1] -> (s0 + s1 + {n})>>) -> tensor<i64>
  %3 = loom.reduce "sum" %1 axes = [0] : (tensor<?xf32, affine_map<()[s0, s1] -> (s0 + s1 + {n})>>) -> tensor<f32>
  return %2, %3 : tensor<i64>, tensor<f32>
}}
"""


def planned(text, *options):
    command = [BUILD / "bin" / "loom-opt", "--split-input-file", "--loom-plans", *options]
    ran = subprocess.run(command, input=text, capture_output=True, text=True)
    return ran.returncode, ran.stdout, ran.stderr


def test_there_are_files():
    assert len(FILES) > 8


@pytest.mark.skipif(not (BUILD / "bin" / "loom-opt").exists(), reason="needs loom-opt")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_threads_change_nothing(path):
    text = path.read_text()
    alone = planned(text, "--mlir-disable-threading")
    code, out, err = planned(text)
    assert (code, out) == alone[:2]
    assert sorted(err.splitlines()) == sorted(alone[2].splitlines())


@pytest.mark.skipif(not (BUILD / "bin" / "loom-opt").exists(), reason="needs loom-opt")
def test_sizes_of_many_functions():
    text = "".join(SIZES.format(n=n) for n in range(1, 60))
    code, out, err = planned(text)
    assert code == 0, err
    assert out.count("loom.plan @") == 59
    assert out == planned(text, "--mlir-disable-threading")[1]


def test_no_pass_runs_on_functions_at_once():
    """A pass whose root is a function may not write into the module (pass.h): the runs above see that by chance alone."""
    roots = [line for folder in ("dialects", "passes", "test/passes") for path in (ROOT / folder).glob("*.c")
             for line in path.read_text().splitlines() if ".root = " in line and '"' in line]
    assert len(roots) > 20 and not [line for line in roots if "func.func" in line]
