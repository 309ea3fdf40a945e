"""Every error that jask raises on purpose."""


class JaskError(Exception):
    """Base of all errors that jask raises on purpose."""


class MemoryBudgetError(JaskError, MemoryError):
    """The work does not fit the memory budget; the message says which would do."""

    def __init__(self, message: str = "", budget: int = 0) -> None:
        super().__init__(message)
        self.budget = budget
        """A larger budget to try next, in bytes; 0 if none was worked out."""


class UnsupportedPrimitiveError(JaskError, NotImplementedError):
    """A traced function uses something that jask cannot run at all."""


class FileFormatError(JaskError, ValueError):
    """A file is not what it claims to be; the message names the file and the field."""


class SourceChangedError(JaskError, OSError):
    """A file that an array reads from was changed after it was opened."""


class ScratchFullError(JaskError, OSError):
    """Scratch space ran out: the disk is full or `scratch_limit` was reached."""


class ProcessStateError(JaskError, RuntimeError):
    """A process cannot evaluate: it was forked after JAX had started, or it ends."""


class ConfigError(JaskError, ValueError):
    """A setting has an impossible value."""
