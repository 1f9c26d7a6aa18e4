// Who is here, and what he may do.
import { get, ApiError, loginNeeded } from './api.js'
import { delayOf, mayPass } from './retry.js'
import { signal } from './signal.js'

/** @typedef {'metrics' | 'viewer' | 'operator' | 'admin'} Role */
/** @typedef {{name: string, kind: string, role: Role, apps?: string[], expires?: string}} Session */

/** session is who is here; null while nobody is known. */
export const session = signal(/** @type {Session | null} */ (null))

/** sessionError is why nobody is known though no login is missing, such as that there are no users yet. */
export const sessionError = signal(/** @type {ApiError | null} */ (null))

let tries = 0
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer

/**
 * learnSession asks the server who is here, and asks again by itself where that can't be known now: nothing is shown
 * before there is an answer.
 */
export async function learnSession() {
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
    if (mayPass(error)) timer = setTimeout(learnSession, delayOf(++tries, error))
  }
}

const rank = { metrics: 0, viewer: 1, operator: 2, admin: 3 }

/**
 * may says whether who is here has a role for an app, or, without an app, for all.
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
 * mayAny says whether he has the role for any app at all.
 * @param {Role} role
 */
export function mayAny(role) {
  const who = session.get()
  return who !== null && rank[who.role] >= rank[role]
}

/**
 * matches is Go's path.Match for what patterns of apps have: *, ?, [abc], \.
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
