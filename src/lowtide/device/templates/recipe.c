$sources
/* One feature from where it comes, by its own operations, in double. A volatile variable rounds after each of them,
   whatever the compiler may contract. */
static int finish(double from, uint32_t j, float *x)
{
    volatile double v = from;
$steps    if (!(v >= -FLT_MAX && v <= FLT_MAX)) return -1;
    x[j] = (float)v;
    return 0;
}

static int make_features(const ${row_type} *row, float *x)
{
$read
    return 0;
}

int ${p}_encode(const ${row_type} row[${P}_COLUMNS], uint8_t code[${P}_CODE_BYTES])
{
    float x[${P}_FEATURES];
    const int status = $status;
    if (status == 0) return encode_features(x, code);
    clear(code);
    return status;
}
