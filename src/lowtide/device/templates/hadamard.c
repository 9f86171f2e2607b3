
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

/* A volatile product is rounded before it is added to, whatever the compiler may contract. */
static float rounded_product(float a, float b)
{
    volatile float rounded = a * b;
    return rounded;
}

/* Turns each pair of neighbors by its angle k, (k + 1/2) / 256 of a turn: the upper two bits are the quarter. */
static void rotate(float *v, const uint8_t *turned_by)
{
    uint32_t i;
    for (i = 0; i < DIMENSION; i += 2) {
        const uint32_t quarter = turned_by[i / 2] >> 6, k = turned_by[i / 2] & 63;
        const float a = v[i], b = v[i + 1];
        float c = cosines[k], s = cosines[63 - k];
        if (quarter & 1) {
            const float before = c;
            c = -s;
            s = before;
        }
        if (quarter & 2) {
            c = -c;
            s = -s;
        }
        v[i] = rounded_product(a, c) - rounded_product(b, s);
        v[i + 1] = rounded_product(a, s) + rounded_product(b, c);
    }
}

/* v = H S3 G R G S1 x, G being H without its stage of stride 1, missing entries of x being 0. The order of the
   additions is fixed: bits depend on how they round. */
static void project(const ${input_type} *x, uint32_t block, float *v)
{
    const uint8_t *minus = signs + DIMENSION / 4 * block;
    uint32_t i, h;
    for (i = 0; i < DIMENSION; ++i) {
        const float entry = i < ${P}_FEATURES ? $entry : 0.0f;
        v[i] = (minus[i >> 3] >> (i & 7)) & 1 ? -entry : entry;
    }
    for (h = DIMENSION / 2; h > 1; h /= 2) stage(v, h);
    rotate(v, angles + DIMENSION / 2 * block);
    for (h = 2; h < DIMENSION; h *= 2) stage(v, h);
    flip(v, minus + DIMENSION / 8);
    for (h = DIMENSION / 2; h > 0; h /= 2) stage(v, h);
}

$scale_of