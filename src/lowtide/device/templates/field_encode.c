
#define FIELDS ${n_fields}u

/* How many of a field's n borders are at or below a coordinate. */
static uint32_t field_level(const float *border, uint32_t n, float z)
{
    uint32_t low = 0;
    while (n > 0) {
        const uint32_t half = n / 2;
        if (border[low + half] <= z) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

/* Zeros a code. Written as volatile, so that compilers make no call of a library's memset of it. */
static void clear_fields(volatile uint8_t *code)
{
    uint32_t i;
    for (i = 0; i < ${P}_CODE_BYTES; ++i) code[i] = 0;
}

$head
{
    const float *border = field_borders, *direction = directions;
    uint32_t i, j, bit = 0;
    clear_fields(code);
    for (j = 0; j < FIELDS; ++j) {
        const uint32_t width = field_bits[j], n = (1u << width) - 1u;
        float z = 0.0f;
        uint32_t level;
        for (i = 0; i < ${P}_FEATURES; ++i) z = fused((float)x[i], direction[i], z);
        z = z - center[j];
        if (!(z - z == 0.0f)) return -1;
        level = field_level(border, n, z);
        code[bit >> 3] = (uint8_t)(code[bit >> 3] | (level << (bit & 7)));
        if ((bit & 7) + width > 8) code[(bit >> 3) + 1] = (uint8_t)(level >> (8 - (bit & 7)));
        bit += width;
        border += n;
        direction += ${P}_FEATURES;
    }
    return 0;
}
