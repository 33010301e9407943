"""The exceptions of this package."""


class GraphBreak(RuntimeError):
    """A function under `fullgraph=True` could not be captured whole.

    code      "FL0003", one row of the table of reasons
    reason    what the row says
    detail    what it was in this case
    hint      what may help, or ""
    filename, function, lineno, column
              the place in the user's source; None or 0 when it is not known
    """

    code = reason = detail = hint = ""
    filename = function = None
    lineno = column = 0


class CompileError(GraphBreak):
    """A graph was captured whole, but the compiler failed over it (FL0016), and `config.suppress_errors` is off or the
    function was compiled with `fullgraph=True`. Its attributes are those of `GraphBreak`.
    """


class RecompileError(RuntimeError):
    """A function would have to be compiled while `config.error_on_recompile` or the stance "fail_on_recompile" forbids it.

    The message names the guard that failed, the old and the new value.
    """


class BoundsError(RuntimeError):
    """Compiled code under `config.check = "bounds"` was about to access memory outside of its array: a defect of the compiler.

    The message names the kernel, the operation, the line in the user's source, the address and the array's range.
    """


class DeviceError(RuntimeError):
    """A device cannot do what was asked: its driver is missing, too old or reports an error, or a function has no form there.

    The message says which call of the driver failed, in the driver's own words, or what the function does.
    """


DeviceError.__module__ = "frameloom"
GraphBreak.__module__ = CompileError.__module__ = RecompileError.__module__ = BoundsError.__module__ = "frameloom"
