"""Performance history beside git: profiles keyed by commit, and verdicts about them."""

__version__ = "0.2.0"
