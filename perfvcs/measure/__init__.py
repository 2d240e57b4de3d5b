"""Measuring: sessions that take versions in turns, the sites that they run in, and what keeps two
from meeting.
"""
