// A clock that components share, so that relative times go on.
import { useEffect, useState } from './html.js'

/** @type {Set<() => void>} */
const ticking = new Set()
/** @type {ReturnType<typeof setInterval> | undefined} */
let timer

/** useNow gives the time in milliseconds, and draws the component again each second while the page is looked at. */
export function useNow() {
  const [, again] = useState(0)
  useEffect(() => {
    const tick = () => again((n) => n + 1)
    ticking.add(tick)
    timer ??= setInterval(() => {
      if (!document.hidden) for (const f of [...ticking]) f()
    }, 1000)
    return () => {
      ticking.delete(tick)
      if (!ticking.size) {
        clearInterval(timer)
        timer = undefined
      }
    }
  }, [])
  return Date.now()
}
