"""Every error that jask raises on purpose."""


class JaskError(Exception):
    """Base of all errors that jask raises on purpose.

    Examples
    --------
    >>> import jask
    >>> try:
    ...     jask.set_memory_budget("much")
    ... except jask.JaskError as error:
    ...     type(error).__name__
    'ConfigError'
    """


class MemoryBudgetError(JaskError, MemoryError):
    """The work does not fit the memory budget; the message says which would do.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> with jask.config(memory_budget="1MB"):
    ...     try:
    ...         jask.materialize(jnp.zeros((1000, 1000)))
    ...     except MemoryBudgetError as error:
    ...         error.budget > 4_000_000
    True
    """

    def __init__(self, message: str = "", budget: int = 0) -> None:
        super().__init__(message)
        self.budget = budget
        """A larger budget to try next, in bytes; 0 if none was worked out."""


class UnsupportedPrimitiveError(JaskError, NotImplementedError):
    """A traced function uses something that jask cannot run at all.

    Examples
    --------
    >>> issubclass(UnsupportedPrimitiveError, NotImplementedError)
    True
    """


class FileFormatError(JaskError, ValueError):
    """A file is not what it claims to be; the message names the file and the field.

    Examples
    --------
    >>> import tempfile
    >>> import jask
    >>> with tempfile.NamedTemporaryFile(suffix=".npy") as file:
    ...     try:
    ...         jask.open(file.name)
    ...     except FileFormatError as error:
    ...         file.name in str(error)
    True
    """


class SourceChangedError(JaskError, OSError):
    """A file that an array reads from was changed after it was opened.

    Examples
    --------
    >>> issubclass(SourceChangedError, OSError)
    True
    """


class ScratchFullError(JaskError, OSError):
    """Scratch space ran out: the disk is full or `scratch_limit` was reached.

    Examples
    --------
    >>> issubclass(ScratchFullError, OSError)
    True
    """


class ProcessStateError(JaskError, RuntimeError):
    """A process cannot evaluate: it was forked after JAX had started, or it ends.

    Examples
    --------
    >>> issubclass(ProcessStateError, RuntimeError)
    True
    """


class ConfigError(JaskError, ValueError):
    """A setting has an impossible value.

    Examples
    --------
    >>> import jask
    >>> try:
    ...     jask.set_memory_budget(-1)
    ... except ConfigError as error:
    ...     isinstance(error, ValueError)
    True
    """
