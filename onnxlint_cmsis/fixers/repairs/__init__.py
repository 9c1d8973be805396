"""Exact rewritings of single layers that step around a defect of a kernel or a runtime."""
