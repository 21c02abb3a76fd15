"""The examples that are programs, run as a reader would run them."""
