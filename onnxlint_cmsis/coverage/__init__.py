"""How much of a model CMSIS-NN computes, and what the model needs."""
