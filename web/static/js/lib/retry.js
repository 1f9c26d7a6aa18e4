// Automatic retries of requests that got no answer or a temporary error. Without them, a page would show the error until the user
// loads it again.
import { ApiError } from './api.js'

/**
 * delayOf returns the delay before the next try in milliseconds. It grows with the number of failed tries, and is random, so that
 * not all pages send requests at the same moment to a server that has returned.
 * @param {number} tries the number of failed tries, from 1 on
 * @param {unknown} [error] the error of the last try; the delay is at least its retryAfter
 */
export function delayOf(tries, error) {
  const wait = Math.min(500 * 2 ** Math.min(tries - 1, 4), 8000) * (0.75 + Math.random() / 2)
  return error instanceof ApiError ? Math.max(wait, error.retryAfter * 1000) : wait
}

/**
 * mayPass reports whether a retry may succeed: there was no answer, the server could not answer, or there were too many requests.
 * Any other error is about the request itself.
 * @param {unknown} error
 */
export const mayPass = (error) =>
  error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500)

/**
 * patiently calls ask until it succeeds, fails with an error for which mayPass is false, or the signal aborts.
 * @template T
 * @param {() => Promise<T>} ask
 * @param {AbortSignal} signal
 * @param {(error: ApiError) => void} [failed] is called with the error of each try that is repeated
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
 * pause resolves after ms milliseconds, and rejects when the signal aborts.
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
