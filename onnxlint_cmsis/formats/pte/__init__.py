"""ExecuTorch programs (`.pte`), read as they are planned."""
