"""The parts of a set-up beyond one machine, each a plain process that a test can kill, stop and start again."""
