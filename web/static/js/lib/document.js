// Changes to the documents of jobs and apps in forms.
import { same } from './diff.js'

/** @typedef {Record<string, any>} Doc */

/**
 * changeOf returns the body of an update that changes the document `before` into `after`: the name, the fields that differ, and
 * null for removed fields, which sets their default.
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
 * rebased applies to the document `theirs` the changes by which `mine` differs from `base`. `both` are the fields that both sides
 * have changed to different values; those of `mine` win.
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
 * getField reads a field such as `cron`, or such as `props.email.host`, which is the entry email.host of props.
 * @param {Doc} doc
 * @param {string} field
 */
export function getField(doc, field) {
  const [map, name] = split(field)
  return name === '' ? doc[map] : doc[map]?.[name]
}

/**
 * withField returns a document with another value of a field. The value undefined removes the field, and also its map if that
 * becomes empty. The entries of maps are texts, so a number or boolean is converted.
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
