
/* Whether a row is in category i of the k-th list; the one for what is missing has no value. */
static double indicator(const ${row_type} *row, uint32_t k, uint32_t i)
{
    const double cell = (double)row[category_columns[k]];
    const uint32_t at = category_starts[k] + i;
    if (cell != cell) return i + 1 == category_missing[k];
    return at < category_starts[k + 1] && cell == (double)category_values[at];
}
