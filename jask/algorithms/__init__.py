"""External-memory algorithms: what no rule on boxes can do."""
