
/* Zeros a code. Written as volatile, so that compilers make no call of a library's memset of it. */
static void clear(volatile uint8_t *code)
{
    uint32_t i;
    for (i = 0; i < ${P}_CODE_BYTES; ++i) code[i] = 0;
}

static void put(uint8_t *code, uint32_t index, uint32_t level)
{
    const uint32_t bit = index * ${stored_bits}u;
    code[bit >> 3] = (uint8_t)(code[bit >> 3] | (level << (bit & 7)));$across
}
