
static void put(uint8_t *code, uint32_t index, uint32_t level)
{
    const uint32_t bit = index * ${stored_bits}u;
    code[bit >> 3] = (uint8_t)(code[bit >> 3] | (level << (bit & 7)));$across
}
