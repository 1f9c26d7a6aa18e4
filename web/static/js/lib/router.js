// Addresses and pages. Each view has an address: the page in its path, filters, sort, tab and the like in its query.
import { localPath, within } from './base.js'
import { signal, useSignal } from './signal.js'

/** @typedef {{path: string, query: URLSearchParams, key: number}} Place */
/** @typedef {{pattern: string, load: () => Promise<{default: import('../../vendor/preact.js').ComponentType<any>}>, section: string}} Route */

const here = () => localPath(location.pathname) ?? '/'
const read = (/** @type {number} */ key) => ({ path: here(), query: new URLSearchParams(location.search), key })

/** place is the address that is shown; key grows with each that is gone to. */
export const place = signal(/** @type {Place} */ (read(0)))

/** @type {((leave: () => void) => void) | null} */
let guard = null

/**
 * guardLeaving has f asked before another page is shown; f leaves by calling what it is given. null ends that.
 * @param {((leave: () => void) => void) | null} f
 */
export function guardLeaving(f) {
  guard = f
}

/**
 * afterLeaving calls f, which ends the page that is shown, at once or when the one who was asked by guardLeaving has agreed.
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
 * go shows an address.
 * @param {string} to
 * @param {{replace?: boolean}} [how]
 */
export function go(to, how = {}) {
  if (leaveFor(to, how)) return
  if (to === here() + location.search + location.hash) how = { replace: true }
  history[how.replace ? 'replaceState' : 'pushState'](null, '', within(to))
  place.set(read(place.get().key + 1))
}

/** startRouter follows the browser's own ways, and has links within the console load no page. */
export function startRouter() {
  // The icon's address is relative. The browser would look it up again, below each new address.
  const icon = /** @type {HTMLLinkElement | null} */ (document.querySelector('link[rel=icon]'))
  icon?.setAttribute('href', icon.href)
  addEventListener('popstate', () => {
    const to = here() + location.search + location.hash
    const { path, query, key } = place.get()
    if (guard && here() !== path) history.pushState(null, '', within(path) + (query.size ? `?${query}` : '')) // stays until the answer
    if (!leaveFor(to, {})) place.set(read(key + 1))
  })
  document.addEventListener('click', (e) => {
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return
    const a = /** @type {Element} */ (e.target).closest?.('a[href]')
    if (!(a instanceof HTMLAnchorElement) || a.target || a.hasAttribute('download') || a.origin !== location.origin) return
    const path = localPath(a.pathname)
    if (path === null || /^\/(api|artifacts|static|metrics|healthz|readyz)(\/|$)/.test(path)) return
    if (a.pathname === location.pathname && a.search === location.search && a.hash) return // within the page
    e.preventDefault()
    go(path + a.search + a.hash)
  })
}

/**
 * match finds the route of a path, and the names in it. A pattern is such as /jobs/:job/settings.
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
 * useQuery gives what the address says beyond its path, and a way to change it: what is set to '' is left out. A change
 * replaces the address unless `push` is set, for what one wants to come back to.
 * @returns {[Record<string, string>, (change: Record<string, string | number | undefined>, how?: {push?: boolean}) => void]}
 */
export function useQuery() {
  const { query } = useSignal(place)
  return [Object.fromEntries(query), setQuery]
}

/**
 * setQuery changes the address' query, as useQuery says.
 * @param {Record<string, string | number | undefined>} change
 * @param {{push?: boolean}} [how]
 */
export function setQuery(change, how = {}) {
  go(queryWith(change), { replace: !how.push })
}

/**
 * queryWith is the present address with another query: for links to a sort, a page, a tab.
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
