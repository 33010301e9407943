"""torch.func inside of compiled functions: results, gradients of them, levels inside of levels and of vmap, what breaks."""

import pytest
import tensor_programs
import torch
from reports import break_codes
from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap
from torch.utils import _pytree

import frameloom

MADE = torch.Generator().manual_seed(0)
W, ROWS = torch.randn(3, 3, generator=MADE), torch.randn(5, 3, generator=MADE)
torch.manual_seed(0)
LAYER = torch.nn.Linear(3, 2)
LOG = []


def scalar(x):
    return (x.sin() * x).sum()


def vector(x):
    return x.sin() * x[0]


def of_two(x, y):
    return x * y, {"sum": y.sum()}


def logged(x):
    LOG.append(len(LOG))
    return scalar(x)


def per_sample(x):
    parameters = {name: one.detach() for name, one in LAYER.named_parameters()}

    def loss(parameters, row):
        return functional_call(LAYER, parameters, (row,)).pow(2).sum()

    return vmap(grad(loss), in_dims=(None, 0))(parameters, ROWS * x)


def pulled(x):
    outputs, pull = vjp(lambda a, b: a @ W + b.exp(), x, x)
    return outputs, pull(outputs * 2)


def loops(x):
    def total(a):
        found = 0
        for k in range(3):
            found = found + (a * k).cos().sum()
        return found

    return grad(total)(x)


def without(x):
    with torch.no_grad():
        return grad(scalar)(x), vjp(vector, x)[0], jvp(vector, (x,), (x,))


def quiet_inside(x):
    def function(a):
        with torch.no_grad():
            b = a**2
        return (a - b).sum()

    return grad(function)(x)


def trained(x):
    made = grad(lambda a: LAYER(a).square().sum())(x)
    made.square().sum().backward()
    found = LAYER.weight.grad
    LAYER.weight.grad = LAYER.bias.grad = None
    return found


