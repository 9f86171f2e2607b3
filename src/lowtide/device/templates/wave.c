
/* The sine of the turn that days make in a period, of the cosine with place 1. A volatile variable rounds after each
   operation, whatever the compiler may contract. */
static double wave(double days, double period, int32_t place)
{
    /* Of sine and cosine in powers of the angle's square, the highest first. */
    static const double series[2][8] = {
        {-7.647163731819816e-13, 1.6059043836821613e-10, -2.505210838544172e-08, 2.7557319223985893e-06,
         -0.0001984126984126984, 0.008333333333333333, -0.16666666666666666, 1.0},
        {-1.1470745597729725e-11, 2.08767569878681e-09, -2.755731922398589e-07, 2.48015873015873e-05,
         -0.001388888888888889, 0.041666666666666664, -0.5, 1.0},
    };
    volatile double turns = days / period, v, x, square;
    const double *c;
    int32_t whole, i;
    if (days != days) return days;
    whole = (int32_t)turns;
    if ((double)whole > turns) --whole;
    turns = turns - (double)whole;
    /* The nearest quarter of a turn, and the angle from there. */
    v = 4.0 * turns;
    v = v + 0.5;
    whole = (int32_t)v;
    x = turns - 0.25 * (double)whole;
    x = x * 6.283185307179586;
    square = x * x;
    place += whole;
    c = series[place & 1];
    v = c[0];
    for (i = 1; i < 8; ++i) {
        v = v * square;
        v = v + c[i];
    }
    if ((place & 1) == 0) v = v * x;
    return (place & 2) != 0 ? -v : v;
}
