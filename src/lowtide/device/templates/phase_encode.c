
$head
{
    static const float shifts[${width}] = {$shifts};
    float v[DIMENSION];
    uint32_t block, i, k, j = 0, index = 0;$start
    clear(code);
    for (block = 0; block < N_BLOCKS; ++block) {
        project(x, block, v);
        /* What is not finite has spread to every output: one look is enough. */
        if (!(v[0] - v[0] == 0.0f)) return -1;
        for (i = 0; i < DIMENSION && j < N_FREQUENCIES; ++i) {
            ${skip}const float t = turns(v[i], scale_of(j), $offset);
            for (k = 0; k < ${width} && index < ${P}_LEVELS; ++k) {
                put(code, index, level(t + shifts[k]));
                ++index;
            }
            ++j;
        }
    }
    return 0;
}
