// Parses JSON that users type. Errors have line and column, in the same words in every browser.

/** @typedef {{what: 'end' | 'value' | 'name' | 'colon' | 'comma' | 'string' | 'object' | 'twice', found: string, line: number, column: number}} JSONProblem */

/**
 * parseObject parses a text that must be one JSON object.
 * @param {string} text
 * @returns {{value: Record<string, any>, problem?: undefined} | {value?: undefined, problem: JSONProblem}}
 */
export function parseObject(text) {
  const at = firstFault(text)
  if (at) {
    const before = text.slice(0, at.at).split('\n')
    return { problem: { what: at.what, found: at.found ?? text.slice(at.at, at.at + 1), line: before.length, column: [...before[before.length - 1]].length + 1 } }
  }
  return { value: JSON.parse(text) }
}

/** pretty formats a document as indented JSON. */
export const pretty = (/** @type {unknown} */ value) => JSON.stringify(value, null, 2)

/** @typedef {{at: number, what: JSONProblem['what'], found?: string}} Fault */

/**
 * firstFault returns the first place at which a text is not a JSON object, or null if it is one.
 * @param {string} text
 * @returns {Fault | null}
 */
function firstFault(text) {
  let at = 0
  const space = () => {
    while (/[ \t\r\n]/.test(text[at] ?? '')) at++
  }
  const fault = (/** @type {JSONProblem['what']} */ what, /** @type {number} */ where = at, /** @type {string | undefined} */ found = undefined) => {
    throw { at: where, what: where >= text.length ? 'end' : what, found }
  }
  const take = (/** @type {RegExp} */ what) => {
    what.lastIndex = at
    const found = what.exec(text)
    if (found) at += found[0].length
    return found?.[0]
  }
  const string = () => {
    const from = at
    const found = take(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y)
    if (found === undefined) fault('string', from)
    return found
  }
  const value = (/** @type {number} */ depth) => {
    space()
    if (depth > 64) fault('value')
    const c = text[at]
    if (c === '{') object(depth)
    else if (c === '[') list(depth)
    else if (c === '"') string()
    else if (take(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y) === undefined) fault('value')
    space()
  }
  const list = (/** @type {number} */ depth) => {
    at++
    space()
    if (text[at] === ']') return void at++
    for (;;) {
      value(depth + 1)
      if (text[at] === ']') return void at++
      if (text[at] !== ',') fault('comma')
      at++
    }
  }
  const object = (/** @type {number} */ depth) => {
    const names = new Set()
    at++
    space()
    if (text[at] === '}') return void at++
    for (;;) {
      space()
      const from = at
      if (text[at] !== '"') fault('name')
      const name = JSON.parse(/** @type {string} */ (string()))
      if (names.has(name)) fault('twice', from, name)
      names.add(name)
      space()
      if (text[at] !== ':') fault('colon')
      at++
      value(depth + 1)
      if (text[at] === '}') return void at++
      if (text[at] !== ',') fault('comma')
      at++
    }
  }
  try {
    space()
    if (text[at] !== '{') fault('object')
    object(0)
    space()
    if (at < text.length) fault('object')
    return null
  } catch (e) {
    return /** @type {Fault} */ (e)
  }
}
