"""How each lax primitive works on a part of its output.

Importing this package fills the tables `RULES` and `REFUSALS`.
"""

from jask.rules import (
    broadcast as broadcast,
    contract as contract,
    control as control,
    convolve as convolve,
    create as create,
    cumulative as cumulative,
    elementwise as elementwise,
    gather as gather,
    loops as loops,
    moments as moments,
    random as random,
    reduce as reduce,
    refused as refused,
    reorder as reorder,
    scatter as scatter,
    slicing as slicing,
    whole as whole,
    windows as windows,
)
