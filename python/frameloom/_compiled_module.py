"""What `frameloom.compile` makes of a torch.nn.Module: a module again, whose calls are compiled."""

import sys
import types
import weakref


def is_module(fn):
    """Is `fn` a module of torch's that is written in Python? (A ScriptModule's calls are not.)"""
    torch = sys.modules.get("torch")
    nn = getattr(torch, "nn", None)
    if nn is None or not isinstance(fn, nn.Module):
        return False
    jit = getattr(torch, "jit", None)
    return jit is None or not isinstance(fn, jit.ScriptModule)


def original(fn):
    """The module that a compiled one was made of; anything else as it is."""
    return fn._orig_mod if isinstance(fn, _Shared) else fn


class _Shared:
    """What classes of compiled modules have beside that of the module."""

    __slots__ = ()

    def __init_subclass__(cls, **kwargs):
        """Without what the module's class asks of classes that users derive."""

    def __reduce_ex__(self, protocol):
        """Copies and pickles hold the module, and are compiled where they are made."""
        from . import compile

        return compile, (self._orig_mod,)

    def __repr__(self):
        return repr(self._orig_mod)

    @property
    def forward(self):
        """The compiled `forward` of the class; one that was put in place of it is called as it is."""
        return vars(self._orig_mod).get("forward") or self._compiled_forward

    @forward.setter
    def forward(self, function):
        self._orig_mod.forward = function

    @forward.deleter
    def forward(self):
        del self._orig_mod.forward


_classes = weakref.WeakKeyDictionary()  # class of modules -> weak reference to that of compiled ones, which holds it


def _class_of(cls):
    """A subclass for compiled modules."""
    made = _classes[cls]() if cls in _classes else None
    if made is None:
        space = {"__slots__": ("__call__", "_orig_mod", "_compiled_forward"), "__doc__": cls.__doc__}
        space |= {name: getattr(cls, name) for name in ("__module__", "__qualname__")}
        made = types.new_class(cls.__name__, (_Shared, cls), {"metaclass": type(cls)}, lambda names: names.update(space))
        _classes[cls] = weakref.ref(made)
    return made


def compiled_module(module, call, forward):
    """A module that shares all that `module` has, and whose calls are those of `call`. `forward` stands for its forward()."""
    made = object.__new__(_class_of(type(module)))
    object.__setattr__(made, "__dict__", vars(module))
    for name, value in (("__call__", call), ("_orig_mod", module), ("_compiled_forward", forward)):
        object.__setattr__(made, name, value)
    return made
