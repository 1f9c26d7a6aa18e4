// Waiting for what one wants.
import { setTimeout as pause } from 'node:timers/promises'

/** patience is how long what should come at once may take: everything is tested at once on a busy machine. */
export const patience = 60_000

/**
 * until looks again and again until look gives something, and gives that.
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
