
/* One entry of the projection: plus below HALF, minus below twice that, else nothing. */
static int32_t term(uint32_t entry, int32_t x)
{
    return entry < ${half}u ? x : entry - ${half}u < ${half}u ? -x : 0;
}

static int32_t sum_of(const ${input_type} *x, State *state)
{
    int32_t sum = 0;
    uint32_t k;
    for (k = 0; k < ${P}_FEATURES; k += 2) {
        const uint64_t word = next_word(state);
        sum += term((uint32_t)word, x[k]);
        if (k + 1 < ${P}_FEATURES) sum += term((uint32_t)(word >> 32), x[k + 1]);
    }
    return sum;
}
