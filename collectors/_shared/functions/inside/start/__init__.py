"""A ``sitecustomize`` that records the functions of its interpreter; the folder is put on
PYTHONPATH, with that of the recorder.
"""
