"""Results of linting, fixing and proving, as plain data for every reporter."""
