"""The functions for q7 and q15 of CMSIS 5: their checkouts, calls of them on QEMU, and what these have to give."""
