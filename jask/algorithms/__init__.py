"""External-memory algorithms: what a block rule cannot do; the plan's stages."""

from jask.algorithms import external_sort as external_sort
