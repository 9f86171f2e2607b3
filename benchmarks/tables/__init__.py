"""Tables as people have them, through the command line: accuracy beside peers, and damaged files."""
