"""Transformations that JAX has no form of for disk arrays."""
