
/* Columns that are added, then columns that are subtracted, from where `next` stands. */
static int32_t sum_of(const ${input_type} *x, uint32_t j, const ${column_type} **next)
{
    const ${column_type} *column = *next, *middle = column + counts[2 * j], *end = middle + counts[2 * j + 1];
    int32_t sum = 0;
    while (column < middle) sum += x[*column++];
    while (column < end) sum -= x[*column++];
    *next = end;
    return sum;
}
