"""Parts of ``mutants.py``: how documents are mutated, and who reads them."""
