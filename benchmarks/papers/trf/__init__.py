"""Ternary random features (Tiomoko Ali, Liao and Couillet)."""
