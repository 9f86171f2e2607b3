    const float size = u < 0.0f ? -u : u;
    uint32_t low = 0, high = ${n}u;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (borders[middle] <= size) low = middle + 1;
        else high = middle;
    }
    return u < 0.0f ? ${n}u - low : ${n}u + 1 + low;