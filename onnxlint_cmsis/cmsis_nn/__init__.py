"""CMSIS-NN: what each release routes, needs, gets wrong and costs, as rows. No ONNX and no TensorFlow Lite."""
