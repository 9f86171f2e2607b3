"""Li and Li, One-Sketch-for-All: non-linear random features from compressed linear measurements."""
