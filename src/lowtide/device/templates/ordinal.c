
/* The place as a number; what is missing or not known has one of its own, or is no number. */
static double ordinal(double cell, uint32_t style, uint32_t k)
{
    const int32_t at = place(cell, k);
    switch (style) {
$styles
    }
}
