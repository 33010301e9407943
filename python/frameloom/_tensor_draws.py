"""Which generators the calls of torch in a plan draw numbers from. A run that ends in the plain function has to put them back, since that
draws the same numbers again. And generators that the function makes itself: what draws from one is given its state, and gives the state
behind it, so that runs at the same time share nothing (_tensor_generator.py)."""

import contextlib
import sys
import threading

import torch
from torch.utils import _pytree
from torch.utils._python_dispatch import _get_current_dispatch_mode

from ._tensor_autocast import Unsupported
from ._tensor_modelling import refuse  # noqa: F401 - for _tensor_generator
from ._tensor_trials import CPU, META, on_cpu


def _found(one, generators):
    if isinstance(one, torch.Generator):
        generators.append(one)
    elif isinstance(one, (tuple, list)):
        for part in one:
            _found(part, generators)


def _draws(operation):
    seeds = str(getattr(operation, "name", str)()).startswith("frameloom::seeded")
    return seeds or torch.Tag.nondeterministic_seeded in getattr(operation, "tags", ())


def generators(rows):
    """A tuple of the generators that these calls change; None: none of them draws. A row begins with the operation, its arguments and its
    keyword arguments."""
    rows = [row for row in rows if isinstance(row, tuple) and len(row) > 2 and _draws(row[0])]
    if not rows:
        return None
    found = [torch.default_generator]
    for _, args, kwargs, *_ in rows:
        _found(args, found)
        _found(list((kwargs or {}).values()), found)
    return tuple(dict.fromkeys(found))


class _Runs(threading.local):
    """What the generators were at the begin of each run that draws and has not ended, the innermost one last."""

    def __init__(self):
        self.begun = []


_runs = _Runs()


def states(of):
    return tuple(one.get_state() for one in of)


def put_back(of, before):
    for one, state in zip(of, before, strict=True):
        one.set_state(state)


def begin(of):
    """A run begins. Gives what it has to put back where it ends in the plain function."""
    before = states(of)
    _runs.begun.append((of, before))
    return before


def end():
    _runs.begun.pop()


def begun():
    """The generators of the innermost run, and what they were at its begin."""
    return _runs.begun[-1] if _runs.begun else None


@contextlib.contextmanager
def as_at(run):
    """The generators are as at the begin of a run, whose numbers are drawn once more. `run`: what begun() gave."""
    of, before = run
    now = states(of)
    put_back(of, before)
    try:
        yield
    finally:
        put_back(of, now)


# ---- generators that the function makes ----

_library = torch.library.Library("frameloom", "FRAGMENT")
_library.define("drawn(Tensor state, Tensor[] tensors, str call) -> (Tensor, Tensor)", tags=(torch.Tag.nondeterministic_seeded,))
_calls = {}  # by its text a call that draws: the operation, and its arguments with numbers of tensors in place of these


class _Place:
    """In such arguments: the tensor of this number; None: the generator."""

    def __init__(self, number):
        self.number = number

    def __repr__(self):
        return f"tensor {self.number}"


def _called(call, tensors, device, generator):
    operation, args, kwargs = _calls[call]

    def take(one):
        if isinstance(one, _Place):
            return generator if one.number is None else tensors[one.number]
        return device if isinstance(one, torch.device) else one

    return operation(*_pytree.tree_map(take, args), **_pytree.tree_map(take, kwargs))


def _drawn(state, tensors, call):
    generator = torch.Generator()
    generator.set_state(state)
    return _called(call, tensors, CPU, generator), generator.get_state()


_library.impl("drawn", _drawn, "CPU")
_library.impl("drawn", lambda state, tensors, call: (_called(call, tensors, META, None), torch.empty_like(state)), "Meta")


def noted(operation, state, args, kwargs):
    """The arguments of `drawn` for a call of an operation of ATen."""
    tensors = []

    def place(one):
        if isinstance(one, torch.Tensor):
            tensors.append(one)
            return _Place(len(tensors) - 1)
        if isinstance(one, torch.Generator):
            return _Place(None)
        return on_cpu(one)

    call = operation, *(_pytree.tree_map(place, part) for part in (tuple(args), kwargs))
    text = repr(call)
    _calls[text] = call
    return state, tensors, text


def drawn(function, state, args, names, values):
    """What a function of torch's gives that draws from a generator of this state, and the state behind it. Called on tensors without
    memory, while operations are noted."""
    from ._tensor_calls import constructs

    recorder, kwargs = _get_current_dispatch_mode(), constructs(function, args, dict(zip(names, values)))
    recorder.state = state
    made = function(*args, **kwargs, generator=torch.Generator())
    return made, recorder.state


def seeded(seed):
    """The state of a generator with this seed."""
    return _get_current_dispatch_mode().constant(torch.Generator().manual_seed(seed).get_state())


def state_given(state):
    """A state that a generator is given, which torch checks."""
    if state.dtype != torch.uint8 or tuple(state.shape) != tuple(torch.default_generator.get_state().shape):
        raise Unsupported("a state of a generator that torch refuses")
    return state.clone()


def restored(generator, state):
    """A generator that a run has made, with this state."""
    generator.set_state(state)
    return generator


# ---- generators that were there before the call, in the order of the numbers that are drawn ----

_library.define("generator_state(Tensor x, Generator generator) -> Tensor", tags=(torch.Tag.nondeterministic_seeded,))
_library.define("set_generator_state(Tensor state, Generator generator) -> Tensor", tags=(torch.Tag.nondeterministic_seeded,))


def _set_state(state, generator):
    generator.set_state(state)
    return state.clone()


_library.impl("generator_state", lambda x, generator: generator.get_state(), "CPU")
_library.impl("generator_state", lambda x, generator: torch.empty_like(torch.default_generator.get_state(), device=META), "Meta")
_library.impl("set_generator_state", _set_state, "CPU")
_library.impl("set_generator_state", lambda state, generator: torch.empty_like(state), "Meta")


def _of_cpu(generator):
    if generator.device != CPU:
        raise Unsupported("a generator of another device than the CPU")
    return generator


def manual_seed(generator, seed):
    if type(seed) is not int:
        raise Unsupported("a seed of a generator that is no int")
    torch.ops.frameloom.seeded(torch.zeros(1, device=META), seed, _of_cpu(generator))


def get_state(generator):
    return torch.ops.frameloom.generator_state(torch.zeros(1, device=META), _of_cpu(generator))


def set_state(generator, state):
    torch.ops.frameloom.set_generator_state(state_given(state), _of_cpu(generator))


METHODS = {"manual_seed": manual_seed, "get_state": get_state, "set_state": set_state}
FUNCTIONS = frozenset({drawn, seeded, state_given, *METHODS.values()})
from ._tensor_generator import Generator as GENERATOR, _drawn_by as DRAWN_BY  # noqa: E402 - it needs the above

MODELS = vars(sys.modules[GENERATOR.__module__])
