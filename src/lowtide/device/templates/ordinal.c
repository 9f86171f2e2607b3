
/* The place as a number; what is missing or not known has one of its own, or none. */
static double ordinal(const ${row_type} *row, uint32_t style, uint32_t k)
{
    const volatile double zero = 0.0;
    const double cell = (double)row[category_columns[k]] + zero;
    const int32_t at = place(row, k);
    switch (style) {
$styles
    }
}
