
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

/* The next word of PCG64: state = state * multiplier + increment, then the xor of the new state's halves, rotated. */
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
