    uint32_t j;
    for (j = 0; j < ${P}_FEATURES; ++j) {
        if (finish((double)row[j], j, x) != 0) return -1;
    }