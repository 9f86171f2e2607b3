
/* Whether a cell is category i of the k-th list; the one for what is missing is last and has no value. */
static double indicator(double cell, uint32_t k, uint32_t i)
{
    const uint32_t at = category_starts[k] + i;
    if (cell != cell) return i + 1 == category_missing[k];
    return at < category_starts[k + 1] && cell == (double)category_values[at];
}
