// Reads a task's output: its end first, parts of it by offset, and what comes, over a connection that heals.
import { ApiError, bodyOf, seg, send, withQuery } from './api.js'

/** @typedef {{bytes: Uint8Array, from: number, size: number}} Part */

export const page = 64 << 10

/** @param {string} task @param {Record<string, string | number | boolean | undefined>} query */
export const logsPath = (task, query) => withQuery(`/api/task/${seg(task)}/logs`, query)

/**
 * readPart reads a part of the output.
 * @param {string} task
 * @param {{stream: string, offset?: number, tail?: number, limit?: number}} query
 * @param {AbortSignal} signal
 * @returns {Promise<Part>}
 */
export async function readPart(task, query, signal) {
  const answer = await send({ method: 'GET', path: logsPath(task, query) }, { signal })
  const bytes = new Uint8Array(await bodyOf(answer, 'arrayBuffer', signal))
  return { bytes, ...place(answer, query.offset ?? 0) }
}

/** @param {Response} answer @param {number} offset */
function place(answer, offset) {
  const from = answer.headers.get('Elasticjob-Log-Offset')
  const size = answer.headers.get('Elasticjob-Log-Size')
  return { from: from === null ? offset : Number(from), size: size === null ? Infinity : Number(size) }
}

/**
 * @typedef {'open' | 'ended' | 'lost' | 'gone' | 'resting'} FollowState
 * @typedef {object} Follower
 * @property {() => number} at where what comes next begins
 * @property {(bytes: Uint8Array) => void} take
 * @property {() => void} rotated the file began again: what comes next begins at 0
 * @property {(state: FollowState, error: Error | null) => void} become
 */

/**
 * follow gives what comes to a follower until the function that it returns is called. A connection that breaks is made again
 * with the offset kept, and it is closed while nobody looks at the page, for a browser has six for all its windows.
 * `poll` has it asked again and again instead, for pages that follow many.
 * @param {string} task
 * @param {string} stream
 * @param {Follower} follower
 * @param {{poll?: () => boolean}} [how] poll says whether there may come more
 */
export function follow(task, stream, follower, { poll } = {}) {
  let stopped = false
  let over = false
  let tries = 0
  let resting = false
  let abort = new AbortController()
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let rest
  const again = (/** @type {number} */ ms) => {
    clearTimeout(timer)
    if (!stopped) timer = setTimeout(run, ms)
  }
  const end = (/** @type {FollowState} */ state, /** @type {Error | null} */ error) => {
    over = true
    follower.become(state, error)
  }
  const sleep = () => {
    resting = true
    clearTimeout(timer)
    abort.abort()
    follower.become('resting', null)
  }
  const run = async () => {
    if (document.hidden) return sleep()
    abort = new AbortController()
    try {
      await (poll ? ask(poll) : listen())
    } catch (e) {
      if (stopped || abort.signal.aborted) return
      const error = /** @type {ApiError} */ (e)
      if (error.status >= 400 && error.status < 500 && error.status !== 429) return end('gone', error)
      tries++
      follower.become('lost', error instanceof ApiError ? error : null)
      again(Math.min(500 * 2 ** (tries - 1), 8000))
    }
  }
  const listen = async () => {
    const offset = follower.at()
    const answer = await send({ method: 'GET', path: logsPath(task, { stream, offset, follow: true }) }, { signal: abort.signal })
    if (place(answer, offset).size < offset) follower.rotated()
    tries = 0
    follower.become('open', null)
    const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (stopped) return
      if (done) return end('ended', null)
      follower.take(value)
    }
  }
  const ask = async (/** @type {() => boolean} */ more) => {
    const last = !more()
    const offset = follower.at()
    const part = await readPart(task, { stream, offset, limit: 4 * page }, abort.signal)
    if (stopped) return
    tries = 0
    if (part.size < offset) follower.rotated()
    else follower.take(part.bytes)
    const behind = part.size > follower.at()
    if (last && !behind) return end('ended', null)
    follower.become('open', null)
    again(behind ? 0 : 1000)
  }
  const look = () => {
    clearTimeout(rest)
    if (document.hidden) {
      if (!over) rest = setTimeout(sleep, 5000)
    } else if (resting) {
      resting = false
      void run()
    }
  }
  document.addEventListener('visibilitychange', look)
  void run()
  return () => {
    stopped = true
    clearTimeout(timer)
    clearTimeout(rest)
    abort.abort()
    document.removeEventListener('visibilitychange', look)
  }
}
