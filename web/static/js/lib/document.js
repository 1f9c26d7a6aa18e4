// Documents of jobs and apps, as forms change them.
import { same } from './diff.js'

/** @typedef {Record<string, any>} Doc */

/**
 * changeOf is the body of an update that makes one document of the other: the name, the fields that differ, and null for
 * those that are gone, which sets their default.
 * @param {Doc} before
 * @param {Doc} after
 * @param {string} nameField
 * @returns {Doc}
 */
export function changeOf(before, after, nameField) {
  /** @type {Doc} */
  const body = { [nameField]: before[nameField] }
  for (const [k, v] of Object.entries(after)) if (k !== nameField && !same(before[k], v)) body[k] = v
  for (const k of Object.keys(before)) if (!(k in after) && k !== nameField) body[k] = null
  return body
}

/**
 * rebased is a document with the changes that were made to `base` made to `theirs` instead. `both` are the fields that both
 * have changed, and differently: mine are taken.
 * @param {Doc} base
 * @param {Doc} theirs
 * @param {Doc} mine
 * @returns {{doc: Doc, both: string[]}}
 */
export function rebased(base, theirs, mine) {
  const doc = { ...theirs }
  /** @type {string[]} */
  const both = []
  for (const k of new Set([...Object.keys(base), ...Object.keys(mine)])) {
    if (same(base[k], mine[k])) continue
    if (!same(base[k], theirs[k]) && !same(theirs[k], mine[k])) both.push(k)
    if (k in mine) doc[k] = mine[k]
    else delete doc[k]
  }
  return { doc, both }
}

/**
 * getField reads `cron`, or `props.email.host`, which is the field email.host of props.
 * @param {Doc} doc
 * @param {string} field
 */
export function getField(doc, field) {
  const [map, name] = split(field)
  return name === '' ? doc[map] : doc[map]?.[name]
}

/**
 * withField is a document with another value of a field; undefined leaves it out, and a map without entries, too. Maps hold
 * texts, so a number or a truth becomes one there.
 * @param {Doc} doc
 * @param {string} field
 * @param {unknown} value
 * @returns {Doc}
 */
export function withField(doc, field, value) {
  const [map, name] = split(field)
  if (name === '') return put(doc, map, value)
  const inner = put(doc[map] ?? {}, name, typeof value === 'number' || typeof value === 'boolean' ? String(value) : value)
  return put(doc, map, Object.keys(inner).length ? inner : undefined)
}

/** @param {Doc} doc @param {string} key @param {unknown} value */
function put(doc, key, value) {
  const next = { ...doc, [key]: value }
  if (value === undefined) delete next[key]
  return next
}

/** @param {string} field @returns {[string, string]} */
function split(field) {
  const i = field.indexOf('.')
  return i < 0 ? [field, ''] : [field.slice(0, i), field.slice(i + 1)]
}
