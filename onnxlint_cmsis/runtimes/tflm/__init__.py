"""TensorFlow Lite Micro: what each kernel does in Prepare and Eval, check for check."""
