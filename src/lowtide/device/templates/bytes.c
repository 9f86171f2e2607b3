
static int32_t next_weight(uint32_t *at)
{
    return weights[(*at)++];
}
