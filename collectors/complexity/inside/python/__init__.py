"""What records calls inside the measured Python interpreter: the folder goes on its PYTHONPATH,
where ``sitecustomize`` is found.

The modules import each other by their bare names, since that interpreter (3.9 or newer) has no
perfvcs.
"""
