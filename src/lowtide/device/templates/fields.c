
/* Weights of ${weight_bits} bits side by side, two's complement. */
static int32_t next_weight(uint32_t *at)
{
    const uint32_t bit = (*at)++ * ${weight_bits}u;
    const uint32_t two = weights[bit >> 3] | ((uint32_t)weights[(bit >> 3) + 1] << 8);
    const int32_t field = (int32_t)((two >> (bit & 7)) & ${weight_mask}u);
    return field - 2 * (field & ${weight_sign});
}
