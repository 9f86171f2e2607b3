
/* The number of borders ${passed} the place in a turn, by halving${through}. */
static uint32_t level(float u)
{
    const float f = part_of_turn(u);
    uint32_t low = 0, high = ${n_borders};
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (borders[middle] $compare f) low = middle + 1;
        else high = middle;
    }
    return $result;
}
