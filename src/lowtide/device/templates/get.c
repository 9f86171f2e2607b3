
static uint32_t get(const uint8_t *code, uint32_t index)
{
    const uint32_t bit = index * ${stored_bits}u;
    return ($window >> (bit & 7)) & ${mask}u;
}
