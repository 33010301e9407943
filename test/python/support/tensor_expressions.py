"""Expressions and statements of torch tensors, most of them taken by few programs and many refused: each is a program of its own that catches
what is raised, run compiled and by eager torch. Results, what became of the arguments, the words of errors, and numbers drawn are the same.

    python tensor_expressions.py [STEP [FIRST]]

Runs each STEP-th program from the FIRST on, prints what differs, and ends with 1 if anything does.
"""

import math
import re
import sys
import warnings

import numpy as np
import torch

import frameloom

# fmt: off
EXPRESSIONS = """
float(x); int(x); bool(x); x.item(); bool(s); int(n[1]); int(n[2]); float(c[0]); complex(c[0]); len(s); list(s); iter(s); list(x); len(e)
list(e); [r.sum() for r in x]; x in [x]; x==None; None==x; x!=None; x is None; hash(x)==hash(x); {x:1}[x]; x==[1]; x.eq(x).all()
torch.equal(x,x); f"{s}"; f"{s:.3f}"; f"{k:d}"; f"{x:.2f}"; str(k); repr(s); "%s"%k; "%d"%k; "%f"%s; format(s,".1f"); [1,2,3,4][k]; range(k)
list(range(k)); [1]*k; "a"*k; k.__index__(); s.__index__(); b[0,0].__index__(); x[k]; x[s]; x[0,k-1]; x[...,None,0]; x[None]; x[::-1]; x[::2]
x[:, ::2]; x[5]; x[0,5]; x[0,0,0]; x[-3]; x[[0,1],[1,2]]; x[[True,False]]; x[torch.tensor([True,False])]; x[torch.tensor([True])]; x[b]; x[i]
x[i.abs()%2]; x[:,[0,0]]; x["a"]; x[1.5]; x[None,...,...]; x[b,0]; x[np.int64(1)]; x[np.array([0,1])]; x[:,np.array([True,False,True])]
x[0:1,torch.tensor(1)]; x[True]; x[False]; x[k>2]; s[()]; s[...]; s[0]; s[None]; x+i; x+b; x+True; x+1; x+1.5; x+2j; x+c[0]; i+1.5; i+True; i/2
i//2; i%3; i//0; i%0; i/0; i//-2; i%-3; x//0; x%0; x//2; x%-2; b+b; b-b; b*b; ~b; -b; b&b; b|True; b^1; b<<1; x&x; x<<1; i<<1; i>>1; i&3; i|1.0
~i; ~x; -u; u+u; u-201; u*2; u+300; u+(-1); u//2; u/2; u**2; i**2; i**-1; i**0.5; x**2; x**0.5; x**-1; 2**i; 2**x; 2.0**i; True**x; x**b; b**b
0**i; i**i; x@x; x@x.T; x@x[0]; x[0]@x[0]; s@s; i@i.T; b@b.T; x@i.T; x.dot(x); x.mm(x); x+e; e+e; e.sum(); e.mean(); e.max(); e.argmax()
e.prod(); e.min(0); e.sum(0); e.sum(1); e.var(); e.std(0); e.median(); e.any(); e.all(); x.max(1); x.max(2); x.sum(-3); x.sum((0,1))
x.sum((0,0)); x.mean(dtype=torch.int32); i.mean(); i.float().mean(); b.sum(); b.mean(); u.sum(); u.prod(); h.sum(); h.mean(); i.var()
x.argmax(dim=1); i.max(); b.max(); c.max(); c.sum(); c.abs(); c.angle(); c<c; c.real; c.imag; x.imag; x.real is x; torch.view_as_real(c)
c.conj(); c.conj().is_conj(); c.conj()+1; c.mH; n.max(); n.min(); n.argmax(); n.sum(); n.nansum(); n.sort(); n.isnan(); n.isinf(); n.clamp(0,1)
n.clamp(min=n); n.sign(); n.abs(); n.long(); n.int(); n.bool(); n.to(torch.uint8); n.round(); n.floor(); n.relu(); n.softmax(0); n.nan_to_num()
n==n; n<0; n.maximum(s); n.fmax(s); n.median(); n.nanmedian(); n.unique(); n.cumsum(0); n.logsumexp(0); n.argsort(); n.topk(2); n.topk(9)
n.kthvalue(1); n.msort(); torch.signbit(n); n.copysign(s); n.exp(); n.log(); n.sqrt(); n.pow(2); 1/n; n//1; n%1; torch.fmod(n,2)
torch.remainder(n,2); n.clamp(2,1); torch.clamp(i,0.5,2); torch.clamp(i,0,2); x.reshape(7); x.reshape(-1,-1); x.reshape(-1,4); x.view(3,2)
t.view(-1); t.reshape(-1); t.flatten(); t.contiguous().view(-1); x.T.view(-1); x.expand(2,2,3); x.expand(3,3); x.expand(-1,-1); s.expand(3)
x.repeat(2); x.repeat(2,1); x.tile(2); x.squeeze(0); x.unsqueeze(5); x.permute(0,0); x.permute(1,0); x.transpose(0,2); x.T; x.mT; x[0].T
x[0].mT; s.T; x.t(); x[None].t(); x.flip(0); x.flip((0,0)); x.roll(1); x.roll(1,5); x.rot90(); x.split(2); x.split([1,1],0); x.split([1,2],0)
x.chunk(5,1); x.tensor_split(2,1); x.unbind(1); x.diag(); x.tril(); x.triu(1); x.diagonal(offset=5); x.narrow(1,1,5); x.narrow(1,-1,1)
x.select(1,-1); x.index_select(1,k[None]); x.index_select(1,k[None]-1); x.gather(1,i); x.gather(1,i.abs()%3); x.take(i); x.take(i%6)
x.masked_fill(b,9); x.masked_fill(b,s); x.masked_fill(b,x); x.masked_select(b); x.scatter(1,i.abs()%3,1.); x.scatter_add(1,i.abs()%3,x)
x.index_add(0,torch.tensor([0,0]),x); x.index_fill(0,torch.tensor([0]),7); x.index_copy(0,torch.tensor([1,0]),x)
x.put(torch.tensor([0]),torch.tensor([9.])); torch.where(b,x,i); torch.where(b,x,1); torch.where(b,1,2); torch.where(b,1.0,2)
torch.where(x,1,2); torch.cat([x,i]); torch.cat([x,x[0]]); torch.cat([x,e]); torch.cat([]); torch.cat([x,x],-1); torch.cat([x,torch.zeros(0)])
torch.stack([x,i]); torch.stack([x,x],-1); torch.stack([]); torch.hstack([s,s]); torch.vstack([x,x[0]]); torch.block_diag(x,s)
torch.cartesian_prod(x[0],x[1]); torch.meshgrid(x[0],x[1],indexing="ij"); torch.broadcast_tensors(x,s); torch.einsum("ij,kj->ik",x,x)
torch.einsum("ij,jk",x,x); torch.einsum("ii",x); torch.tensordot(x,x,2); torch.outer(x[0],x[1]); torch.kron(x,x); torch.cross(x,x)
torch.cdist(x,x); torch.trace(x); torch.det(x); torch.linalg.norm(x); torch.linalg.inv(x); torch.linalg.inv(x@x.T); torch.linalg.solve(x@x.T,x)
torch.linalg.eigh(x@x.T).eigenvalues; torch.linalg.cholesky(-x@x.T); torch.linalg.matrix_rank(x); torch.arange(0,1,0.3); torch.arange(5,0)
torch.arange(0,5,-1); torch.arange(k); torch.arange(s); torch.linspace(0,1,k); torch.full((2,),k); torch.full((2,),s); torch.full((2,),True)
torch.full((2,),1); torch.full((2,),2.); torch.zeros(k); torch.zeros(2,k); torch.ones(x.shape); torch.eye(k); torch.tensor(x)
torch.tensor([s,k]); torch.tensor([1,2.5]); torch.tensor([True,2]); torch.tensor([[1],[2,3]]); torch.tensor(np.arange(3)); torch.tensor(2**40)
torch.tensor(2**70); torch.tensor("a"); torch.tensor(None); torch.tensor([]); torch.as_tensor(np.float32(1)); torch.as_tensor([x[0,0],2])
torch.empty(0).shape; torch.zeros_like(i,dtype=torch.float); torch.zeros(-1); torch.finfo(x.dtype).max; x.new_zeros(2); x.new_tensor([1])
x.type(torch.int); x.to(i); x.to("cpu"); x.to(torch.complex64); c.to(torch.float32); x.double().dtype; h+x; h+1.0; h*s; h@h; h.sum().dtype
x.dtype.is_floating_point; x.size(5); x.size(); x.stride(); x.shape[2]; x.shape[-1]; x.numel(); x.ndim; x.nbytes; x.tolist(); s.tolist()
e.tolist(); b.tolist(); h.tolist(); x.numpy(); g.numpy(); g.detach().numpy(); np.asarray(x); np.sum(x); np.sin(x); x.numpy()+x; np.float32(2)*x
np.array([1.,2.,3.])*x; x*np.float64(2); x+np.array([1.,2.,3.]); x*np.int64(2); np.int64(2)*x; x.sum()+np.float64(1); g.sum(); g*2
(g*2).requires_grad; g.grad; g.backward(); (g*2).sum().backward() or g.grad; torch.autograd.grad((g*g).sum(),g); torch.autograd.grad(g.sum(),x)
g.add_(1); g.detach().add_(1); g.data.add_(1) is None; g.requires_grad_(False); g.is_leaf; x.requires_grad_().requires_grad; i.requires_grad_()
x.grad_fn; (g*2).grad_fn is None; g.clone().is_leaf; x.add_(i); i.add_(x); i.add_(1.5); i.mul_(2); i.div_(2); i.floor_divide_(2); b.add_(1)
x.mul_(b); u.add_(300); x.copy_(i); i.copy_(x); x.fill_(i[0,0]); x.fill_(x); x.zero_(); x.expand(2,2,3).add_(1); x[0].expand(2,3).add_(1)
x.T.add_(1); t.add_(1); x.clamp_(0,1); x.t_(); x.squeeze_(); x.unsqueeze_(0); x.resize_(3,2); x.sub_(x); x.sub_(x.T); x.pow_(2); i.pow_(-1)
x.masked_fill_(b,0); x.index_add_(0,torch.tensor([0,5]),x); x.swapaxes(0,1); x.bernoulli_(0.5); torch.rand(2); torch.randint(0,3,(2,))
torch.randperm(4); torch.randn(2,dtype=torch.float64); x.random_(3); torch.bernoulli(x); torch.multinomial(x.abs(),1); torch.normal(0.,1.,(2,))
torch.add(x,x,alpha=2); torch.add(i,i,alpha=1.5); torch.add(x,1,out=x); torch.sum(x,0,out=torch.empty(3)); torch.sum(x,0,out=torch.empty(2))
torch.sum(x,0,out=torch.empty(3,dtype=torch.int)); torch.mm(x,x.T,out=torch.empty(2,2)); torch.relu(i); torch.sigmoid(i); torch.sqrt(i)
torch.exp(b); torch.sin(u); torch.floor(i); torch.round(s,decimals=1); torch.trunc(x); torch.logical_not(x); torch.logical_and(x,i)
torch.bitwise_and(x,x); torch.bincount(i); torch.bincount(i.abs().flatten()); torch.histc(x,3); torch.histogram(x,3)
torch.searchsorted(x[0],x[1]); torch.bucketize(x,x[0]); torch.unique(i,return_counts=True); torch.nonzero(x); torch.count_nonzero(x)
torch.isin(i,k); torch.isclose(x,x); torch.allclose(x,i); torch.allclose(x,i.float()); torch.lerp(x,x,0.5); torch.lerp(x,i,0.5)
torch.addmm(x,x,x.T); torch.bmm(x[None],x.T[None]); torch.baddbmm(s,x[None],x.T[None]); torch.cumprod(x,1); torch.cummax(x,1); torch.diff(x)
torch.gradient(x[0]); torch.trapz(x); torch.quantile(x,0.5); torch.quantile(x,2.); torch.std_mean(x); torch.var(x,correction=7)
torch.aminmax(x); torch.renorm(x,2,0,1.); torch.nn.functional.softmax(i,0); torch.nn.functional.relu(x,inplace=True)
torch.nn.functional.one_hot(i); torch.nn.functional.one_hot(i.abs()); torch.nn.functional.pad(x,(1,1)); torch.nn.functional.pad(x,(1,1,1))
torch.nn.functional.cross_entropy(x,torch.tensor([0,5])); torch.nn.functional.cross_entropy(x,torch.tensor([0,2]))
torch.nn.functional.nll_loss(x,torch.tensor([0,-100])); torch.nn.functional.embedding(i,x); torch.nn.functional.embedding(i.abs()%2,x)
torch.nn.functional.linear(x,x); torch.nn.functional.linear(x,x.T); torch.nn.functional.dropout(x,1.5); torch.nn.functional.dropout(x,0.5)
torch.nn.functional.interpolate(x[None],4); torch.nn.functional.conv1d(x[None],x[None]); torch.nn.functional.layer_norm(x,(3,))
torch.nn.functional.layer_norm(x,(2,)); torch.nn.functional.normalize(x); torch.nn.functional.mse_loss(x,x[0]); torch.nn.functional.gelu(i)
torch.nn.functional.avg_pool1d(x[None],2); torch.nn.functional.max_pool1d(x[None],5); torch.nn.functional.cosine_similarity(x,x)
torch.nn.functional.kl_div(x,x); torch.nn.functional.glu(x); torch.nn.functional.unfold(x[None,None],2); x.apply_(lambda v:v+1)
x.map_(x,lambda a,b:a+b); x.storage_offset(); x[1].storage_offset(); x.is_contiguous(); t.is_contiguous(); t.stride(); x.view(torch.int32)
x.view(torch.float64); u.view(torch.int8); x.element_size(); x.untyped_storage().nbytes(); x.__class__; type(x); x.__len__(); x.__contains__(1.)
1. in x; 5 in i; x.any() and 3; x.sum() or 4; not s; not e; 1 if s>2 else 2; s and x; max(s,k); min(s,1); max(x); sum(x); sum([s,k])
sorted([s,k]); abs(x); round(s); round(x,1); divmod(i,2); pow(x,2); pow(2,k); math.sqrt(s); math.floor(s); math.ceil(s); math.isnan(s); int(k)
float(k); any(x); all(b[0]); all(b); any(b); list(zip(x,i)); list(enumerate(x)); [*x]; tuple(x[0]); dict(a=x)["a"]; set([k]).__len__(); x.foo
x.shape.foo; x(1); x.sum(5); x.sum("a"); x.sum(dim=None); x.sum(axis=0); x.sum(dim=0,keepdims=True); x.sum(0,True); x.add(); x.add(1,2,3)
torch.add(x); torch.foo; x+"a"; x+[1]; x+(1,2,3); x+None; x*{}; "a"+x; [1]+x; (1,)+x; x<"a"; x=="a"; x<None; x@1; x@[1]; -s; +x; +b
x.__add__(1); x.__radd__(1); x.__rsub__(1); x.__rpow__(2); x.__rmatmul__(x); x.__rfloordiv__(7); x.__rmod__(7); i.__rlshift__(1); x.__and__(x)
x.__invert__(); x.__neg__(); x.__eq__(1); x.__bool__(); s.__int__(); x.__getitem__(0); x.__setitem__(0,5); x.__iadd__(1); i.__itruediv__(2)
x.__array__(); x.__reduce_ex__(2)[0].__name__; x.__deepcopy__({}); x.__format__(""); x.__dir__()[:0]; x.__module__
"""
STATEMENTS = r"""
x[0]=5; r=x
x[0,0]=s; r=x
x[b]=1; r=x
x[b]=x[b]*2; r=x
x[i]=1; r=x
x[:,1]=i[:,0]; r=x
x[0]=x[1]; r=x
x[0]=x; r=x
x[0]=[1,2,3]; r=x
x[0]=np.array([1.,2.,3.]); r=x
x[0]=None; r=x
x[0]="a"; r=x
x[5]=1; r=x
x[[0,0]]+=1; r=x
x[...]=i; r=x
i[0]=2.7; r=i
i[0]=x[0]; r=i
b[0]=2; r=b
u[0]=300; r=u
u[0]=-1; r=u
i[0,0]=2**70; r=i
i[0,0]=float("nan"); r=i
x[k]=1; r=x
x[k-2]=1; r=x
x[True]=1; r=x
x[None]=1; r=x
s[()]=1; r=s
s[0]=1; r=s
del x[0]; r=x
x+=1; r=x
x+=i; r=x
i+=x; r=i
i/=2; r=i
x+=x.T; r=x
x+=x[0]; r=x
x@=x.T; r=x
x//=2; r=x
x**=2; r=x
x%=2; r=x
i<<=1; r=i
b&=True; r=b
b|=b.T; r=b
e+=1; r=e
g+=1; r=g
g[0]=1; r=g
y=g*1; y[0]=5; y.sum().backward(); r=g.grad
y=x[0]; y+=1; r=x,y
y=x.view(-1); y[0]=9; x[1]=y[0]; r=x,y
y=x.expand(2,2,3); y[0,0,0]=5; r=x
y=x.T; x[0]=7; r=y
y=x.reshape(3,2); y.add_(x.view(3,2)); r=x
y=x.detach(); y.zero_(); r=x
x.data=i; r=x
x.data=torch.zeros(2); r=x
x.grad=x; r=x.grad is x
x.foo=3; r=x.foo
x.requires_grad=True; r=x.requires_grad
i.requires_grad=True; r=0
x.shape=(3,2); r=x
x.real=i; r=x
c.imag=1; r=c
c[0]=5; r=c
c.real[0]=9; r=c
a,bb=x; r=a,bb
a,*q=x; r=a,q
a,bb=s; r=a
a,bb,cc=x; r=a
r=[]\n        for v in s: r.append(v)
r=[]\n        for j,v in enumerate(x): r.append(v*j)
while s<10: s=s*2; r=s
r=0\n        while x.sum()>r: r+=1
assert x; r=1
assert s; r=1
assert x.sum()>100,"msg"; r=1
r=x; r+=x; x+=r
with torch.no_grad(): r=(g*2).requires_grad
with torch.enable_grad(): r=(g*2).requires_grad
with torch.inference_mode(): r=x*2\n        r=r.is_inference()
with torch.autograd.set_detect_anomaly(True): r=g*2
r=torch.zeros(3); r[1:]=x[0,:2]; r[torch.tensor([0])]=4
r=torch.empty(3).fill_(2); r=r.mul_(r)
r=(lambda *a,**k:(a,k))(*x,**{"q":s})
r=[x[q] for q in range(2)]; r=torch.stack(r)
y=x.clone(); y.resize_(2,2); r=y
y=torch.zeros(2,0); r=y.sum(1),y.prod(1),y.mean(1)
y=x.to_sparse(); r=y.to_dense()
r=torch.nn.Linear(3,2)(x).shape
p=torch.nn.Parameter(x); r=p.requires_grad,type(p).__name__
p=torch.nn.Parameter(i); r=p
r=torch.nn.Parameter(x,requires_grad=False)
m=torch.nn.ReLU(); m.train(False); r=m(x),m.training
hk=g.register_hook(lambda gr:gr*3); (g*2).sum().backward(); r=g.grad; hk.remove()
"""
# With each of NUMBERS for V.
OF_NUMBERS = """
i.fill_(V); torch.full_like(i,V); torch.full((2,),V,dtype=torch.int); torch.full((2,),V,dtype=torch.uint8); i.masked_fill(b,V); i.clamp(max=V)
torch.where(b,i,V); i.index_fill(0,torch.tensor([0]),V); torch.add(i,i,alpha=V); i.scatter(1,i.abs()%3,V)
torch.nn.functional.pad(i,(1,1),value=V); torch.scalar_tensor(V,dtype=torch.int); i.new_full((2,),V); i.fill_diagonal_(V)
torch.addcmul(i,i,i,value=V); torch.tensor(V,dtype=torch.int64); torch.tensor([V],dtype=torch.uint8); i.masked_fill_(b,V); u.fill_(V)
h.fill_(V); x.fill_(V); b.fill_(V); torch.full_like(h,V); torch.full_like(u,V); x.masked_fill(b,V); h.masked_fill(h>1,V); u.masked_fill(u>1,V)
i.add_(V); u.add_(V); u+V; u*V; i+V; i*V; i//V; i%V; i==V; u<V; i.eq(V); i.pow(V); u.clamp(0,V); torch.full((2,),V); torch.full((2,),V).dtype
i.new_tensor(V); i.new_tensor([V]); x.new_tensor(V); torch.zeros(2,dtype=torch.int8)+V; torch.zeros(2,dtype=torch.int8).fill_(V); i.char().eq(V)
torch.maximum(i,torch.tensor(V)); torch.bitwise_and(i,int(V)); u.bitwise_or(int(V)) if V==V and abs(V)<1e300 else 0; torch.fill(x,x)
torch.fill(i,V); torch.fill(x,s); x.fill_(x[0]); x.fill_(s); x.fill_(x[0,0]); torch.remainder(i,V); torch.fmod(u,V); torch.floor_divide(u,V)
torch.sub(u,V); torch.rsub(u,V); torch.hypot(x,torch.tensor(V)); torch.lerp(x,x,V); torch.addmm(x,x,x.T,beta=V); torch.threshold(i,0,V)
torch.nn.functional.threshold(x,0,V); torch.nn.functional.hardtanh(i,-1,V); torch.nn.functional.leaky_relu(x,V); torch.clamp_min(u,V)
torch.nn.functional.softplus(x,V); torch.cumsum(i,int(V)) if V==V and abs(V)<1e300 else 0; torch.heaviside(x,torch.tensor(float(V)))
torch.full((2,),V,dtype=torch.bool); torch.full((2,),V,dtype=torch.float16); x.to(torch.int); (x*V).to(torch.int8); (x+V).to(torch.uint8)
torch.tensor(V).to(torch.uint8); torch.tensor(float(V)).int()
"""
STATEMENTS_OF_NUMBERS = """
i[0,0]=V; r=i
i[0]=V; r=i
i[b]=V; r=i
u[0]=V; r=u
u[u>3]=V; r=u
b[0]=V; r=b
h[0]=V; r=h
x[0]=V; r=x
x[b]=V; r=x
i[:]=V; r=i
i[...,1]=V; r=i
i[[0,1],[1,2]]=V; r=i
"""
NUMBERS = ("float('nan')", "float('inf')", "1e30", "300", "-1", "2**63", "1.5", "1j", "True", "-2.7")
# fmt: on


