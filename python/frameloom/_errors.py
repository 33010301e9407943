"""The exception for what cannot be compiled."""


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


GraphBreak.__module__ = "frameloom"
