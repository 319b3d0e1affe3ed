"""The error that means: the input is at fault, not the program."""


class InputError(ValueError):
    """Something a person handed in cannot be used.

    The message stands by itself: the place first, then what is wrong, then what is
    accepted. The command line prints it without a traceback and exits with status 2.
    """


class TraceError(InputError):
    """A channel trace that cannot be read, or that ends before the simulation does."""


class StalledError(InputError):
    """The simulation can never go on: everybody waits for something that cannot happen."""
