"""What a report counts, without a log, a file or a clock."""
