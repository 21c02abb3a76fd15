"""The SQL databases that approvals and budgets are kept in."""
