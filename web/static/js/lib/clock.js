// A clock that all components share, to update relative times.
import { useEffect, useState } from './html.js'

/** @type {Set<() => void>} */
const ticking = new Set()
/** @type {ReturnType<typeof setInterval> | undefined} */
let timer

/** useNow returns the time in milliseconds, and draws the component again each second while the page is visible. */
export function useNow() {
  const [, redraw] = useState(0)
  useEffect(() => {
    const tick = () => redraw((n) => n + 1)
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
