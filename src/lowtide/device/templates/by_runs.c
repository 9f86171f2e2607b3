    uint32_t r, i, n, j = 0;$check
    for (r = 0; r < ${n_runs}; ++r) {
        for (i = runs[3 * r + 1], n = runs[3 * r + 2]; n > 0; --n, ++i, ++j) {
            if (finish(source(row, runs[3 * r], i), j, x) != 0) return -1;
        }
    }