"""The model as the analysis sees it: plain data, no file format."""
