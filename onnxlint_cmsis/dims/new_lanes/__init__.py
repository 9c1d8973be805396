"""New lanes: values of the elements that padding adds, operator by operator, and where they would not be finite."""
