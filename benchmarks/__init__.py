"""Side by side with what a user would pick instead (`peers`), what ops cost (`opcount`), papers' figures (`papers`)."""
