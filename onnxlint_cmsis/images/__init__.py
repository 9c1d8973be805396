"""Firmware images and libraries: what an ELF, an archive or a file for a programmer tells of a build, how surely."""
