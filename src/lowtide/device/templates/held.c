
/* Whether columns of truth values hold 1, 0 or NaN, and those of dates days or NaN. */
static int is_held(const ${row_type} *row)
{
    uint32_t i;
    for (i = 0; i < ${n_held}; ++i) {
        const double cell = (double)row[held_columns[i]];
        if (cell == cell && !(${test})) return 0;
    }
    return 1;
}
