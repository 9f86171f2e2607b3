"""The frozen values that fits draw: all that encodes, scores, saves and serves. None of them knows scikit-learn."""
