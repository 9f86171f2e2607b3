"""Side by side with what a user would pick instead (`peers`), and the papers' figures measured again (`papers`)."""
