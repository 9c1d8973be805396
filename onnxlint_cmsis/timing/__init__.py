"""Time: cycles of kernels, memories and runtimes, from public measurements."""
