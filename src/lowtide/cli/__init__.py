"""The `lowtide` command: parse, call the library, print. A file a command, none loaded before it is asked for."""

__all__: list[str] = []
