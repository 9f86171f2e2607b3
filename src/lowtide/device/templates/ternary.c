
$head
{
    $start
    uint32_t j;
    clear(code);
    for (j = 0; j < ${P}_LEVELS; ++j) {
        const int32_t sum = $sum;
        if ($plus) put(code, j, 1);$minus
    }
    return 0;
}
