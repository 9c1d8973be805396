"""From findings to a proven file: plan, rewrite, prove, write whole or not at all."""
