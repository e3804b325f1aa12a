"""Measurements with absolute figures; only ratios are judged. `make bench` runs all, `python -m bench.NAME` one."""
