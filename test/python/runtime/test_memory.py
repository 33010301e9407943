"""What a version keeps: little memory, and yet its whole graph."""

import ctypes
import gc

import numpy as np
import pytest

import frameloom


def chain(a, b):
    for i in range(3):
        a = a * b + i
        b = np.sin(a)
    return a, b


def rolled(a):
    for i in range(100):
        a = a * 0.5 + a[::-1] * i
    return a


def places(a, b):
    top = np.where(a > 0, a, b)[1:, ::2]
    return top.sum(axis=0), np.concatenate([top, top]).astype(np.complex128) * 1j, np.sort(b), b.max()


def views(a):
    return a.T, a[::2], a.reshape(-1), (a + 1, a)


def written(a, b):
    a[1] = b[0] * 2
    b += 1
    return np.cumsum(a, axis=1)


def hosted(a):
    return np.linalg.eigvalsh(a @ a.T) + 1


CASES = ((chain, 2), (rolled, 1), (places, 2), (views, 1), (written, 2), (hosted, 1))


def versions_made(function, backend, dynamic, arrays):
    """Text, operations and loops of each version that these calls make."""
    compiled = frameloom.compile(function, backend=backend, dynamic=dynamic)
    for arguments in arrays:
        compiled(*[a.copy() for a in arguments])
    return [{name: entry[name] for name in ("graph", "ops", "loops")} for entry in compiled._report()["entries"]]


@pytest.mark.parametrize("dynamic", [False, None, True])
@pytest.mark.parametrize("function, count", CASES, ids=lambda case: getattr(case, "__name__", None))
def test_the_graph_is_shown_whole(function, count, dynamic):
    # The interpreter keeps its graph as it is, the compiler's versions keep theirs packed.
    arrays = [[np.random.default_rng(n + i).normal(size=(n, n)) for i in range(count)] for n in (6, 8)]
    packed, plain = (versions_made(function, backend, dynamic, arrays) for backend in ("loom", "interpret"))
    assert packed and packed == plain
    assert any("loom." in row["graph"] for row in packed)


def test_two_reports_are_the_same():
    compiled = frameloom.compile(chain)
    compiled(np.ones(3), np.ones(3))
    assert compiled._report()["entries"] == compiled._report()["entries"]


class HeapInfo(ctypes.Structure):
    """mallinfo2() of the GNU C library."""
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks",
                                                     "fsmblks", "uordblks", "fordblks", "keepcost")]


def kept_by_a_version(function, versions):
    """Bytes of the C heap beside the code, which is mapped."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        pytest.skip("the C library does not count its memory")
    libc.mallinfo2.restype = HeapInfo

    def heap():
        gc.collect()
        info = libc.mallinfo2()
        return info.uordblks + info.hblkhd

    compiled = frameloom.compile(function, dynamic=False)
    with frameloom.config.patch(recompile_limit=4 * versions):
        for n in range(2, 2 * versions + 2):
            if n == versions + 2:
                before = heap()
            compiled(np.ones(n), np.ones(n))
    assert len(compiled._report()["entries"]) == 2 * versions
    return (heap() - before) / versions


@pytest.mark.parametrize("rounds, limit", [(5, 24), (20, 32)])
def test_a_version_keeps_little(rounds, limit):
    # 15 and 60 operations on arrays. KiB; 64 are what a version may keep.
    lines = "\n".join(f"    a = a * b + {i}\n    b = np.sin(a)" for i in range(rounds))
    namespace = {"np": np}
    exec(f"def straight(a, b):\n{lines}\n    return a, b", namespace)
    assert kept_by_a_version(namespace["straight"], 10) < limit * 1024
