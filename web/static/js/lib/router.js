// Addresses of views. The path names the page; the query holds filters, sort order, tab and the like.
import { localPath, within } from './base.js'
import { signal, useSignal } from './signal.js'

/** @typedef {{path: string, query: URLSearchParams, key: number}} Place */
/** @typedef {{pattern: string, load: () => Promise<{default: import('../../vendor/preact.js').ComponentType<any>}>, section: string}} Route */

const here = () => localPath(location.pathname) ?? '/'
const read = (/** @type {number} */ key) => ({ path: here(), query: new URLSearchParams(location.search), key })

/** place is the current address. key increases with each navigation. */
export const place = signal(/** @type {Place} */ (read(0)))

/** @type {((leave: () => void) => void) | null} */
let guard = null

/**
 * guardLeaving makes the router call f before it shows another page. f receives a function that it calls to allow that. null removes
 * the guard.
 * @param {((leave: () => void) => void) | null} f
 */
export function guardLeaving(f) {
  guard = f
}

/**
 * afterLeaving calls f, which closes the current page, as soon as the guard of guardLeaving allows it: at once if there is none.
 * @param {() => void} f
 */
export function afterLeaving(f) {
  if (!guard) return f()
  guard(() => {
    guard = null
    f()
  })
}

/** @param {string} to @param {{replace?: boolean}} how */
function leaveFor(to, how) {
  if (!guard || new URL(to, location.href).pathname === place.get().path) return false
  guard(() => {
    guard = null
    go(to, how)
  })
  return true
}

/**
 * go shows the page of an address.
 * @param {string} to
 * @param {{replace?: boolean}} [how]
 */
export function go(to, how = {}) {
  if (leaveFor(to, how)) return
  if (to === here() + location.search + location.hash) how = { replace: true }
  history[how.replace ? 'replaceState' : 'pushState'](null, '', within(to))
  place.set(read(place.get().key + 1))
}

/** startRouter handles the browser's back and forward buttons, and links within the console, which need not load the page again. */
export function startRouter() {
  // The icon's address is relative. The browser would resolve it again relative to each new address.
  const icon = /** @type {HTMLLinkElement | null} */ (document.querySelector('link[rel=icon]'))
  icon?.setAttribute('href', icon.href)
  addEventListener('popstate', () => {
    const to = here() + location.search + location.hash
    const { path, query, key } = place.get()
    if (guard && here() !== path) history.pushState(null, '', within(path) + (query.size ? `?${query}` : '')) // the address stays until the user has decided
    if (!leaveFor(to, {})) place.set(read(key + 1))
  })
  document.addEventListener('click', (e) => {
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return
    const a = /** @type {Element} */ (e.target).closest?.('a[href]')
    if (!(a instanceof HTMLAnchorElement) || a.target || a.hasAttribute('download') || a.origin !== location.origin) return
    const path = localPath(a.pathname)
    if (path === null || /^\/(api|artifacts|static|metrics|healthz|readyz)(\/|$)/.test(path)) return
    if (a.pathname === location.pathname && a.search === location.search && a.hash) return // a link within the page
    e.preventDefault()
    go(path + a.search + a.hash)
  })
}

/**
 * match finds the route of a path and the values of its parameters. A pattern is, for example, /jobs/:job/settings.
 * @param {Route[]} routes
 * @param {string} path
 */
export function match(routes, path) {
  const parts = path.split('/').filter(Boolean)
  for (const route of routes) {
    const want = route.pattern.split('/').filter(Boolean)
    if (want.length !== parts.length) continue
    /** @type {Record<string, string>} */
    const params = {}
    const fits = want.every((w, i) => {
      if (!w.startsWith(':')) return w === parts[i]
      try {
        params[w.slice(1)] = decodeURIComponent(parts[i])
      } catch {
        return false
      }
      return true
    })
    if (fits) return { route, params }
  }
  return null
}

/**
 * useQuery returns the query of the address, and a function that changes it. A parameter that is set to '' is removed. With `push`,
 * the change is a new entry of the browser's history; otherwise it replaces the address.
 * @returns {[Record<string, string>, (change: Record<string, string | number | undefined>, how?: {push?: boolean}) => void]}
 */
export function useQuery() {
  const { query } = useSignal(place)
  return [Object.fromEntries(query), setQuery]
}

/**
 * setQuery is the function that useQuery returns.
 * @param {Record<string, string | number | undefined>} change
 * @param {{push?: boolean}} [how]
 */
export function setQuery(change, how = {}) {
  go(queryWith(change), { replace: !how.push })
}

/**
 * queryWith returns the current address with changes to its query, for links to a sort order, a page or a tab.
 * @param {Record<string, string | number | undefined>} change
 */
export function queryWith(change) {
  const q = new URLSearchParams(location.search)
  for (const [k, v] of Object.entries(change)) {
    if (v === undefined || v === '') q.delete(k)
    else q.set(k, String(v))
  }
  const text = q.toString()
  return here() + (text ? `?${text}` : '')
}
