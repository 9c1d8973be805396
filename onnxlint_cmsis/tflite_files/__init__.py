"""What is said of a `.tflite` file: findings, operators with their functions, memory."""
