// Shell commands that do the same as buttons of the console.
import { within } from './base.js'
import { session } from './session.js'

/** @param {string} text */
const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

/**
 * curlLine returns the curl command for a request, as a line for a POSIX shell.
 * @param {import('./api.js').Request} request
 * @param {string} [origin]
 */
export function curlLine({ method, path, body, headers = {} }, origin = location.origin) {
  const parts = ['curl']
  if (method !== 'GET') parts.push('-X', method)
  const who = session.get()
  if (who && who.kind !== 'machine') parts.push('-H', '"Authorization: Bearer $TOKEN"')
  for (const [k, v] of Object.entries(headers)) parts.push('-H', quoted(`${k}: ${v}`))
  if (body !== undefined) parts.push('-H', quoted('Content-Type: application/json'), '-d', quoted(JSON.stringify(body)))
  parts.push(quoted(origin + within(path)))
  return parts.join(' ')
}
