"""What a report counts in the records of an audit log: pure, in one pass, in bounded memory."""
