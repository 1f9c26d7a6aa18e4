// The user who is logged in, and what this user may do.
import { get, ApiError, loginNeeded } from './api.js'
import { delayOf, mayPass } from './retry.js'
import { signal } from './signal.js'

/** @typedef {'metrics' | 'viewer' | 'operator' | 'admin'} Role */
/** @typedef {{name: string, kind: string, role: Role, apps?: string[], expires?: string}} Session */

/** session is the current login; null while there is none. */
export const session = signal(/** @type {Session | null} */ (null))

/** sessionError is why there is no session although no login is required, for example because the server does not answer. */
export const sessionError = signal(/** @type {ApiError | null} */ (null))

let tries = 0
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer

/**
 * readSession asks the server who is logged in. It repeats the request after an error that may pass, because the console shows
 * nothing before there is an answer.
 */
export async function readSession() {
  clearTimeout(timer)
  try {
    session.set(await get('/api/session'))
    sessionError.set(null)
    loginNeeded.set(false)
    tries = 0
  } catch (e) {
    const error = /** @type {ApiError} */ (e)
    session.set(null)
    loginNeeded.set(error.status === 401)
    sessionError.set(error.status === 401 ? null : error)
    if (mayPass(error)) timer = setTimeout(readSession, delayOf(++tries, error))
  }
}

const rank = { metrics: 0, viewer: 1, operator: 2, admin: 3 }

/**
 * may reports whether the user has a role for an app, or, without an app, for all apps.
 * @param {Role} role
 * @param {string} [app]
 */
export function may(role, app) {
  const who = session.get()
  if (!who || rank[who.role] < rank[role]) return false
  if (!who.apps?.length) return true
  return app !== undefined && who.apps.some((pattern) => matches(pattern, app))
}

/**
 * mayAny reports whether the user has the role for at least one app.
 * @param {Role} role
 */
export function mayAny(role) {
  const who = session.get()
  return who !== null && rank[who.role] >= rank[role]
}

/**
 * matches does what Go's path.Match does for patterns of apps: *, ?, [abc], \.
 * @param {string} pattern
 * @param {string} name
 */
export function matches(pattern, name) {
  const source = pattern.replace(/\\(.)|\[(\^?)((?:\\.|[^\]])*)\]|[*?]|[.+^${}()|\]/]/g, (part, escaped, not, set) => {
    if (escaped !== undefined) return escaped.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
    if (set !== undefined) return `[${not}${set}]`
    if (part === '*') return '[^/]*'
    if (part === '?') return '[^/]'
    return `\\${part}`
  })
  return new RegExp(`^${source}$`, 's').test(name)
}
