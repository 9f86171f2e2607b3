// Dates of a table as days since 1970-01-01, and the numbers that are made of a day: to the bit as Python makes them.

export const BLANKS = /^[ \t\n\r\v\f]+|[ \t\n\r\v\f]+$/g;
const DAY_MICROSECONDS = 86400000000;
const PERIODS = { year: 365.2425, week: 7, day: 1 };

const YEAR = "(?<year>\\d{4}|\\d\\d)";
const DAYS = {
  ymd: `(?:${YEAR}(?<mark>[-/.])(?<month>\\d\\d?)\\k<mark>(?<day>\\d\\d?)|(?<y>\\d{4})(?<m>\\d\\d)(?<d>\\d\\d))`,
  dmy: `(?<day>\\d\\d?)(?<mark>[-/.])(?<month>\\d\\d?)\\k<mark>${YEAR}`,
  mdy: `(?<month>\\d\\d?)(?<mark>[-/.])(?<day>\\d\\d?)\\k<mark>${YEAR}`,
};
const CLOCK = "(?<hour>\\d\\d?):(?<minute>\\d\\d)(?::(?<second>\\d\\d)(?:\\.(?<part>\\d+))?)?";
const COMPACT_CLOCK = "(?<H>\\d\\d)(?<M>\\d\\d)(?:(?<S>\\d\\d)(?:\\.(?<compactPart>\\d+))?)?";
const ZONE = "[ \\t]*(?:Z|(?<sign>[+-])(?<zoneHour>\\d\\d)(?::?(?<zoneMinute>\\d\\d))?)";
const FORMS = Object.fromEntries(
  Object.entries(DAYS).map(([order, day]) => [
    order,
    new RegExp(`^${day}(?:(?:T|[ \\t]+)(?:${CLOCK}|${COMPACT_CLOCK})(?:${ZONE})?)?$`),
  ]),
);
// Of a table's order, what `written` makes of a date.
const WRITTEN = { ymd: ["year", "month", "day", "-"], dmy: ["day", "month", "year", "."], mdy: ["month", "day", "year", "/"] };

// The days of a text in an order, NaN for one of blanks, null for one that is no date.
export function daysOf(text, order) {
  const bare = text.replace(BLANKS, "");
  if (!bare) return NaN;
  const found = FORMS[order].exec(bare)?.groups;
  if (!found) return null;
  let year = Number(found.y ?? found.year);
  if (found.year?.length === 2) year += year > 68 ? 1900 : 2000;
  const month = Number(found.m ?? found.month);
  const day = Number(found.d ?? found.day);
  const [hour, minute] = [Number(found.hour ?? found.H ?? 0), Number(found.minute ?? found.M ?? 0)];
  const second = Number(found.second ?? found.S ?? 0);
  const micro = Number(`${found.part ?? found.compactPart ?? ""}000000`.slice(0, 6));
  const [zoneHour, zoneMinute] = [Number(found.zoneHour ?? 0), Number(found.zoneMinute ?? 0)];
  if (hour > 23 || minute > 59 || second > 59 || zoneHour > 23 || zoneMinute > 59) return null;
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > lengthOf(year, month)) return null;
  const ahead = (60 * zoneHour + zoneMinute) * (found.sign === "-" ? -1 : 1);
  const passed = ((60 * hour + minute - ahead) * 60 + second) * 1000000 + micro;
  const carry = Math.floor(passed / DAY_MICROSECONDS);
  return wholeDays(year, month, day) + carry + (passed - carry * DAY_MICROSECONDS) / DAY_MICROSECONDS;
}

function lengthOf(year, month) {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 ? 28 + Number(leap) : 30 + ((month + (month >> 3)) & 1);
}

// Days from 1970-01-01, with years that begin in March, so that a leap day is their last.
function wholeDays(year, month, day) {
  const y = month > 2 ? year : year - 1;
  const passed = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  return 365 * y + Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400) + passed - 719468;
}

// A part of a date: its days, or the sine or cosine of where they are in a period, each operation rounded by itself.
export function partOf(part, days) {
  if (part === "days") return days;
  const [period, wave] = part.split("_");
  const turns = days / PERIODS[period];
  const share = turns - Math.floor(turns);
  const quarter = Math.floor(4 * share + 0.5);
  const x = (share - 0.25 * quarter) * (2 * Math.PI);
  const place = quarter + (wave === "cosine" ? 1 : 0);
  const value = place % 2 === 0 ? polynomial(SINE, x * x) * x : polynomial(COSINE, x * x);
  return place % 4 >= 2 ? -value : value;
}

function polynomial(coefficients, x) {
  return coefficients.reduce((value, coefficient) => value * x + coefficient);
}

// The coefficients of sine (from x) and cosine (from 1) in powers of x squared, the highest first.
function series(first) {
  let factorial = 1;
  const made = Array.from({ length: 8 }, (_, k) => {
    if (k) factorial *= (2 * k + first) * (2 * k + first - 1);
    return (k % 2 ? -1 : 1) / factorial;
  });
  return made.reverse();
}

const SINE = series(1);
const COSINE = series(0);

// What a field of a date or of a date and time holds, in a table's order of year, month and day.
export function written(value, order) {
  const [date, time] = value.split("T");
  const [year, month, day] = date.split("-");
  const [first, second, third, mark] = WRITTEN[order];
  const parts = { year, month, day };
  return [parts[first], parts[second], parts[third]].join(mark) + (time ? ` ${time}` : "");
}

// Days as such a field holds them.
export function fieldText(days, withTime) {
  const text = new Date(Math.round(days * 1440) * 60000).toISOString();
  return text.slice(0, withTime ? 16 : 10);
}
