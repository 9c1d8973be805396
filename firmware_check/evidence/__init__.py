"""What the tables of the linter say, held against CMSIS-NN's source and against the device."""
