
static const char *const texts[${n_texts}] = {
    ${texts},
};

int ${p}_category(uint32_t column, const char *text)
{
    uint32_t t, i;
    for (t = 0; t < ${n_columns}; ++t) {
        if (text_columns[t] != column) continue;
        for (i = text_starts[t]; i < text_starts[t + 1]; ++i) {
            const char *a = texts[i], *b = text;
            while (*a != 0 && *a == *b) {
                ++a;
                ++b;
            }
            if (*a == *b) return (int)(i - text_starts[t]);
        }
    }
    return -1;
}
