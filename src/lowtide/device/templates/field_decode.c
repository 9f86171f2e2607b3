
/* What a code says of the coordinates. */
static void decode_fields(const uint8_t *code, float *z)
{
    const float *value = field_values;
    uint32_t j, bit = 0;
    for (j = 0; j < FIELDS; ++j) {
        const uint32_t width = field_bits[j];
        uint32_t two = code[bit >> 3];
        if ((bit & 7) + width > 8) two |= (uint32_t)code[(bit >> 3) + 1] << 8;
        z[j] = value[(two >> (bit & 7)) & ((1u << width) - 1u)];
        bit += width;
        value += 1u << width;
    }
}
