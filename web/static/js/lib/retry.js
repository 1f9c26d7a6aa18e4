// What is tried again by itself: a request that got no answer, or one that says "not now". A page that asks once and
// gives up would stay as it is until somebody loads it again.
import { ApiError } from './api.js'

/**
 * delayOf is how long to wait after so many failed tries, in milliseconds: longer each time, and not the same for all
 * pages, so that they don't all ask a server at once when it is back.
 * @param {number} tries from 1 on
 * @param {unknown} [error] why the last one failed; what it says of the wait counts
 */
export function delayOf(tries, error) {
  const wait = Math.min(500 * 2 ** Math.min(tries - 1, 4), 8000) * (0.75 + Math.random() / 2)
  return error instanceof ApiError ? Math.max(wait, error.retryAfter * 1000) : wait
}

/**
 * mayPass reports whether an error may be gone at the next try: there was no answer, the server is not able to answer
 * now, or it was asked too often. Other answers are about the request itself.
 * @param {unknown} error
 */
export const mayPass = (error) =>
  error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500)

/**
 * patiently asks until there is an answer, or an error that does not pass, or the signal aborts.
 * @template T
 * @param {() => Promise<T>} ask
 * @param {AbortSignal} signal
 * @param {(error: ApiError) => void} [failed] is told of each try that failed and is repeated
 * @returns {Promise<T>}
 */
export async function patiently(ask, signal, failed) {
  for (let tries = 1; ; tries++) {
    try {
      return await ask()
    } catch (e) {
      if (signal.aborted || !mayPass(e)) throw e
      failed?.(/** @type {ApiError} */ (e))
      await pause(delayOf(tries, e), signal)
    }
  }
}

/**
 * pause resolves after some time, and rejects when the signal aborts.
 * @param {number} ms
 * @param {AbortSignal} signal
 */
export function pause(ms, signal) {
  return new Promise((done, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      done(null)
    }, ms)
    signal.addEventListener('abort', stop, { once: true })
  })
}
