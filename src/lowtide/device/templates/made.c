
/* What is made of a cell. */
static double made(double cell, uint32_t what)
{
    switch (what) {
$made
    }
}
