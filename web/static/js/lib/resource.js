// What a page shows of the server: fetched, kept fresh by the stream of changes, and kept when a fetch fails, which is
// then tried again.
import { useEffect, useRef, useState } from './html.js'
import { get } from './api.js'
import { onChange } from './live.js'
import { delayOf, mayPass } from './retry.js'

/**
 * @template [T=any]
 * @typedef {object} Resource
 * @property {T | undefined} data the last answer, while there is one
 * @property {Error | null} error why the last request failed
 * @property {boolean} retrying whether it failed and is tried again by itself
 * @property {boolean} loading whether nothing has been answered yet
 * @property {string | null} path what data is of: with stay, for a moment not the path that was asked for
 * @property {number} at when data was answered, in milliseconds
 * @property {() => void} reload asks again now
 * @property {(change: (data: T) => T) => void} patch changes what is shown until the next answer
 */

/** @typedef {import('./live.js').Change} Change */

// What was shown of an address, so that going back shows it at once.
const kept = new Map()
const keptMost = 40

/** @param {string} path @param {{data: any, at: number}} entry */
function keep(path, entry) {
  kept.delete(path)
  kept.set(path, entry)
  if (kept.size > keptMost) kept.delete(kept.keys().next().value)
}

/** forgetAll is for when somebody else logs in. */
export const forgetAll = () => kept.clear()

/**
 * useResource follows what GET path answers. `on` says which changes are reason to ask again, at most once in `gap` milliseconds
 * (1,000); `every` asks again after so many milliseconds in any case. A path of null asks nothing. With `stay`, what the path
 * before answered is shown until this one answers: for lists whose filters change as one types.
 * @template [T=any]
 * @param {string | null} path
 * @param {{on?: (change: Change) => boolean, every?: number, gap?: number, stay?: boolean, read?: (path: string, signal: AbortSignal) => Promise<T>}} [how]
 * @returns {Resource<T>}
 */
export function useResource(path, how = {}) {
  const [, again] = useState(0)
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
    const draw = () => again((n) => n + 1)
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
      again((n) => n + 1)
    },
  }
}
