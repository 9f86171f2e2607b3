
#define ${P}_CLASSES ${n_classes}
extern const char *const ${p}_classes[${P}_CLASSES];
