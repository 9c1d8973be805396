"""New lanes: what the elements that padding adds hold from operator to operator, and where they would not be finite."""
