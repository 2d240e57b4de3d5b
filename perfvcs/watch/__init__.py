"""``perf watch``: a machine that measures what comes to a branch, by itself, and shares it."""
