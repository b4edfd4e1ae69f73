/**
 * JSON with line breaks; what is none as it is.
 *
 * @param {string} text
 */
export function pretty(text) {
  try {
    return JSON.stringify(parseExactly(text), null, 2);
  } catch {
    return text;
  }
}

/**
 * Parses JSON so that it is written again with the digits that it had: `1.0`, or a whole number of 20 digits.
 *
 * @param {string} text
 */
export function parseExactly(text) {
  return JSON.parse(text, keepDigits);
}

/** @type {{ rawJSON?: (text: string) => unknown }} */
const { rawJSON } = /** @type {object} */ (JSON);

/**
 * Older browsers know no `context`, and show such a number as they understand it.
 *
 * @param {string} _key
 * @param {unknown} value
 * @param {{ source?: string }} [context]
 */
function keepDigits(_key, value, context) {
  const source = context?.source;
  const isChanged = typeof value === "number" && source !== undefined && String(value) !== source;
  return isChanged && rawJSON !== undefined ? rawJSON(source) : value;
}
