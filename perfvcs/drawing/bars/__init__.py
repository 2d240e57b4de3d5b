"""Bars of a job: what is under each, and their figure."""
