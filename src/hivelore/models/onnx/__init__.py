"""The models that ship with Hivelore, run by ONNX Runtime."""