def arguments():
    torch.manual_seed(5)
    return {
        "x": torch.arange(6.0).reshape(2, 3) - 2, "i": torch.tensor([[3, -2, 0], [1, 5, -7]]), "s": torch.tensor(2.5), "k": torch.tensor(3),
        "b": torch.tensor([[True, False, True], [False, True, True]]), "e": torch.zeros(0, 3), "c": torch.tensor([1 + 2j, -3j]),
        "n": torch.tensor([1.0, float("nan"), float("inf"), -float("inf"), -0.0, 0.0]), "u": torch.tensor([0, 200, 255], dtype=torch.uint8),
        "h": torch.arange(4.0).half(), "t": torch.arange(12.0).reshape(3, 4).t()[1:], "g": torch.arange(3.0).requires_grad_()}


def programs():
    def split(text):
        return [f"r = {one.strip()}" for one in text.replace("\n", ";").split(";") if one.strip()]

    texts = split(EXPRESSIONS) + STATEMENTS.strip().split("\n")
    of_numbers = split(OF_NUMBERS) + STATEMENTS_OF_NUMBERS.strip().split("\n")
    return texts + [re.sub(r"\bV\b", number, text) for number in NUMBERS for text in of_numbers]


def function(text):
    text = text.replace("\\n", "\n")
    space = {"torch": torch, "np": np, "math": math}
    exec(f"def f({', '.join(arguments())}):\n    try:\n        {text}\n    except Exception as error:\n"
         "        r = type(error).__name__, str(error)\n    return r\n", space)
    return space["f"]


