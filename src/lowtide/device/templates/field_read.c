
/* The features that a code is read by, as a code of their own. Decoded coordinates are finite, and so are the sums. */
static void read_fields(const uint8_t *packed, uint8_t *code)
{
    float z[FIELDS];
$mixed    (void)encode_features_read(z, code);
}
