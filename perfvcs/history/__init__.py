"""The one judge of series over commits: levels, steps, and what `perf check`
says of each commit and the one before.

Others display what is found here; nothing is judged twice.
"""
