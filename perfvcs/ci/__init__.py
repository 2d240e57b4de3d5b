"""The loop of a pull request: what a CI service says of it, base and head measured in turns, and
the reports that the service shows.
"""
