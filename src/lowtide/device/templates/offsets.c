
static float offset_of(uint32_t j)
{
    const uint8_t *o = offsets + 3 * j;
    return (float)(int32_t)(o[0] | ((uint32_t)o[1] << 8) | ((uint32_t)o[2] << 16)) * 5.9604644775390625e-8f;
}
