
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

/* v = H S3 H S2 H S1 x. The order of the additions is fixed: bits depend on how they round. */
static void project(const ${input_type} *x, const uint8_t *minus, float *v)
{
    uint32_t i, h;
    for (i = 0; i < DIMENSION; ++i) v[i] = i < ${P}_FEATURES ? (float)x[i] : 0.0f;
    flip(v, minus);
    for (h = DIMENSION / 2; h > 0; h /= 2) stage(v, h);
    flip(v, minus + DIMENSION / 8);
    for (h = 1; h < DIMENSION; h *= 2) stage(v, h);
    flip(v, minus + DIMENSION / 4);
    for (h = DIMENSION / 2; h > 0; h /= 2) stage(v, h);
}
$phase
int ${p}_encode(const ${input_type} x[${P}_FEATURES], uint8_t code[${P}_CODE_BYTES])
{
    static const float shifts[${width}] = {$shifts};
    float v[DIMENSION];
    uint32_t block, i, k, j = 0, index = 0;
    for (i = 0; i < ${P}_CODE_BYTES; ++i) code[i] = 0;
    for (block = 0; block < N_BLOCKS; ++block) {
        project(x, signs + 3 * DIMENSION / 8 * block, v);
        /* What is not finite has spread to every output: one look is enough. */
        if (!(v[0] - v[0] == 0.0f)) return -1;
        for (i = 0; i < DIMENSION && j < N_FREQUENCIES; ++i, ++j) {
            const float t = turns(v[i], j);
            for (k = 0; k < ${width} && index < ${P}_LEVELS; ++k) {
                put(code, index, level(t + shifts[k]));
                ++index;
            }
        }
    }
    return 0;
}
