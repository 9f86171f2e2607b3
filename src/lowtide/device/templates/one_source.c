
static double source(const ${row_type} *row, uint32_t from, uint32_t i)
{
${body}
}
