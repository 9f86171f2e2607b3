
typedef struct {
    State state;
    uint32_t second;
} Dither;

/* Dither in turns: 24 bits of each half of a word, the low half first. */
static float next_offset(Dither *dither, uint32_t j)
{
    uint32_t half = dither->second;
    if ((j & 1) == 0) {
        const uint64_t word = next_word(&dither->state);
        half = (uint32_t)word;
        dither->second = (uint32_t)(word >> 32);
    }
    return (float)(int32_t)(half >> 8) * 5.9604644775390625e-8f;
}
