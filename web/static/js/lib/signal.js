// Values that components follow.
import { useState, useEffect } from './html.js'

/**
 * @template T
 * @typedef {{get: () => T, set: (value: T) => void, follow: (f: (value: T) => void) => () => void}} Signal
 */

/**
 * signal creates a value that can be followed. Setting the same value again calls no follower.
 * @template T
 * @param {T} value
 * @returns {Signal<T>}
 */
export function signal(value) {
  /** @type {Set<(value: T) => void>} */
  const followers = new Set()
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return
      value = next
      for (const f of [...followers]) f(value)
    },
    follow(f) {
      followers.add(f)
      return () => void followers.delete(f)
    },
  }
}

/**
 * useSignal returns a signal's value, and draws the component again when it changes.
 * @template T
 * @param {Signal<T>} s
 * @returns {T}
 */
export function useSignal(s) {
  const [, redraw] = useState(0)
  const value = s.get()
  useEffect(() => {
    if (!Object.is(s.get(), value)) redraw((n) => n + 1)
    return s.follow(() => redraw((n) => n + 1))
  }, [s])
  return value
}
