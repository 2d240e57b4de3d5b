"""From a verdict to its cause: which commit, which benchmarks a change can touch, and which
function.
"""
