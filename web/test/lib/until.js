// Waiting for conditions.
import { setTimeout as pause } from 'node:timers/promises'

/** patience is the timeout for conditions that should hold at once. It is long, because all tests run at once on a busy machine. */
export const patience = 60_000

/**
 * until calls look repeatedly until it returns a truthy value, and returns that.
 * @template T
 * @param {string} what
 * @param {() => T | undefined | false | null | Promise<T | undefined | false | null>} look
 * @returns {Promise<T>}
 */
export async function until(what, look) {
  const deadline = Date.now() + patience
  /** @type {unknown} */
  let last
  for (;;) {
    try {
      const found = await look()
      if (found) return found
    } catch (e) {
      if (/** @type {{code?: string}} */ (e).code === 'ERR_ASSERTION') throw e
      last = e
    }
    if (Date.now() > deadline) throw new Error(`waited ${patience / 1000} s until ${what}`, { cause: last })
    await pause(20)
  }
}
