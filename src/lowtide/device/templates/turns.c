
/* The phase in turns. */
static float turns(float v, float scale, float offset)
{
    return rounded_product(v, scale) + offset;
}
