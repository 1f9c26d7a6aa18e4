// Compares two documents field by field.

/** @typedef {{field: string, kind: 'added' | 'removed' | 'changed' | 'hidden', before: unknown, after: unknown}} Difference */

const isMap = (/** @type {unknown} */ v) => typeof v === 'object' && v !== null && !Array.isArray(v)

/** mask replaces secrets in documents. */
export const mask = '******'

/**
 * same reports whether two values are the same JSON. The order of fields does not matter.
 * @param {unknown} a
 * @param {unknown} b
 * @returns {boolean}
 */
export function same(a, b) {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || !a || !b || Array.isArray(a) !== Array.isArray(b)) return false
  const left = Object.keys(a)
  return left.length === Object.keys(b).length && left.every((k) => k in b && same(/** @type {any} */ (a)[k], /** @type {any} */ (b)[k]))
}

/**
 * differences lists the fields that differ, in the order of the later document. Nested fields are named like `props.name`. With
 * `onlyChanges`, the documents hold only the fields that have changed, as those of the audit do. Therefore a masked secret that is
 * the same in both has changed as well, and is listed as `hidden`.
 * @param {unknown} before
 * @param {unknown} after
 * @param {{onlyChanges?: boolean}} [how]
 * @returns {Difference[]}
 */
export function differences(before, after, { onlyChanges = false } = {}) {
  /** @type {Difference[]} */
  const found = []
  const walk = (/** @type {string} */ field, /** @type {any} */ a, /** @type {any} */ b) => {
    if ((isMap(a) && isMap(b)) || (isMap(a) && b === undefined) || (a === undefined && isMap(b))) {
      const keys = new Set([...Object.keys(b ?? {}), ...Object.keys(a ?? {})])
      for (const k of keys) walk(field ? `${field}.${k}` : k, a?.[k], b?.[k])
    } else if (!same(a, b)) {
      found.push({ field, kind: a === undefined ? 'added' : b === undefined ? 'removed' : 'changed', before: a, after: b })
    } else if (onlyChanges && typeof a === 'string' && a.includes(mask)) {
      found.push({ field, kind: 'hidden', before: a, after: b })
    }
  }
  walk('', before ?? undefined, after ?? undefined)
  return found
}

/**
 * middles splits two texts into their common beginning, the different middles, and their common end.
 * @param {string} a
 * @param {string} b
 * @returns {[head: string, a: string, b: string, tail: string]}
 */
export function middles(a, b) {
  const most = Math.min(a.length, b.length)
  let head = 0
  while (head < most && a[head] === b[head]) head++
  let tail = 0
  while (tail < most - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
  if (head && /[\ud800-\udbff]/.test(a[head - 1])) head-- // does not split a character
  if (tail && /[\udc00-\udfff]/.test(a[a.length - tail])) tail--
  return [a.slice(0, head), a.slice(head, a.length - tail), b.slice(head, b.length - tail), a.slice(a.length - tail)]
}
