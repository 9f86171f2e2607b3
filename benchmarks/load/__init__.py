"""How a server of lowtide bears load, strangers and slow callers: each module is a command of its own."""
