"""Measuring: sessions that take versions in turns, and the sites that they run in."""
