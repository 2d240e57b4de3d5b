"""What records allocations inside measured Python interpreters, with nothing but the standard
library and memray where it is.
"""
