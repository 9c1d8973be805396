"""Model files to `graph.model.Graph` and back; the only rooms that know protobuf or flatbuffers."""
