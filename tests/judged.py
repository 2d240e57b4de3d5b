"""A project whose one function is judged, and its variants."""

from __future__ import annotations

WORK = """\
def total(count):
    value = 0
    for number in range(count):
        value += number % 7
    return value
"""
SETTINGS = '[[job]]\nname = "total"\ncmd = "python3 -S bench_total.py"\n'
HALF = WORK.replace("range(count)", "range(count // 2)")
HARMLESS = WORK.replace("value = 0", "value = 0  # of all numbers")
