
/* IEEE binary16 to float: the exponents' bias differs by 112. */
static float next_weight(uint32_t *at)
{
    const uint32_t half = weights[(*at)++];
    union {
        uint32_t bits;
        float value;
    } weight;
    weight.bits = ((half & 0x7fffu) << 13) | ((half & 0x8000u) << 16);
    return weight.value * 5192296858534827628530496329220096.0f;
}
