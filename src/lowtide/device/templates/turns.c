
$offset_of
/* The phase in turns. A volatile product is rounded before it is added to, whatever the compiler may contract. */
static float turns(float v, uint32_t j)
{
    volatile float product = v * scale_of(j);
    return product + offset_of(j);
}
