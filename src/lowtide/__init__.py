"""Kernel machines on a few bits per feature."""
