
#define COLUMNS ${columns}u
$next_weight
static void add(uint32_t *at, ${score_type} *scores, ${score_type} value)
{
    uint32_t c;
    for (c = 0; c < COLUMNS; ++c) scores[c] += value * next_weight(at);
}

/* Written as volatile, so that compilers make no call of a library's memcpy of it. */
static void start(volatile ${score_type} *scores)
{
    uint32_t c;
    for (c = 0; c < COLUMNS; ++c) scores[c] = bias[c];
}

void ${p}_scores(const uint8_t ${given}[${P}_CODE_BYTES], ${score_type} scores[${P}_SCORES])
{
    uint32_t j, at = 0;$expand
    start(scores);
    for (j = 0; j < ${read}_LEVELS; ++j) {
$visit
    }$last
}
