
/* The level of a projection: how many borders its size has passed, mirrored below 0. */
static uint32_t level(float u)
{
$count
}

$head
{
    const float factor = inverse_length(x);
    float v[DIMENSION];
    uint32_t block, i, j = 0;
    clear(code);
    if (factor < 0.0f) return -1;
    for (block = 0; block < N_BLOCKS; ++block) {
        project(x, block, v);
        if (!(v[0] - v[0] == 0.0f)) return -1;
        for (i = 0; i < DIMENSION && j < N_FREQUENCIES; ++i, ++j) {
            const float normalized = v[i] * factor;
            put(code, j, level(normalized * scale_of(j)));
        }
    }
    return 0;
}
