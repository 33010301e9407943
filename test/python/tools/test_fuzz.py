"""What random programs have found stays found; and the table that they are made from has every public function of NumPy."""

import importlib
import inspect

import minimise
import numpy as np
import numpy_table
import pytest
from paths import FUZZ
from workers import Worker

FOUND = sorted(path for path in (FUZZ / "found").iterdir() if path.suffix in (".py", ".mlir"))


@pytest.fixture(scope="module")
def worker():
    made = Worker()
    yield made
    made.stop()


@pytest.mark.parametrize("path", FOUND, ids=lambda p: p.stem)
def test_found(worker, path):
    """In another process: some of these once crashed it."""
    answer = worker.ask({"kind": path.stem.partition("_")[0], "text": path.read_text()})
    assert not answer.found, "\n".join(answer.found)


def test_every_public_function_is_called_or_left_out_for_a_reason():
    made = set(numpy_table.functions()) | set(numpy_table.ufuncs())
    left = {"np." + name for name in numpy_table.names_left_out(numpy_table.LEFT_OUT)}
    for prefix, module in numpy_table.MODULES:
        for name in getattr(module, "__all__", dir(module)):
            thing = getattr(module, name)
            if callable(thing) and not inspect.isclass(thing) and not name.startswith("_"):
                assert prefix + name in made | left, f"{prefix}{name} has no place in test/fuzz/numpy_table.py"
    methods = set(numpy_table.methods()) | set(numpy_table.attributes()) | numpy_table.names_left_out(numpy_table.METHODS_LEFT_OUT)
    assert methods >= {name for name in dir(np.ndarray) if not name.startswith("_")}


def test_every_parameter_has_a_kind():
    known = {"out", "args", "kwargs", "arys", "xi", "ar", "operands", "arrays_and_dtypes", "einsum_call"}
    for name, function in numpy_table.functions().items():
        for parameter, _, _ in numpy_table.parameters(function) or []:
            assert parameter in known | set(numpy_table.KIND_OF) | set(numpy_table.CHOICES) | set(numpy_table.SPECIAL.get(name, {})), (
                f"{name} takes {parameter}, which test/fuzz/numpy_table.py does not know")


@pytest.mark.parametrize("kind", ["numpy", "python", "changes", "calls", "graphs", "ir", "device", "auto", "cuda"])
def test_a_program_is_the_same_wherever_it_is_made(kind):
    module = importlib.import_module(f"{kind}_kind")
    texts = [module.make(5, index) for index in range(20)]
    assert texts == [module.make(5, index) for index in range(20)] and len(set(texts)) > 12


@pytest.mark.parametrize("kind, count", [("device", 40), ("auto", 30), ("cuda", 120)])
def test_random_programs_on_a_device(worker, kind, count):
    """On the driver of the tests, which runs kernels on the simulator (docs/gpu.md)."""
    for index in range(count):
        answer = worker.ask({"kind": kind, "seed": 1, "index": index})
        assert not answer.found, "\n".join([*answer.found, answer.text])


def test_what_is_found_is_made_smaller():
    text = importlib.import_module("numpy_kind").make(1, 3)

    def differs(candidate):
        return ["value of result 0: wrong"] if "def program" in candidate and "c" in candidate else []
    small, row = minimise.minimise(text, "value of result 1: wrong", differs, seconds=5)
    assert len(small) < len(text) and row == "value of result 0: wrong"
