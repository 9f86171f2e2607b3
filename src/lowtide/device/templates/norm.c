
/* The square root of a positive double, correctly rounded: bit by bit, from the pairs of bits of its mantissa. */
static double root(double square)
{
    union {
        double value;
        uint64_t bits;
    } number;
    uint64_t m, q = 0, r = 0;
    int32_t e;
    uint32_t i;
    number.value = square;
    e = (int32_t)(number.bits >> 52) - 1023;
    m = (number.bits & 0xfffffffffffffu) | 0x10000000000000u;
    if (e & 1) {
        m <<= 1;
        --e;
    }
    for (i = 54; i-- > 0;) {
        const uint64_t trial = (q << 2) | 1;
        r = (r << 2) | (i >= 27 ? (m >> (2 * i - 54)) & 3 : 0);
        q <<= 1;
        if (r >= trial) {
            r -= trial;
            q |= 1;
        }
    }
    /* The last bit is one too many; it is never a tie. */
    q = (q >> 1) + (q & 1);
    number.bits = (uint64_t)(e / 2 - 52 + 1023) << 52;
    return (double)q * number.value;
}

/* 1 over the length of a row; 0 for a row too short to be normalized. Squares are exact in double and are summed in 16
   lanes, entry i in lane i % 16; then the upper half of the lanes is added to the lower one. */
static float inverse_length(const ${input_type} *x)
{
    double lane[16];
    float length;
    uint32_t i, width;
    for (i = 0; i < 16; ++i) {
        const double entry = i < ${P}_FEATURES ? (double)x[i] : 0.0;
        lane[i] = entry * entry;
    }
    for (i = 16; i < ${P}_FEATURES; ++i) lane[i & 15] += (double)x[i] * (double)x[i];
    for (width = 8; width > 0; width /= 2) {
        for (i = 0; i < width; ++i) lane[i] += lane[i + width];
    }
    if (!(lane[0] > 0.0)) return lane[0] - lane[0] == 0.0 ? 0.0f : -1.0f;
    if (!(lane[0] - lane[0] == 0.0)) return -1.0f;
    length = (float)root(lane[0]);
    if (!(length - length == 0.0f)) return -1.0f;
    return length >= FLT_MIN ? 1.0f / length : 0.0f;
}
