"""From a verdict to its cause: which commit, and which benchmarks a change can touch."""
