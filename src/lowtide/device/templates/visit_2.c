        const uint32_t entry = 2 * get(code, j);
        add(&at, scores, values[entry]);
        add(&at, scores, values[entry + 1]);