"""The model of torch.Generator: what capture evaluates in its place, as the models of _models.py in place of types of the standard
library."""

from builtins import int, property, str, tuple, type
import sys

_draws = sys.modules[f"{__package__}._tensor_draws"]  # which imports this module


class Generator:
    """Random numbers of torch: the state is a tensor, from which each call draws and gives the state behind it."""

    def __init__(self, device="cpu"):
        if str(device) != "cpu":
            _draws.refuse("a generator of another device than the CPU")
        self._seed = 67280421310721
        self._state = _draws.seeded(self._seed)

    def __model__(self):
        return ()

    def __rest__(self):
        return _draws.restored, self._state

    @property
    def device(self):
        return _draws.CPU

    def manual_seed(self, seed):
        if type(seed) is not int:
            _draws.refuse("a seed of a generator that is no int")
        self._state = _draws.seeded(seed)
        self._seed = seed if seed >= 0 else seed + (1 << 64)
        return self

    def initial_seed(self):
        if self._seed is None:
            _draws.refuse("the seed of a generator whose state was set")
        return self._seed

    def get_state(self):
        return self._state.clone()

    def set_state(self, state):
        self._state, self._seed = _draws.state_given(state), None
        return self

    def clone_state(self):
        made = Generator()
        made._state, made._seed = self._state, self._seed
        return made


def _drawn_by(function, generator, *args, **kwargs):
    """A call of a function of torch's that draws from such a generator."""
    made, generator._state = _draws.drawn(function, generator._state, args, tuple(kwargs), tuple(kwargs.values()))
    return made
