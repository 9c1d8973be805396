"""Apply a plan to a model: edit the protobuf and leave every other byte of it as it is."""
