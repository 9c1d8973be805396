"""Settings of each linted file, from the command line and configuration files, and accepted findings."""
