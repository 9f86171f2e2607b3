
/* Writes the code of a row: $placed, bit i is bit i % 8 of byte i / 8, others are 0.
   Returns 0, or -1 for a row that holds what is no number or whose sums leave the range of float${refusal}. */
int ${p}_encode(const ${row_type} ${row}[${P}_${row_size}], uint8_t code[${P}_CODE_BYTES]);
