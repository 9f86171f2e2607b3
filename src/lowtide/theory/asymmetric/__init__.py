"""Periodic features with two different sides (Asymmetric RPF).

`square_wave`: the one-bit map and its expected kernel. `tables`: constants of the b-bit quantizers. `variance`:
variances per frequency. `lipschitz`, `counts`: smoothness and the feature counts that follow. `distance`: distances
from products.
"""

__all__: list[str] = []  # the public names are listed in `lowtide.theory`
