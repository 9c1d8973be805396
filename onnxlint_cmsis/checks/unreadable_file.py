"""The file cannot be read.

The path does not exist, is a folder, cannot be opened, or the operating system reports an error while reading it.
Nothing else is known of the model. The exit code is 2; other files of the same run are still linted.

**What to do.** Correct the path or the permissions.
"""
