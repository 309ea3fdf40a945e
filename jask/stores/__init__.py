"""Boxes of bytes: where an array's elements live. Knows no JAX."""
