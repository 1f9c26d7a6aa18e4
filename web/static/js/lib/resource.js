// Data of the server that a page shows. It is fetched, and fetched again when the stream of changes reports a change. When a
// fetch fails, the old data stays and the fetch is retried.
import { useEffect, useRef, useState } from './html.js'
import { get } from './api.js'
import { onChange } from './live.js'
import { delayOf, mayPass } from './retry.js'

/**
 * @template [T=any]
 * @typedef {object} Resource
 * @property {T | undefined} data the last answer; undefined before the first
 * @property {Error | null} error why the last request failed
 * @property {boolean} retrying whether the last request failed and is retried automatically
 * @property {boolean} loading whether there was neither an answer nor an error yet
 * @property {string | null} path the path that data belongs to; with stay, that is the previous path until there is an answer
 * @property {number} at when data arrived, in milliseconds
 * @property {() => void} reload sends the request again now
 * @property {(change: (data: T) => T) => void} patch changes data until the next answer
 */

/** @typedef {import('./live.js').Change} Change */

// The last answers, so that going back to a page shows its data at once.
const kept = new Map()
const maxKept = 40

/** @param {string} path @param {{data: any, at: number}} entry */
function keep(path, entry) {
  kept.delete(path)
  kept.set(path, entry)
  if (kept.size > maxKept) kept.delete(kept.keys().next().value)
}

/** forgetAll removes all answers. It is called when another user logs in. */
export const forgetAll = () => kept.clear()

/**
 * useResource keeps the answer to GET path up to date. `on` says which changes require a new request; there is at most one in `gap`
 * milliseconds (1,000 by default). `every` repeats the request after so many milliseconds in any case. If path is null, there are no
 * requests. With `stay`, the data of the previous path stays until this path is answered, for lists whose filters change while the
 * user types.
 * @template [T=any]
 * @param {string | null} path
 * @param {{on?: (change: Change) => boolean, every?: number, gap?: number, stay?: boolean, read?: (path: string, signal: AbortSignal) => Promise<T>}} [how]
 * @returns {Resource<T>}
 */
export function useResource(path, how = {}) {
  const [, redraw] = useState(0)
  const latest = useRef(how)
  latest.current = how
  /** @type {{current: {path: string | null, data: any, of: string | null, at: number, error: Error | null, reload: () => void}}} */
  const state = useRef({ path: null, data: undefined, of: null, at: 0, error: null, reload: () => {} })
  if (state.current.path !== path) {
    const entry = path === null ? undefined : kept.get(path)
    const shown = entry ? { ...entry, of: path } : how.stay ? state.current : { data: undefined, of: null, at: 0 }
    state.current = { path, data: shown.data, of: shown.of, at: shown.at, error: null, reload: () => {} }
  }
  const mine = state.current

  useEffect(() => {
    if (path === null) return
    const draw = () => redraw((n) => n + 1)
    let busy = false
    let due = false
    let last = 0
    let tries = 0
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer
    const abort = new AbortController()
    const load = async () => {
      clearTimeout(timer)
      timer = undefined
      if (busy) {
        due = true
        return
      }
      busy = true
      due = false
      last = Date.now()
      try {
        const data = await (latest.current.read ?? get)(path, abort.signal)
        Object.assign(mine, { data, of: path, at: Date.now(), error: null })
        tries = 0
        keep(path, { data, at: mine.at })
      } catch (e) {
        if (abort.signal.aborted) return
        mine.error = /** @type {Error} */ (e)
      }
      busy = false
      draw()
      const { every = Infinity } = latest.current
      const wait = mayPass(mine.error) ? Math.min(every, delayOf(++tries, mine.error)) : every
      if (due) soon()
      else if (wait < Infinity) timer = setTimeout(load, wait)
    }
    const soon = () => {
      clearTimeout(timer)
      timer = setTimeout(load, Math.max(0, last + (latest.current.gap ?? 1000) - Date.now()))
    }
    mine.reload = load
    void load()
    const off = onChange((change) => {
      if (change.all || latest.current.on?.(change)) soon()
    })
    return () => {
      off()
      clearTimeout(timer)
      abort.abort()
    }
  }, [path])

  return {
    data: mine.data,
    path: mine.of,
    error: mine.error,
    retrying: mayPass(mine.error),
    loading: path !== null && mine.data === undefined && mine.error === null,
    at: mine.at,
    reload: () => mine.reload(),
    patch: (change) => {
      if (mine.data === undefined) return
      mine.data = change(mine.data)
      redraw((n) => n + 1)
    },
  }
}
