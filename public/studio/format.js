/** How figures are written. */

const whole = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** @param {number} value */
export function count(value) {
  return Math.abs(value) < 100_000 ? whole.format(value) : compact.format(value);
}

/** @param {number} perSecond */
export function rate(perSecond) {
  if (perSecond === 0) return "0/s";
  if (perSecond < 0.1) return "<0.1/s";
  return `${perSecond < 10 ? perSecond.toFixed(1) : count(Math.round(perSecond))}/s`;
}

const UNITS = ["B", "KB", "MB", "GB", "TB"];

/** @param {number} value */
export function bytes(value) {
  let left = value;
  let unit = 0;
  while (left >= 1000 && unit < UNITS.length - 1) {
    left /= 1000;
    unit++;
  }
  return `${unit === 0 || left >= 100 ? Math.round(left) : left.toFixed(1)} ${UNITS[unit]}`;
}

/**
 * A span of time in its largest two units.
 *
 * @param {number} ms
 */
export function span(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [days, hours, minutes] = [86_400, 3600, 60].map((unit) => Math.floor(seconds / unit));
  if (days) return units(days, "d", (hours ?? 0) % 24, "h");
  if (hours) return units(hours, "h", (minutes ?? 0) % 60, "min");
  return minutes ? units(minutes, "min", seconds % 60, "s") : `${seconds} s`;
}

/**
 * @param {number} value
 * @param {string} unit
 * @param {number} rest
 * @param {string} restUnit
 */
function units(value, unit, rest, restUnit) {
  return rest === 0 ? `${value} ${unit}` : `${value} ${unit} ${rest} ${restUnit}`;
}

/**
 * How long ago something was; "–" if it never was.
 *
 * @param {number | null} at
 * @param {number} now
 */
export function ago(at, now) {
  return at === null ? "–" : `${span(now - at)} ago`;
}

/**
 * @param {number | null} at
 * @param {number} now
 */
export function age(at, now) {
  return at === null ? "–" : span(now - at);
}

/** @param {number} at */
export function time(at) {
  return new Date(at).toISOString().replace("T", " ").replace("Z", " UTC");
}

/**
 * @param {number} value
 * @param {string} one
 * @param {string} [many]
 */
export function plural(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}
