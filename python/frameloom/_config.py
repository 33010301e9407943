"""`frameloom.config`: the settings of the process. Their table is in C (`config.def`); the environment is read once."""

import contextlib as _contextlib

from . import _native


class Patchable:
    """Settings as attributes that can be set for a while."""

    __slots__ = ()

    @_contextlib.contextmanager
    def patch(self, **settings):
        """Set some for the length of a `with` block (or of a function, as a decorator)."""
        before = {name: getattr(self, name) for name in settings}
        try:
            for name, value in settings.items():
                setattr(self, name, value)
            yield self
        finally:
            for name, value in before.items():
                setattr(self, name, value)


class Config(Patchable):
    """Settings by name: `config.recompile_limit = 4`, `with config.patch(backend="interpret"): ...`.

    logs              what to log, separated by commas
    trace             a folder in which every stage of each compilation is written, or ""
    backend           for functions whose `compile()` names none: "loom", "interpret" or "eager"
    disable           run every function as plain Python
    recompile_limit   the most versions of one function that are compiled (also: cache_size_limit)
    error_on_recompile
                      raise `RecompileError` where a function would have to be compiled again
    unroll_limit      loops of at most so many iterations are unrolled, longer ones captured once
    put_off           where neither arguments nor earlier versions have arrays: compile callees and further versions only
                      when their plain calls have taken as long as compiling may take
    compile_budget    milliseconds of compiling parts of a function behind breaks and functions that it calls, after which
                      further versions of these are put off until plain runs in place of them have taken as long as one
    suppress_errors   let the library run what the compiler cannot compile; else `CompileError` is raised there
    leave_slower      leave a function to plain Python when timed calls show that it is faster there
    capture_data_dependent
                      capture `if` and `while` on array data as branches and loops of the graph
    cache             keep compiled code on disk
    fastmath          allow contraction and reassociation, for functions compiled from now on
    optimize          have LLVM optimize the code of kernels; without, most compile in less time and run longer
    threads           the most threads that kernels use, from the next call on; 0: as many as OMP_NUM_THREADS or the CPUs allow
    cudagraphs        on devices, order several launches of a call as a graph of the driver, from its second call on
    tf32              on NVIDIA's GPUs, round the operands of float32 matrix products to TF32, for functions compiled from now on
    device            "auto": functions that are compiled from now on, and name no device, run on the host or on a GPU, whichever is faster
    device_costs      what "auto" takes for granted ("up=2.5e10 memory=3e12"), or "": copies are measured
    check             "bounds": compiled code compares every access to memory with the bounds of its array, or ""
    cpu               "native", "x86-64-v3" or "x86-64-v4", for functions compiled from now on
    """

    __slots__ = ()
    logs: str
    trace: str
    backend: str
    disable: bool
    recompile_limit: int
    error_on_recompile: bool
    unroll_limit: int
    leave_slower: bool
    put_off: bool
    compile_budget: int
    suppress_errors: bool
    capture_data_dependent: bool
    cache: bool
    fastmath: bool
    optimize: bool
    threads: int
    cudagraphs: bool
    tf32: bool
    device: str
    device_costs: str
    check: str
    cpu: str

    def __getattr__(self, name):
        return _native.get_setting(name)

    def __setattr__(self, name, value):
        _native.set_setting(name, value)

    def __dir__(self):
        return sorted([row[0] for row in _native.settings() if row[0]] + ["patch"])

    def __repr__(self):
        rows = [row[0] for row in _native.settings() if row[0]]
        return "frameloom.config(" + ", ".join(f"{name}={getattr(self, name)!r}" for name in rows) + ")"


config = Config()
