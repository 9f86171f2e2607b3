"""Reports: a model measured on the rows it is for, as numbers and as a page that needs no other file."""

from lowtide.reports.agreement import Agreement, agree, estimate_pairs, kernel_error
from lowtide.reports.page import check_extra, render
from lowtide.reports.reporting import Report, report, report_on
from lowtide.reports.subject import (
    FLOAT_BITS,
    Column,
    Subject,
    checked_model,
    checked_subject,
    describe_columns,
    most_rows,
)
from lowtide.reports.trials import Importance, LearningPoint, Trial, paired_difference

__all__ = [
    "FLOAT_BITS",
    "Agreement",
    "Column",
    "Importance",
    "LearningPoint",
    "Report",
    "Subject",
    "Trial",
    "agree",
    "check_extra",
    "checked_model",
    "checked_subject",
    "describe_columns",
    "estimate_pairs",
    "kernel_error",
    "most_rows",
    "paired_difference",
    "render",
    "report",
    "report_on",
]
