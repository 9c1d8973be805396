"""What CMSIS-NN does with a shape: routes, hazards, scratch sizes, per release, CPU and compiler."""
