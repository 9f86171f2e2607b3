
static uint32_t level(float u)
{
    return part_of_turn(u) $compare $border ? $inside : $outside;
}
