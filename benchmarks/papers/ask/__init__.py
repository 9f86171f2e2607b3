"""The figures and the table of AsK-RFF, measured again."""
