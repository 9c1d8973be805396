"""From operators to kernel calls: the only place where the words of models and of CMSIS-NN meet."""
