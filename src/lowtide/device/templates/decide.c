
int ${p}_decide(const uint8_t code[${P}_CODE_BYTES])
{
    ${score_type} scores[${P}_SCORES];
    ${p}_scores(code, scores);
$choose
}
