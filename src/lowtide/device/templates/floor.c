
/* u - floor(u), in [0, 1). From 2^23 on every float is a whole number; what is no number counts as 0. */
static float part_of_turn(float u)
{
    const float big = 8388608.0f;
    float whole, f;
    if (!(u > -big && u < big)) return 0.0f;
    whole = (float)(int32_t)u;
    if (whole > u) whole -= 1.0f;
    f = u - whole;
    return f < 1.0f ? f : 0.0f;
}
