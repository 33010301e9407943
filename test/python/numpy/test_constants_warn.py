"""Warnings of arithmetic on constants, wherever the constants have been moved first: LLVM would compute it, and lose them."""

import itertools
import random

import numpy as np
import pytest
from compare import outcome

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

# What chooses between constants, moves them beside others or adds them up: LLVM would do it to each of them beforehand.
PROGRAMS = """
np.exp(np.tril(np.ones((3, 3))) * 1000)
np.exp(np.triu(np.ones((3, 3))) * 1000)
np.exp(np.where(x>5,1000.,0.))
np.exp(np.where(x>0,1000.,0.))
np.exp((x>0)*1000.)
np.exp((x>5)*1000.)
1/np.where(x>0,0.,1.)
np.log((x>5)*1.0)
np.log(np.where(x>5,1.,0.))
np.sqrt(np.where(x>0,-1.,1.))
np.exp(np.concatenate([np.ones(2), np.zeros(2)])*1000)
np.exp(np.concatenate([np.ones(2)*1000, np.zeros(2)]))
np.exp(np.pad(np.ones(2)*1000, 1))
np.exp(np.eye(3)*1000)
np.exp(np.concatenate([np.ones(2)*1000, x]))
np.exp(np.eye(3)[::-1]*1000)
np.exp(np.arange(3)*1000)
np.exp(np.arange(3.)*1000)
np.exp(np.cumsum(np.ones(3))*1000)
np.log(np.tril(np.ones((3,3))))
1/np.tril(np.ones((3,3)))
1/np.eye(3)
np.exp(np.maximum(np.ones(3)*1000, np.zeros(3)))
np.exp(np.stack([np.ones(3), np.zeros(3)])*1000)
np.exp(np.repeat(np.array([0.,1000.]), 2))
np.exp(np.roll(np.array([0.,1000.]), 1))
np.exp(np.diag(np.ones(3))*1000)
np.exp(np.where(np.eye(3)>0,1000.,0.))
np.where(x>0, 1., 0.)/np.where(x>5, 1., 0.)
np.exp(np.select([x>0,x>1],[1000.,0.],5.))
np.tile(np.ones(3)*1000,2)**200
np.float32(1)*np.tril(np.full((3,3),1e30,'f4'))*np.float32(1e30)
np.exp(np.linspace(0,1000,5))
np.exp(np.ones((3,3)).cumsum(0)*1000)
np.exp(np.sort(np.array([1000.,2.])))
np.exp(np.zeros(3)+1000)
np.exp(np.flip(np.tril(np.ones((3,3))))*1000)
np.exp(np.vstack([np.ones(3)*1000, x]))
np.exp(np.meshgrid(np.arange(3.)*1000, x)[0])
np.exp(np.indices((2,2))*1000.)
np.exp(np.fromfunction(lambda i,j: i*1000.+j, (2,2)))
np.exp(np.vander(np.array([10.,2.]),4))
np.exp(np.kron(np.eye(2), np.ones(2))*1000)
np.exp(np.mgrid[0:2,0:2]*1000.)
np.cosh(np.isnan(x)*1000. + 900)
(np.isnan(x)-1.)**0.5
np.arange(4)//np.arange(4)
np.arange(4)%np.tri(4,dtype=int)[:,0][::-1]*0//np.zeros(4,int)
np.tril(np.ones((3,3),int))//np.triu(np.ones((3,3),int),1)
np.tril(np.full((3,3),300.)).astype('u1')
np.tril(np.full((3,3),np.nan)).astype(int)
np.tril(np.full((3,3),1e300)).astype('f4')
np.where(x>0, 1e300, 0.).astype('f4')
np.where(x>0, np.nan, 0.).astype(int)
np.where(x>0, np.float32(1e30), np.float32(0))*np.float32(1e30)
np.where(x>0, 1e300, 0.)*1e300
np.where(x>0, 1e300, x)*1e300
np.where(x>5, 1e300, 0.)*1e300
np.full(3,1e308).sum()
np.tril(np.full((3,3),1e308)).sum()
np.tril(np.full((3,3),1e308)).sum(0)
np.tril(np.full((3,3),1e308)).sum(1)
np.concatenate([np.full(3,1e308), x]).sum()
np.concatenate([np.full(3,1e308), x]).reshape(2,3).sum(1)
np.full(3,1e308).prod()
np.full(3,1e308).mean()
np.full(3,1e308).var()
np.full(3,1e308).cumsum()
np.tril(np.full((3,3),1e308)).cumsum(0)
np.tril(np.full((3,3),1e308)).cumprod(1)
np.full(3,1e200) @ np.full(3,1e200)
np.tril(np.full((3,3),1e200)) @ np.tril(np.full((3,3),1e200))
np.full((3,3),1e200) @ np.eye(3)*1e200
np.concatenate([np.full(3,1e308), x])*10
np.concatenate([np.full(3,1e308), x])*np.concatenate([np.full(3,10.), x])
np.concatenate([np.full(3,1e308), x]).astype('f4')
np.concatenate([np.full(3,-1.), x])**0.5
np.sqrt(np.concatenate([np.full(3,-1.), x]))
1/np.concatenate([np.zeros(3), x])
np.log(np.pad(x, 1))
1/np.pad(x, 1)
np.exp(np.pad(x, 1, constant_values=1000))
np.pad(x,1,constant_values=1e308)*10
np.arange(x.shape[0])*1e308
np.arange(x.shape[0])*np.float64(1e308)
(np.arange(x.shape[0])+1.)*1e308
1/np.arange(x.shape[0])
1./(np.arange(x.shape[0])-1)
np.log(np.arange(x.shape[0])*1.)
np.exp(np.arange(x.shape[0])*1000.)
np.exp(np.arange(x.shape[0]*100)*10.)
np.sum(np.exp(np.arange(x.shape[0])*1000.))
np.linspace(0,1000,x.shape[0])**200
(x>0)*1e308*10
(x>0)*np.float64(1e308)+(x>0)*np.float64(1e308)
(x>5)*np.float64(1e308)+(x>0)*np.float64(1e308)*10
np.sign(x)*1e308*10
np.sign(np.ones(3))*1e308*10
np.exp(np.maximum(x*0, 0)*0+1000)
np.exp(np.clip(x, 1000, 1000))
np.exp(np.clip(x, 1000, 1001))
np.exp(np.minimum(np.maximum(x, 1000), 1000))
np.hypot(np.tril(np.full((3,3),1e308)), np.tril(np.full((3,3),1e308)))
np.tril(np.full((3,3),1e308))+np.tril(np.full((3,3),1e308))
np.tril(np.full((3,3),np.inf))-np.tril(np.full((3,3),np.inf))
np.tril(np.full((3,3),np.inf))*np.triu(np.zeros((3,3)))
np.tril(np.full((3,3),np.inf))%1.
np.tril(np.full((3,3),1.))%0.
np.tril(np.full((3,3),1.))//0.
np.tril(np.full((3,3),1e5)).astype('f2')
np.tril(np.full((3,3),1e5,'f4'))*np.float16(3)
np.tril(np.full((3,3),6e4,'f2'))*np.float16(3)
np.tril(np.full((3,3),6e4,'f2'))+np.float16(6e4)
np.tril(np.full((3,3),1e308+1e308j))*10
np.tril(np.full((3,3),1e300+1e300j))**2
1/np.tril(np.full((3,3),1+1j))
abs(np.tril(np.full((3,3),1e308+1e308j)))*10
np.exp(np.tril(np.full((3,3),1000+1j)))
np.ldexp(np.tril(np.ones((3,3))), 5000)
np.ldexp(np.ones(3), 5000)
np.power(np.tril(np.full((3,3),10.)), 400)
np.power(np.tril(np.full((3,3),10.)), -400)
np.square(np.tril(np.full((3,3),1e200)))
np.reciprocal(np.tril(np.full((3,3),1e200)))
np.arctanh(np.tril(np.ones((3,3))))
np.nextafter(np.full(3,1.7976931348623157e308), np.inf)
np.spacing(np.tril(np.full((3,3),np.inf)))
np.logaddexp(np.tril(np.full((3,3),1e308)), 1e308)*3
np.fmod(np.tril(np.ones((3,3))), 0)
np.remainder(np.tril(np.ones((3,3))), np.zeros((3,3)))
np.floor_divide(np.tril(np.ones((3,3))), np.zeros((3,3)))
np.divmod(np.tril(np.ones((3,3))), np.zeros((3,3)))[0]
np.take(np.full(3,1e308), [0,1])*10
np.full(3,1e308)[x.astype(int)%3]*10
np.full((3,3),1e308)[x.astype(int)%3, 0]*10
np.select([x>0,x>1],[np.full(3,1e308),np.full(3,1e307)],1e306)*1e10
np.choose((x>0).astype(int), [np.full(3,1e308),np.full(3,1e307)])*1e10
np.sort(np.tril(np.full((3,3),1e308)))*10
np.tril(np.full((3,3),1e308)).max(0)*10
np.tril(np.full((3,3),1e308)).T*10
np.tril(np.full((3,3),1e308)).ravel()[::2]*10
np.roll(np.tril(np.full((3,3),1e308)),1)*10
np.einsum('ij,jk->ik', np.tril(np.full((3,3),1e200)), np.tril(np.full((3,3),1e200)))
np.outer(np.full(3,1e200), np.full(3,1e200))
np.convolve(np.full(3,1e200), np.full(3,1e200))
np.cross(np.full(3,1e200), np.arange(3.)*1e200)
np.trapezoid(np.full(3,1e308))
np.diff(np.array([1e308,-1e308]))
np.cumprod(np.full(3,1e200))
np.linalg.norm(np.full(3,1e200))
np.add.reduce(np.full(3,1e308))
np.add.accumulate(np.full(3,1e308))
np.multiply.outer(np.full(3,1e200), np.full(3,1e200))
np.average(np.full(3,1e308))
np.std(np.full(3,1e200))
np.cov(np.full((2,3),1e200))
np.nansum(np.full(3,1e308))
np.median(np.full(4,1.7e308))
np.interp(x, [0,1], [0,1e308])*10
"""


