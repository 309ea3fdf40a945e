"""How JAX sees a DiskArray."""
