"""Planning: from what is stored to how much a benchmark varies, what its design finds, and the
design that would find a given change.
"""
