"""Which commit made a benchmark slower."""
