
$head
{
    $start
    uint32_t j;
    clear(code);
    for (j = 0; j < ${P}_LEVELS; ++j) {
        const int32_t sum = $sum;
        if (sum > upper[j]) put(code, j, 1);
        else if (sum < lower[j]) put(code, j, ${below});
    }
    return 0;
}
