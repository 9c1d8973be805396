"""TensorFlow Lite Micro with its CMSIS-NN kernels.

Every kernel's Prepare and Eval is said again here, check for check and request for request, from the source of one
revision. `K/` in comments and sources is tensorflow/lite/micro/kernels/ of that revision.
"""
