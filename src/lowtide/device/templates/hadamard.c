
#define DIMENSION ${dimension}u
#define N_BLOCKS ${n_blocks}u
#define N_FREQUENCIES ${n_frequencies}u

/* The stage of stride h replaces (v[i], v[i + h]) by their sum and difference. */
static void stage(float *v, uint32_t h)
{
    uint32_t start, i;
    for (start = 0; start < DIMENSION; start += 2 * h) {
        for (i = start; i < start + h; ++i) {
            const float a = v[i], b = v[i + h];
            v[i] = a + b;
            v[i + h] = a - b;
        }
    }
}

static void flip(float *v, const uint8_t *minus)
{
    uint32_t i;
    for (i = 0; i < DIMENSION; ++i) {
        if ((minus[i >> 3] >> (i & 7)) & 1) v[i] = -v[i];
    }
}

/* v = H S3 H S2 H S1 x, missing entries of x being 0. The order of the additions is fixed: bits depend on how they
   round. */
static void project(const ${input_type} *x, const uint8_t *minus, float *v)
{
    uint32_t i, h;
    for (i = 0; i < DIMENSION; ++i) {
        const float entry = i < ${P}_FEATURES ? (float)x[i] : 0.0f;
        v[i] = (minus[i >> 3] >> (i & 7)) & 1 ? -entry : entry;
    }
    for (h = DIMENSION / 2; h > 0; h /= 2) stage(v, h);
    flip(v, minus + DIMENSION / 8);
    for (h = 1; h < DIMENSION; h *= 2) stage(v, h);
    flip(v, minus + DIMENSION / 4);
    for (h = DIMENSION / 2; h > 0; h /= 2) stage(v, h);
}

$scale_of