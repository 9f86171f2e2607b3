"""lowtide beside what a user would pick instead: both sides in one run, as a ratio."""