def warned(function):
    _, error, words = outcome(function, (np.ones(3),))
    assert error is None, error
    return words


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


@pytest.mark.parametrize("text", PROGRAMS.strip().split("\n"))
def test_choices(text):
    space = {"np": np}
    exec(f"def function(x):\n    return {text}\n", space)
    want, compiled = warned(space["function"]), frameloom.compile(space["function"])
    for _ in range(3):
        assert warned(compiled) == want
    assert not [row for row in compiled._report()["breaks"] or () if "COMPILER" in row]


# Integers that only a compiler finds to be zero, and what raises of them.
ZEROS = ["a ^ a", "a - a", "a & 0", "a * 0", "a % 1", "a < a", "a != a", "np.logical_xor(a, a)", "np.logical_and(a, False)", "np.minimum(a - a, 0)",
         "np.where(a > 5, 0, 0)", "np.clip(a, 0, 0)", "np.zeros_like(a)", "abs(a - a)", "-(a ^ a)", "(a ^ a).astype('i1')", "~(a ^ ~a)", "(a == a) * 0", "(a ^ a)[::-1]"]
OF_ZEROS = ["v / v", "1 / v", "v / 0.0", "np.log(v)", "np.sqrt(v - 1.5)", "v // v", "v % v", "(v * 1.0) / (v * 2.0)", "np.arctanh(v + 1.0)", "v ** -1.0",
            "np.float32(0) / (v.astype('f4'))", "np.exp(v + 1e5)", "(v + 1e308) * 1e308", "np.log1p(v - 1.0)", "(v + np.inf) - (v + np.inf)", "(v + np.inf) * v",
            "(v + 1e300).astype('i4')", "np.fmod(v * 1., v)", "np.arccos(v + 3.)", "(v + 1e300).astype('f4')", "np.hypot(v + 1e308, v + 1e308)",
            "np.copysign(v, a) / np.copysign(v, a)", "np.nextafter(v + 1.7976931348623157e308, np.inf)"]


@pytest.mark.parametrize("share", range(6))
def test_what_integers_hide(share):
    cases = [case for case in itertools.product(("i4", "u8", "i1"), ZEROS, OF_ZEROS, ("made", "1"))]
    for dtype, zero, made, result in random.Random(share).sample(cases, 150):
        source = f"def program(a):\n    v = {zero}\n    made = {made}\n    return {result}\n"
        space = {"np": np}
        exec(source, space)
        a, compiled = np.arange(9).reshape(3, 3).astype(dtype), frameloom.compile(space["program"])
        want = outcome(space["program"], (a,))
        for _ in range(2):
            assert outcome(compiled, (a,))[2] == want[2], (source, dtype)
