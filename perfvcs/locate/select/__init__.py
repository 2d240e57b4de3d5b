"""Which benchmarks a change can touch."""
