// Sends many requests, a few at a time.
import { call } from './api.js'

/** @typedef {{request: import('./api.js').Request, error: Error | null}} Outcome */

/**
 * sendMany sends requests, at most `atOnce` at the same time, and calls `onProgress` with the number of completed ones after each.
 * It never rejects: each outcome has its own error. After a 401 it sends no more requests.
 * @param {import('./api.js').Request[]} requests
 * @param {(done: number) => void} onProgress
 * @param {{atOnce?: number, send?: (request: import('./api.js').Request) => Promise<unknown>}} [how]
 * @returns {Promise<Outcome[]>}
 */
export async function sendMany(requests, onProgress, { atOnce = 4, send = call } = {}) {
  /** @type {Outcome[]} */
  const outcomes = []
  let next = 0
  let done = 0
  /** @type {Error | null} */
  let stopped = null
  const work = async () => {
    while (next < requests.length) {
      const i = next++
      /** @type {Error | null} */
      let error = stopped
      if (!error) {
        try {
          await send(requests[i])
        } catch (e) {
          error = /** @type {Error} */ (e)
          if (/** @type {any} */ (e).status === 401) stopped = error
        }
      }
      outcomes[i] = { request: requests[i], error }
      onProgress(++done)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, requests.length) }, work))
  return outcomes
}
