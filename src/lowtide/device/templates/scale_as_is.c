static float scale_of(uint32_t j)
{
    return scales[j];
}
