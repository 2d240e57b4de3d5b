"""Which function made a benchmark slower, and which slowdowns would be noticed."""
