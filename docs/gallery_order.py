"""The order of the gallery: its groups, and the examples of each, from what most people need to what few do."""

from __future__ import annotations

from pathlib import Path

GROUPS = {
    "start": ("first_codes", "replace_svc", "table_pipeline"),
    "choose": ("choose_for_me", "bits_against_error", "two_sides", "more_components"),
    "learn": ("how_good", "report", "compress_svc", "spectral_clustering"),
    "store": ("save_and_load", "code_store", "search_codes", "search_vectors", "search_cells", "cluster"),
    "ship": ("spreadsheet_to_device", "ask_a_server", "export_c", "stop_work"),
    "understand": ("error_bars", "any_two_sides", "one_sketch", "ternary_digits", "directed_graph", "own_parts"),
}
FILES = [f"plot_{name}.py" for names in GROUPS.values() for name in names]


def place(path: str) -> int:
    """Return where an example stands in the gallery; what is no example comes last."""
    name = Path(path).name
    return FILES.index(name) if name in FILES else len(FILES)
