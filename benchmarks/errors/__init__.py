"""Whether kernel estimates are unbiased and their error bars cover, over many random configurations."""
