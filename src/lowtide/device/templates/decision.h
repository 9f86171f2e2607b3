
#define ${P}_SCORES ${n_scores}

/* What a score is in units of the model's decision values${relative}. */
#define ${P}_UNIT ${unit}

/* Writes the scores of a code. */
void ${p}_scores(const uint8_t code[${P}_CODE_BYTES], ${score_type} scores[${P}_SCORES]);
