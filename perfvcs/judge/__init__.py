"""Is a change really faster, and still right? An expectation, the guard around it, and the
verdict.
"""
