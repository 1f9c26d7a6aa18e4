// What differs between two documents, field by field.

/** @typedef {{field: string, kind: 'added' | 'removed' | 'changed' | 'hidden', before: unknown, after: unknown}} Difference */

const isMap = (/** @type {unknown} */ v) => typeof v === 'object' && v !== null && !Array.isArray(v)

/** mask is what stands in documents where a secret is. */
export const mask = '******'

/**
 * same says whether two values are the same as JSON, whatever the order of fields.
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
 * differences lists the fields that differ, in the order of the later document; fields within fields as `props.name`. Where
 * documents hold only what has changed (`onlyChanges`), as the audit's do, a secret that stands in both has changed: it is
 * `hidden`.
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
 * middles parts two texts into what they begin and end with in common, and what stands between.
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
  if (head && /[\ud800-\udbff]/.test(a[head - 1])) head-- // no half of a character
  if (tail && /[\udc00-\udfff]/.test(a[a.length - tail])) tail--
  return [a.slice(0, head), a.slice(head, a.length - tail), b.slice(head, b.length - tail), a.slice(a.length - tail)]
}
