"""A stand-in for cuda-python: that it is there is all that bundling asks."""
