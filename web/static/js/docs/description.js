// Converts an OpenAPI description to the form in which the page shows it.

/** @typedef {Record<string, any>} Schema */
/** @typedef {{name: string, in: string, description: string, required?: boolean, schema: Schema, example?: any}} Parameter */
/** @typedef {{schema: Schema, example?: any}} Media */
/** @typedef {{status: string, description: string, headers: Record<string, {description: string}>, content: Record<string, Media>}} Answer */
/** @typedef {{id: string, method: string, path: string, tag: string, summary: string, rule: string, parameters: Parameter[], body: Record<string, Media>, bodyRequired: boolean, answers: Answer[]}} Operation */
/** @typedef {{name: string, about: string, operations: Operation[]}} Group */

const methods = ['get', 'post', 'put', 'delete']

/**
 * resolve returns a part of a description, or the part to which it refers.
 * @param {any} description
 * @param {any} part
 */
export function resolve(description, part) {
  if (typeof part?.$ref !== 'string') return part
  return part.$ref.slice(2).split('/').reduce((/** @type {any} */ at, /** @type {string} */ name) => at?.[name], description)
}

/**
 * groupsOf returns all operations, in the groups and the order in which they are shown.
 * @param {any} description
 * @returns {Group[]}
 */
export function groupsOf(description) {
  /** @type {Operation[]} */
  const all = Object.entries(description.paths).flatMap(([path, item]) =>
    methods.filter((m) => item[m]).map((m) => operationOf(description, m, path, item[m])),
  )
  return description.tags.map((/** @type {any} */ tag) => ({ name: tag.name, about: tag.description, operations: all.filter((o) => o.tag === tag.name) }))
}

/**
 * @param {any} description
 * @param {string} method
 * @param {string} path
 * @param {any} of
 * @returns {Operation}
 */
function operationOf(description, method, path, of) {
  const answers = Object.entries(of.responses).map(([status, one]) => {
    const { description: text, headers = {}, content = {} } = resolve(description, one)
    return { status, description: text, headers, content }
  })
  return {
    id: of.operationId, method: method.toUpperCase(), path, tag: of.tags[0], summary: of.summary, rule: of['x-rule'], parameters: of.parameters ?? [],
    body: of.requestBody?.content ?? {}, bodyRequired: of.requestBody?.required ?? false, answers,
  }
}

/**
 * search returns the operations whose method, path, summary, id and group together contain all words.
 * @param {Group[]} groups
 * @param {string} typed
 * @returns {Group[]}
 */
export function search(groups, typed) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const fits = (/** @type {Group} */ g, /** @type {Operation} */ o) => {
    const text = `${o.method} ${o.path} ${o.summary} ${o.id} ${g.name}`.toLowerCase()
    return words.every((w) => text.includes(w))
  }
  return groups.map((g) => ({ ...g, operations: g.operations.filter((o) => fits(g, o)) })).filter((g) => g.operations.length)
}

/**
 * typeOf describes the type of a schema.
 * @param {Schema} [schema]
 * @returns {string}
 */
export function typeOf(schema = {}) {
  if (schema.$ref) return schema.$ref.split('/').pop()
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ')
  if (schema.enum) return schema.enum.join(', ')
  const type = [schema.type ?? 'any'].flat().join(' or ')
  if (schema.items) return `${type} of ${typeOf(schema.items)}`
  if (schema.type === 'object' && typeof schema.additionalProperties === 'object') return `map of ${typeOf(schema.additionalProperties)}`
  return schema.format ? `${type}, ${schema.format}` : type
}

/**
 * boundsOf describes which values a schema allows.
 * @param {Schema} [schema]
 */
export function boundsOf(schema = {}) {
  const parts = []
  if (schema.minimum !== undefined && schema.maximum !== undefined) parts.push(`${schema.minimum} to ${schema.maximum}`)
  else if (schema.minimum !== undefined) parts.push(`at least ${schema.minimum}`)
  if (schema.maxLength !== undefined) parts.push(`at most ${schema.maxLength} characters`)
  if (schema.default !== undefined && schema.default !== '') parts.push(`default ${JSON.stringify(schema.default).replaceAll('"', '')}`)
  return parts.join(', ')
}

/**
 * requestOf returns an example of an operation's request, with the required parameters and the body of the description.
 * @param {Operation} o
 * @returns {import('../lib/api.js').Request}
 */
export function requestOf(o) {
  const value = (/** @type {Parameter} */ p) => encodeURIComponent(String(p.example ?? p.schema.default ?? p.name)).replaceAll('%40', '@')
  let path = o.path
  for (const p of o.parameters.filter((one) => one.in === 'path')) path = path.replace(`{${p.name}}`, value(p))
  const query = o.parameters.filter((p) => p.in === 'query' && p.required).map((p) => `${p.name}=${value(p)}`)
  const json = o.body['application/json']
  return { method: o.method, path: path + (query.length ? `?${query.join('&')}` : ''), body: json?.example }
}
