"""Plain files for any Python from 3.9 on, which need nothing else; the folder is put on
PYTHONPATH.
"""
