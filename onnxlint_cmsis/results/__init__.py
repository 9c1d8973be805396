"""What came of linting, fixing and proving, as plain data that every reporter shows."""
