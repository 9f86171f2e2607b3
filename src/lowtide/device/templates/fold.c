
/* |u - rint(u)|, in [0, 1/2]. Adding and subtracting 2^23 rounds to a whole number, ties to even; from there on every
   float is one. What is no number counts as 0. */
static float part_of_turn(float u)
{
    const float big = 8388608.0f;
    volatile float shifted;
    float f;
    if (!(u > -big && u < big)) return 0.0f;
    shifted = u < 0.0f ? u - big : u + big;
    f = u - (u < 0.0f ? shifted + big : shifted - big);
    return f < 0.0f ? -f : f;
}
