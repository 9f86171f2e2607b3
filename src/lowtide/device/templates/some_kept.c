
/* Whether an output of a block is a frequency. */
static uint32_t is_kept(uint32_t block, uint32_t i)
{
    return (kept[DIMENSION / 8 * block + (i >> 3)] >> (i & 7)) & 1u;
}