CALLS = {
    "grad": lambda x: grad(scalar)(x),
    "grad of grad": lambda x: grad(lambda a: grad(scalar)(a).pow(2).sum())(x),
    "three levels": lambda x: grad(lambda a: grad(lambda b: (grad(scalar)(b) * b).sum())(a).sum())(x),
    "value": lambda x: grad_and_value(scalar)(x),
    "has_aux": lambda x: grad(lambda a: (scalar(a), (a * 2, {"k": a.sum()})), has_aux=True)(x),
    "value and aux": lambda x: grad_and_value(lambda a: (scalar(a), a.exp()), has_aux=True)(x),
    "argnums": lambda x: grad(lambda a, b: (a @ W * b).sum(), argnums=(0, 1))(x, x * 2),
    "the last argument": lambda x: grad(lambda a, b: (a @ W * b).sum(), argnums=-1)(x, x * 2),
    "keyword": lambda x: grad(lambda a, scale: (a * scale).sin().sum())(x, scale=W[0]),
    "tree": lambda x: grad(lambda d: (d["a"] * d["b"][0]).sum())({"a": x, "b": [x * 3]}),
    "closure": lambda x: grad(lambda a: (a * x).sum())(x * 2),
    "unused": lambda x: grad(lambda a: (x * 2).sum())(x),
    "constant": lambda x: grad(lambda a: torch.ones(()))(x),
    "function of torch": lambda x: grad(torch.sum)(x),
    "module": lambda x: grad(lambda a: LAYER(a).sum() ** 2)(x),
    "writes": lambda x: grad(lambda a: a.clone().mul_(a).add_(1).sum())(x),
    "loop": loops,
    "side effect": lambda x: (grad(logged)(x), len(LOG)),
    "no_grad around": without,
    "no_grad inside": quiet_inside,
    "vjp": lambda x: vjp(vector, x)[1](torch.ones(3)),
    "vjp of two": pulled,
    "vjp, twice": lambda x: (lambda pull: (pull(x)[0], pull(x * 2)[0]))(vjp(vector, x)[1]),
    "vjp with aux": lambda x: (lambda out, pull, aux: (out, pull(out), aux))(*vjp(lambda a: (vector(a), a * 2), x, has_aux=True)),
    "vjp, a view": lambda x: vjp(lambda a: a.view(3, 1), x)[0],
    "vjp, the argument": lambda x: vjp(lambda a: a, x)[0],
    "jvp": lambda x: jvp(vector, (x,), (x * 2,)),
    "jvp of two": lambda x: jvp(of_two, (x, x.cos()), (x * 2, x)),
    "jvp with aux": lambda x: jvp(lambda a: (vector(a), a * 3), (x,), (x * 2,), has_aux=True),
    "jvp of jvp": lambda x: jvp(lambda a: jvp(vector, (a,), (a * 3,))[1], (x,), (x,)),
    "jvp of grad": lambda x: jvp(grad(scalar), (x,), (x * 2,)),
    "jacrev": lambda x: jacrev(vector)(x),
    "jacrev, two": lambda x: jacrev(of_two, argnums=(0, 1))(x, x),
    "jacrev, chunks": lambda x: jacrev(vector, chunk_size=2)(x),
    "jacfwd": lambda x: jacfwd(vector)(x),
    "jacfwd, two": lambda x: jacfwd(of_two, argnums=(0, 1))(x, x),
    "jacfwd with aux": lambda x: jacfwd(lambda a: (vector(a), a.sum()), has_aux=True)(x),
    "hessian": lambda x: hessian(lambda a: (a**3).sum() * a[0])(x),
    "jacrev of jacrev": lambda x: jacrev(jacrev(scalar))(x),
    "jacfwd of jacfwd": lambda x: jacfwd(jacfwd(scalar))(x),
    "vmap of grad": lambda x: vmap(grad(scalar))(ROWS * x),
    "vmap of grad, shared": lambda x: vmap(grad(lambda w, a: (w @ a).tanh().sum()), in_dims=(None, 0))(W * x, ROWS),
    "vmap, other axes": lambda x: vmap(grad(lambda w, a: (w * a).tanh().sum()), in_dims=(1, 0), out_dims=1)(W * x, W),
    "grad of vmap": lambda x: grad(lambda a: vmap(scalar)(ROWS * a).sum())(x),
    "vmap of vmap of grad": lambda x: vmap(vmap(grad(scalar)))(torch.stack([ROWS, ROWS * 2]) * x),
    "vmap of hessian": lambda x: vmap(hessian(scalar))(ROWS * x),
    "vmap of jacfwd": lambda x: vmap(jacfwd(vector))(ROWS * x),
    "vmap of jvp": lambda x: vmap(lambda a: jvp(vector, (x,), (a,)))(ROWS),
    "vmap of a pullback": lambda x: vmap(vjp(vector, x)[1])(ROWS),
    "per sample": per_sample,
}


@pytest.mark.parametrize("requires", [False, True], ids=["plain", "gradients"])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_captured(name, requires):
    x = torch.tensor([0.6, -0.2, 1.3]).requires_grad_(requires)
    told = []
    for call in (CALLS[name], frameloom.compile(CALLS[name], fullgraph=True)):
        LOG.clear()
        made = call(x)
        tensors = [one for one in _pytree.tree_leaves(made) if isinstance(one, torch.Tensor)]
        facts = [(one.requires_grad, one.data_ptr() == x.data_ptr(), one.shape) for one in tensors]
        recorded = [one.square().sum() for one in tensors if one.requires_grad]
        gradients = torch.autograd.grad(recorded, x, allow_unused=True) if recorded and requires else ()
        told.append((facts, made, [one for one in gradients if one is not None]))
    assert told[1][0] == told[0][0]
    torch.testing.assert_close(told[1][1:], told[0][1:])


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.complex64], ids=str)
def test_dtypes(dtype):
    x = (ROWS[0] + 1).to(dtype)

    def function(x):
        pull = vjp(lambda a: (a * a).cumsum(0), x)[1]
        return pull(x), jvp(lambda a: a * a * 2, (x,), (x,)), vmap(vjp(lambda a: a * a, x)[1])(torch.stack([x, x]))

    torch.testing.assert_close(frameloom.compile(function, fullgraph=True)(x), function(x))


def test_derivatives_of_the_result():
    def function(x):
        return jacrev(lambda a: a.exp() * x)(x * 2)

    results = []
    for call in (function, frameloom.compile(function, fullgraph=True)):
        x = ROWS[0].clone().requires_grad_()
        value = call(x)
        first = torch.autograd.grad(value.square().sum(), x, create_graph=True)
        results.append((value, first, torch.autograd.grad(first[0].square().sum(), x)))
    torch.testing.assert_close(results[1], results[0])


