static float scale_of(uint32_t j)
{
    union {
        uint32_t bits;
        float value;
    } scale;
    scale.bits = ${least}u + ((uint32_t)scales[j] << 8);
    return scale.value;
}
