"""What every command shares at the terminal: options, and how it speaks. Loads click alone."""

from lowtide.cli.terminal.options import (
    EncoderOptions,
    TableOptions,
    encoder_options,
    table_options,
    voice_options,
)
from lowtide.cli.terminal.values import WordOrNumber
from lowtide.cli.terminal.voice import Voice
from lowtide.cli.terminal.wording import amount, bytes_in_words, counted, sheet

__all__ = [
    "EncoderOptions",
    "TableOptions",
    "Voice",
    "WordOrNumber",
    "amount",
    "bytes_in_words",
    "counted",
    "encoder_options",
    "sheet",
    "table_options",
    "voice_options",
]
