
/* Returns what a row holds for a text in a column of dates: days since 1970-01-01, NaN for a text of blanks. For a text
   that is no date it returns a number that no row may hold. */
#define ${P}_NO_DATE 1e300
double ${p}_date(uint32_t column, const char *text);
