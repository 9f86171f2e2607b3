
/* Returns what a row holds for a text in a column of texts, or -1 for a text that is none of them. */
int ${p}_category(uint32_t column, const char *text);
