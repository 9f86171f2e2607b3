"""What can be asked of a server."""

from lowtide.serve.operations.openapi import openapi_document
from lowtide.serve.operations.table import OPERATIONS, Operation

__all__ = ["OPERATIONS", "Operation", "openapi_document"]
