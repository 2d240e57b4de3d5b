"""From a verdict to its cause: which commit, which benchmarks a change can touch, and which
function.
"""

BLAMES_FOLDER = "blames"  # in .perf: what was blamed for which pair of commits
