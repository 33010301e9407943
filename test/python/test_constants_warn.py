"""Warnings of arithmetic on constants, wherever the constants have been moved first: LLVM would compute it, and lose them."""

import warnings

import numpy as np
import pytest

import frameloom

CONSTANTS = """
np.ones(3)[j%1]
np.take(np.ones(3), j%1)
np.ones((3,3)).T
np.ones(6).reshape(2,3)
np.ones(6)[::2]
np.ones(6)[::-1]
np.flip(np.ones(3))
np.concatenate([np.ones(2),np.ones(2)])
np.stack([np.ones(2),np.ones(2)])
np.broadcast_to(np.ones(1),(4,))
np.where(x>0,1.0,1.0)
np.where(x>0,np.ones(3),np.ones(3))
np.roll(np.ones(3),1)
np.sort(np.ones(3))
np.repeat(np.ones(3),2)
np.tile(np.ones(3),2)
np.maximum(np.ones(3),np.ones(3))
np.ones(3).max()
np.ones(3).sum()
np.ones(3)+0*0
np.cumsum(np.ones(3))
np.abs(-np.ones(3))
np.ones(3).astype('f4')
np.full(3,2.0)[x.astype(int)%1]
np.eye(3)[j%1]
np.choose(j%2,[np.ones(4),np.ones(4)])
np.select([x>0],[np.ones(3)],1.0)
np.clip(np.ones(3),0,1)
np.delete(np.ones(3),0)
np.insert(np.ones(3),0,1.0)
np.append(np.ones(3),1.0)
np.diag(np.ones(3))
np.ones(3)[np.newaxis]
np.ones((1,3))[0]
np.squeeze(np.ones((1,3)))
np.ones(3).copy()
np.zeros(3)
np.zeros(3)+1
np.ones(3)*1.0
np.arange(3.)
np.linspace(0,1,3)
np.ones(3)[x>0]
np.nan_to_num(np.ones(3))
np.ones((3,3))@np.ones((3,3))
np.minimum(x,1)*0+1
np.ones_like(x)
np.full_like(x,1)
np.ones(3)
(x>5)*1.0
np.float64(1)
np.array([1.0,1.0])
np.array([1.0,2.0])[j%1]
np.array([1.0,2.0])[[0,0]]
np.unravel_index(j%1,(1,))[0]+1.0
np.ones(3)[:2]
np.sqrt(np.ones(3))
np.exp(np.zeros(3))
np.isnan(x)+1.0
np.diff(np.arange(4.0))
np.meshgrid(np.ones(2),np.ones(2))[0]
np.mean(np.ones(3))
np.ones(3)[-1]
np.ones(3)[None,:,None]
np.rot90(np.ones((2,2)))
np.kron(np.ones(2),np.ones(2))
np.outer(np.ones(2),np.ones(2))
np.interp(x,[0,1],[1.0,1.0])
"""
ARITHMETIC = [
    '({})/0',
    '0.0/({})*0+np.float64(1)/(({})*0)',
    'np.log(({})*0)',
    'np.exp(({})*1000.)',
    'np.sqrt(-({}))',
    '(({})*1e308)*10',
    'np.power(({})*0,-1.0)',
    'np.arcsin(({})+1)',
    '(({})*1e10).astype("f4")*np.float32(1e30)',
    "({})//0",
]  # fmt: skip


def warned(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(np.ones(3))
    return sorted(str(w.message) for w in caught)


@pytest.mark.parametrize("constant", CONSTANTS.strip().split("\n"))
def test_as_numpy(constant):
    different = []
    for arithmetic in ARITHMETIC:
        for returned in ("return ", ""):
            space, text = {"np": np}, arithmetic.replace("{}", constant)
            exec(f"def function(x):\n    j = np.arange(4)\n    {returned}{text}\n", space)
            want, got = warned(space["function"]), warned(frameloom.compile(space["function"]))
            if got != want:
                different.append(f"{returned}{text}: {got} instead of {want}")
    assert not different, "\n".join(different)
