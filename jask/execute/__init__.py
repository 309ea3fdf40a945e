"""From a plan to results: reads, runs kernels, writes."""
