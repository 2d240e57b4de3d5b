"""A project's tests, run with a plugin in their pytest, and what that notes."""
