"""Programs as text, in the manner of a jaxpr."""

from collections.abc import Mapping
from typing import Any

from jask.trace.ir import Atom, Equation, Literal, Program, Var

_SHORT = {"float": "f", "complex": "c", "int": "i", "uint": "u", "bfloat": "bf"}


def type_text(atom: Atom) -> str:
    """Return dtype and shape as JAX writes them.

    Examples
    --------
    >>> import numpy as np
    >>> type_text(Var((2, 3), np.dtype("float32")))
    'f32[2,3]'
    """
    name = str(atom.dtype)
    word = name.rstrip("0123456789")
    short = _SHORT.get(word, word) + name[len(word) :]
    return f"{short}[{','.join(map(str, atom.shape))}]"


class _Names:
    """Names given in the order of first use."""

    def __init__(self) -> None:
        self.known: dict[Var, str] = {}

    def __call__(self, atom: Atom) -> str:
        if isinstance(atom, Literal):
            return f"{atom.value}:{type_text(atom)}"
        if atom not in self.known:
            self.known[atom] = _letters(len(self.known))
        return self.known[atom]

    def typed(self, atom: Atom) -> str:
        return f"{self(atom)}:{type_text(atom)}"


def _letters(number: int) -> str:
    text = ""
    while True:
        number, digit = divmod(number, 26)
        text = chr(ord("a") + digit) + text
        if not number:
            return text
        number -= 1


def _params_text(params: Mapping[str, Any]) -> str:
    shown = [f"{k}={v}" for k, v in params.items() if v is not None and k != "jaxpr"]
    return f"[{' '.join(shown)}]" if shown else ""


def _equation_text(eqn: Equation, names: _Names) -> str:
    inputs = " ".join(map(names, eqn.inputs))
    outputs = " ".join(map(names.typed, eqn.outputs))
    return f"  {outputs} = {eqn.name}{_params_text(eqn.params)} {inputs}".rstrip()


def show(program: Program) -> str:
    """Return a program as text: its leaves, constants, equations and outputs.

    Examples
    --------
    >>> import numpy as np
    >>> x = Var((3,), np.dtype("float32"))
    >>> print(show(Program(leaves=[x], outputs=[x])))
    leaves a:f32[3]
    return a
    """
    names = _Names()
    lines = [f"leaves {' '.join(map(names.typed, program.leaves))}"]
    if program.constants:
        lines.append(f"constants {' '.join(map(names.typed, program.constants))}")
    lines.extend(_equation_text(eqn, names) for eqn in program.equations)
    lines.append(f"return {' '.join(map(names, program.outputs))}")
    return "\n".join(lines)
