"""The work of `lowtide encode`."""

from lowtide.cli.encoding.encoding import Encoding
from lowtide.cli.encoding.requests import check_options, check_output

__all__ = ["Encoding", "check_options", "check_output"]
