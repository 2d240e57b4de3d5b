"""Parts of ``blame.py``: real projects with a benchmark each, and slowdowns that are planted into
them.
"""
