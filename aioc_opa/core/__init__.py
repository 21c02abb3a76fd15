"""Pure: no I/O, clock, environment, randomness or logging. Tests assert the imports."""
