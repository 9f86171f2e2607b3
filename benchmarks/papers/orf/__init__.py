"""Demni and Kadri, Orthogonal random features: explicit forms and sharp inequalities."""
