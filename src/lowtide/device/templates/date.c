
/* The digits at s as a number, as long as there are; *n says how many there were. */
static const char *digits(const char *s, int32_t *value, int32_t *n)
{
    *value = 0;
    for (*n = 0; *s >= '0' && *s <= '9'; ++s, ++*n) {
        if (*n < 8) *value = 10 * *value + (*s - '0');
    }
    return s;
}

static int is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Days from 1970-01-01 to a date, 0x7fffffff where there is none; years begin in March, so that a leap day is last. */
static int32_t whole_days(int32_t year, int32_t month, int32_t day)
{
    const int32_t leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    const int32_t length = month == 2 ? 28 + leap : 30 + ((month + (month >> 3)) & 1);
    const int32_t y = month > 2 ? year : year - 1;
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > length) return 0x7fffffff;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 719469;
}

/* What follows a day: a time, as seconds of UTC and a million parts of one. Returns the end, or 0 where it is none. */
static const char *time_of_day(const char *s, int32_t *seconds, int32_t *parts)
{
    int32_t hour, minute, second = 0, n, zone, ahead = 0, compact;
    const char *begin = s;
    if (*s == 'T') ++s;
    else while (*s == ' ' || *s == '\t') ++s;
    if (s == begin) return 0;
    s = digits(s, &hour, &n);
    compact = n == 6;
    if (n == 6) {
        second = hour % 100;
        hour /= 100;
    }
    if (n == 6 || n == 4) {
        minute = hour % 100;
        hour /= 100;
    } else {
        if (n < 1 || n > 2 || *s != ':') return 0;
        s = digits(s + 1, &minute, &n);
        if (n != 2) return 0;
        if (*s == ':') {
            s = digits(s + 1, &second, &n);
            if (n != 2) return 0;
            compact = 1;
        }
    }
    if (compact && *s == '.') {
        int32_t scale = 100000;
        if (*++s < '0' || *s > '9') return 0;
        for (; *s >= '0' && *s <= '9'; ++s, scale /= 10) *parts += scale * (*s - '0');
    }
    begin = s;
    while (*s == ' ' || *s == '\t') ++s;
    if (*s == 'Z') {
        ++s;
    } else if (*s == '+' || *s == '-') {
        const int32_t sign = *s == '-' ? -1 : 1;
        s = digits(s + 1, &zone, &n);
        if (n == 2) {
            ahead = 0;
            if (*s == ':') {
                s = digits(s + 1, &ahead, &n);
                if (n != 2) return 0;
            }
            zone = 100 * zone + ahead;
        } else if (n != 4) {
            return 0;
        }
        if (zone / 100 > 23 || zone % 100 > 59) return 0;
        ahead = sign * (60 * (zone / 100) + zone % 100);
    } else {
        s = begin;
    }
    if (hour > 23 || minute > 59 || second > 59) return 0;
    *seconds = (60 * hour + minute - ahead) * 60 + second;
    return s;
}

double ${p}_date(uint32_t column, const char *text)
{
    int32_t part[3], length[3], order = -1, year, days, seconds = 0, parts = 0, i;
    const char *s = text;
    volatile double share;
    for (i = 0; i < ${n_dates}; ++i) {
        if (held_columns[i + ${n_truths}] == column) order = date_orders[i];
    }
    if (order < 0) return ${P}_NO_DATE;
    while (is_blank(*s)) ++s;
    share = 0.0;
    if (*s == 0) return share / share;
    s = digits(s, &part[0], &length[0]);
    if (order == 0 && length[0] == 8) {
        part[2] = part[0] % 100;
        part[1] = part[0] / 100 % 100;
        part[0] = part[0] / 10000;
    } else {
        const char mark = *s;
        if (mark != '-' && mark != '/' && mark != '.') return ${P}_NO_DATE;
        for (i = 1; i < 3; ++i) {
            if (*s != mark) return ${P}_NO_DATE;
            s = digits(s + 1, &part[i], &length[i]);
        }
        for (i = 0; i < 3; ++i) {
            if (i == (order == 0 ? 0 : 2) ? length[i] != 2 && length[i] != 4 : length[i] < 1 || length[i] > 2) {
                return ${P}_NO_DATE;
            }
        }
        i = order == 0 ? 0 : 2;
        if (length[i] == 2) part[i] += part[i] > 68 ? 1900 : 2000;
    }
    year = part[order == 0 ? 0 : 2];
    days = order == 0 ? whole_days(year, part[1], part[2])
                      : whole_days(year, part[order == 1], part[order != 1]);
    for (text = s; is_blank(*text); ++text) continue;
    if (days == 0x7fffffff) return ${P}_NO_DATE;
    if (*text != 0) {
        s = time_of_day(s, &seconds, &parts);
        if (s == 0) return ${P}_NO_DATE;
        while (is_blank(*s)) ++s;
        if (*s != 0) return ${P}_NO_DATE;
    }
    if (seconds < 0 || seconds >= 86400) {
        days += seconds < 0 ? -1 : 1;
        seconds += seconds < 0 ? 86400 : -86400;
    }
    share = ((double)seconds * 1000000.0 + (double)parts) / 86400000000.0;
    return (double)days + share;
}
