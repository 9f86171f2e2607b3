"""The frozen values that fits draw: all that encodes, scores, saves and serves. None of them knows scikit-learn."""

# Each is a module of its own, and `lowtide.encoders` has its name.
__all__: list[str] = []
