"""When probes run, and when they must not: intervals, back-off, sleep, budgets."""
