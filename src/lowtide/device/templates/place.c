
/* The place of a category in the k-th list, or -1. */
static int32_t place(double cell, uint32_t k)
{
    uint32_t i;
    if (cell != cell) return (int32_t)category_missing[k] - 1;
    for (i = category_starts[k]; i < category_starts[k + 1]; ++i) {
        if (cell == (double)category_values[i]) return (int32_t)(i - category_starts[k]);
    }
    return -1;
}
