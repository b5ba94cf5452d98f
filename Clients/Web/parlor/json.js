/** Returns true if two values are the same JSON. The order of members does not matter. */
export function isSame(a, b) {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]));
}

/** Returns true if a list has a value that is the same JSON. */
export function isAmong(list, value) {
  return list.some((one) => isSame(one, value));
}
