
/* Weights one after the other: a word of at most ${longest} bits stands for the high bits, the ${low} low bits follow it.
   The table knows a word by the ${longest} bits from its start on: 8 times the high bits, and its length. */
static int32_t next_weight(uint32_t *at)
{
    const uint8_t *p = weights + (*at >> 3);
    const uint32_t bits = (p[0] | ((uint32_t)p[1] << 8) | ((uint32_t)p[2] << 16)) >> (*at & 7);
    const uint32_t word = words[bits & ${word_mask}u], length = word & 7;
    *at += length + ${low};
    return (int32_t)(((word >> 3) << ${low}) | ((bits >> length) & ${low_mask}u)) - ${offset};
}
