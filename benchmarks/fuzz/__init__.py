"""Hostile inputs by the hundred thousand, each under a limit of time and memory: `python -m benchmarks.fuzz TARGET`.

Every input is a function of target, seed and number alone, so that any of them can be made again. Two families:

raw         bytes were changed and nothing else: what a checksum covers must be refused
resealed    parts were changed and the checksums, identities too, made right again, as a forger would: refused, or taken
            as another object that gives finite numbers and comes back from its own bytes as the same

What fails: a crash, a hang, more memory than an input may take, an error that is none of lowtide's, and what was taken
although it must not be ("wrong").
"""