def test_a_gradient_is_a_part_of_a_loss():
    torch.testing.assert_close(frameloom.compile(trained, fullgraph=True)(ROWS), trained(ROWS))


def test_a_derivative_is_compiled():
    compiled = frameloom.compile(torch.func.grad(scalar), fullgraph=True)
    for rows in (5, 3, 1):
        torch.testing.assert_close(compiled(ROWS[:rows]), grad(scalar)(ROWS[:rows]))


SCALE = 2.0


def test_what_the_function_reads_is_guarded(monkeypatch):
    compiled = frameloom.compile(lambda x: grad(lambda a: (a * SCALE).sum())(x), fullgraph=True)
    for number in (2.0, 3.0, 4.5):
        monkeypatch.setitem(globals(), "SCALE", number)
        torch.testing.assert_close(compiled(ROWS), torch.full_like(ROWS, number))


# ---- what breaks ----


def test_a_parameter_as_aux_is_itself():
    function = lambda x: grad(lambda a: (a.sum(), LAYER.weight), has_aux=True)(x)[1]  # noqa: E731
    compiled = frameloom.compile(function, fullgraph=True)
    assert compiled(ROWS).requires_grad
    assert compiled(ROWS).data_ptr() == LAYER.weight.data_ptr()
    with torch.no_grad():
        assert compiled(ROWS).requires_grad == function(ROWS).requires_grad


def test_inference_mode():
    function = lambda x: grad(scalar)(x)  # noqa: E731
    with torch.inference_mode():
        made, expected = frameloom.compile(function)(ROWS), function(ROWS)
        assert made.is_inference() == expected.is_inference()
        torch.testing.assert_close(made, expected)
        assert break_codes(function, ROWS)


def of_a_vector(x):
    return grad(vector)(x)


def by_integers(x):
    return grad(lambda a: a.sum().float())(torch.arange(3))


def of_no_tensor(x):
    return grad(lambda a: 1.0)(x)


def of_a_complex_number(x):
    return grad(lambda a: (a * 1j).sum())(x)


def number_as_aux(x):
    return grad(lambda a: (a.sum(), 3), has_aux=True)(x)


def no_pair(x):
    return grad(scalar, has_aux=True)(x)


def no_such_argument(x):
    return grad(scalar, argnums=2)(x)


def other_cotangent(x):
    return vjp(vector, x)[1](torch.ones(4))


def other_tangent(x):
    return jvp(vector, (x,), (torch.ones(4),))


def decides(x):
    return grad(lambda a: a.sum() if a.sum() > 0 else -a.sum())(x)


def decides_in_a_hessian(x):
    return hessian(lambda a: (a**3).sum() if a.sum() > 0 else -(a**2).sum())(x)


def decides_in_a_pullback(x):
    value, pull = vjp(vector, x)
    return pull(value) if value.sum() > 0 else pull(-value)


def decides_on_a_derivative(x):
    made = jacfwd(vector)(x)
    return made if made.sum() > 0 else -made


@pytest.mark.parametrize(
    "function",
    [of_a_vector, by_integers, of_no_tensor, of_a_complex_number, number_as_aux, no_pair, no_such_argument, other_cotangent, other_tangent, decides, decides_in_a_hessian, decides_in_a_pullback, decides_on_a_derivative],
    ids=lambda one: one.__name__,
)
def test_what_breaks_is_torchs(function):
    x = ROWS[0]

    def told(call):
        try:
            return call(x)
        except Exception as error:  # noqa: BLE001
            return type(error).__name__, str(error)

    assert str(told(frameloom.compile(function))) == str(told(function))
    with pytest.raises(Exception):  # noqa: B017, PT011
        frameloom.compile(function, fullgraph=True)(x)
    if function.__name__.startswith("decides"):
        assert break_codes(function, x)


@pytest.mark.filterwarnings("ignore")
def test_random_programs():
    for seed in range(9000, 9030):
        source, found = tensor_programs.compare(seed, "derivatives")
        assert not found, f"{found}\n{source}"
