
/* The phase in turns. A volatile product is rounded before it is added to, whatever the compiler may contract. */
static float turns(float v, float scale, float offset)
{
    volatile float product = v * scale;
    return product + offset;
}
