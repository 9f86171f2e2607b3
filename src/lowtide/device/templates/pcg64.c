
typedef struct {
    uint64_t high, low;
} State;

/* The 128-bit product of two 64-bit numbers. */
static State product(uint64_t a, uint64_t b)
{
    const uint64_t al = a & 0xffffffffu, ah = a >> 32, bl = b & 0xffffffffu, bh = b >> 32;
    const uint64_t low = al * bl, cross = ah * bl + (low >> 32), other = al * bh + (cross & 0xffffffffu);
    State result;
    result.high = ah * bh + (cross >> 32) + (other >> 32);
    result.low = (other << 32) | (low & 0xffffffffu);
    return result;
}

/* The next word of PCG64: state = state * multiplier + increment, and of the new state the rotated xor of its halves. */
static uint64_t next_word(State *state)
{
    const uint64_t by_high = 0x2360ed051fc65da4u, by_low = 0x4385df649fccf645u;
    State next = product(state->low, by_low);
    uint64_t word;
    unsigned turn;
    next.high += state->high * by_low + state->low * by_high;
    next.low += ${increment_low}u;
    next.high += ${increment_high}u + (next.low < ${increment_low}u);
    *state = next;
    word = next.high ^ next.low;
    turn = (unsigned)(next.high >> 58);
    return (word >> turn) | (word << (-turn & 63u));
}

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
