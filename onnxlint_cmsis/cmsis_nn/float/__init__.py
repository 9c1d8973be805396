"""The functions for f32 and f16."""
