"""Requests and answers."""

from lowtide.serve.http.exchange import Call, Receive, Reply, Send, json_reply, send_problem, send_reply
from lowtide.serve.http.problem import PROBLEM_TYPE, Headers, Problem

__all__ = [
    "PROBLEM_TYPE",
    "Call",
    "Headers",
    "Problem",
    "Receive",
    "Reply",
    "Send",
    "json_reply",
    "send_problem",
    "send_reply",
]
