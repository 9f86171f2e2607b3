"""Orthogonal frequencies (ORF).

`bessel`: zeros of the kernel of unit-norm rows. `chi`, `mixture`: covariance within a block for Gaussian and for mixed
lengths. `variance`: exact variances. `ranges`: where the paper's inequalities hold.
"""

__all__: list[str] = []  # the public names are listed in `lowtide.theory`