def shown(value):
    if isinstance(value, torch.Tensor) and value.layout == torch.strided:
        strides = value.stride() if value.numel() > 1 else ""
        return f"{type(value).__name__}({value.dtype}, {tuple(value.shape)}, {strides}, {value.requires_grad}, {value.detach().tolist()})"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}[{', '.join(map(shown, value))}]"
    return re.sub(r"0x[0-9a-f]+", "0x", repr(value))


NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")


def is_near(got, want):
    """Words are the same, numbers in them near each other."""
    if NUMBER.sub("#", got) != NUMBER.sub("#", want):
        return False
    pairs = zip(NUMBER.findall(got), NUMBER.findall(want), strict=True)
    return all(g == w or abs(float(g) - float(w)) <= 1e-5 * max(abs(float(w)), 1e-3) for g, w in pairs)


def outcome(called):
    given = arguments()
    try:
        result = shown(called(**given))
    except BaseException as error:  # what no clause of the program catches
        result = f"raised {type(error).__name__}: {error}"
    return result, shown(list(given.values())), shown(torch.rand(2))


def differences(text):
    """Of one program: what the first call or the second gives otherwise than eager torch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = function(text)
        compiled, want = frameloom.compile(plain), outcome(plain)
        for _ in range(2):
            got = outcome(compiled)
            different = [f"{g}\n   not\n   {w}" for g, w in zip(got, want) if not is_near(g, w)]
            if different:
                return [f"{text}:\n   " + "\n   ".join(different)]
    return []


def main():
    step, first = [*map(int, sys.argv[1:]), 1, 0][:2] if len(sys.argv) != 2 else (int(sys.argv[1]), 0)
    chosen, wrong = programs()[first::step], 0
    for text in chosen:
        for words in differences(text):
            wrong += 1
            print(words[:1500], flush=True)
    print(f"{wrong} of {len(chosen)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
