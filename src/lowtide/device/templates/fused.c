
/* a b + c rounded once, as processors with fused operations have it: the product is exact in double, and the sum is
   rounded to odd there, so that rounding it to float is as if nothing had been rounded before. */
static float fused(float a, float b, float c)
{
    union {
        double value;
        uint64_t bits;
    } sum;
    const double product = (double)a * (double)b;
    double other, error;
    sum.value = product + (double)c;
    other = sum.value - product;
    error = (product - (sum.value - other)) + ((double)c - other);
    if (error != 0.0 && !(sum.bits & 1)) {
        if ((error > 0.0) == (sum.value > 0.0)) ++sum.bits;
        else --sum.bits;
    }
    return (float)sum.value;
}
