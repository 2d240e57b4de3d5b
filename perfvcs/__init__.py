"""Performance history beside git: profiles keyed by commit, and verdicts about them."""

__version__ = "0.3.0.dev0"
