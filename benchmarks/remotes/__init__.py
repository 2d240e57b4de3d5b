"""Bare repositories that clones share: sound ones, and such as somebody has prepared."""
