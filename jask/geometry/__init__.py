"""Coordinates, pure: no arrays, no JAX, no I/O."""
