"""The work of `lowtide encode`."""

from lowtide.cli.encoding.encoding import Encoding
from lowtide.cli.encoding.requests import check_options, check_output, is_store_name
from lowtide.cli.encoding.stored import StoreEncoding

__all__ = ["Encoding", "StoreEncoding", "check_options", "check_output", "is_store_name"]
