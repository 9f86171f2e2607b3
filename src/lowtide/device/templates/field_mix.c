    float decoded[FIELDS];
    uint32_t i, j;
    decode_fields(packed, decoded);
    for (i = 0; i < FIELDS; ++i) {
        float sum = 0.0f;
        for (j = 0; j < FIELDS; ++j) sum = fused(decoded[j], mix[FIELDS * j + i], sum);
        z[i] = sum;
    }
