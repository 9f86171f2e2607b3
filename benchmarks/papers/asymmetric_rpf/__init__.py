"""Schellekens and Jacques, Breaking the waves: asymmetric random periodic features for low-bitrate kernel machines."""
