"""Settings of each linted file, from the command line and configuration files.

`keys` is the table of everything that can be set, written once; `kinds` says how a value of each kind is checked and
described. `files` finds and reads the nearest configuration file, `resolve` lays defaults, file and command line over
each other, and the frozen result is a `settings.Settings`. `codes` answers which rules run under it and at which level,
`globs` which files its patterns mean.
"""
