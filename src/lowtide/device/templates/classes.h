
#define ${P}_CLASSES ${n_classes}
extern const char *const ${p}_classes[${P}_CLASSES];

/* Returns the class of a code, an index of ${p}_classes. */
int ${p}_decide(const uint8_t code[${P}_CODE_BYTES]);
