
/* Returns $answer. */
int ${p}_decide(const uint8_t code[${P}_CODE_BYTES]);
