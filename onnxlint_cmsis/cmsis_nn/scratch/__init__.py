"""Scratch-buffer sizes in bytes, as the size functions of each release answer them; first matching case.

Read in the size functions (`arm_*_get_buffer_size`) and confirmed by the dispatch vectors of every release and ISA.
What a size function tests is its own: in 6.0.0 and 7.0.0 it does not look at filter_dims.c as the wrapper does.
"""
