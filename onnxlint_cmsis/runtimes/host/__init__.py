"""How far a device may be from the runtimes of a desktop: layer by layer, and behind a layer that differs."""
