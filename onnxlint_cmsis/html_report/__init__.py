"""A model's facts as one HTML page, and as data for Model Explorer."""
