"""Statistics as pure functions: arrays in, frozen results out, many groups at once.

Arrays have the shape (groups, executions). Nothing here warns: degenerate groups have a documented
result, NaN where nothing is known.
"""
