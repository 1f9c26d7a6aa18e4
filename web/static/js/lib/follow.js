// Reads a task's output: the end, parts by offset, and new output as the task writes it.
import { bodyOf, seg, send, withQuery } from './api.js'
import { delayOf, mayPass } from './retry.js'

/**
 * Part is a part of the output. `live` is set if the task may write more after `size`; `dropped` is how many bytes are missing at
 * the beginning.
 * @typedef {{bytes: Uint8Array, from: number, size: number, dropped: number, live: boolean}} Part
 */

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
  const header = (/** @type {string} */ name) => answer.headers.get(`Elasticjob-Log-${name}`)
  return {
    bytes,
    from: Number(header('Offset') ?? query.offset ?? 0),
    size: Number(header('Size') ?? Infinity),
    dropped: Number(header('Dropped') ?? 0),
    live: header('Live') !== 'false',
  }
}

/**
 * @typedef {'open' | 'ended' | 'lost' | 'gone'} FollowState
 * @typedef {object} Follower
 * @property {() => number} at returns the offset of the next output
 * @property {(bytes: Uint8Array) => void} take receives the next output
 * @property {(at: number) => void} restart receives another offset of the next output, if the file was emptied or output was dropped
 * @property {(state: FollowState, error: Error | null) => void} become receives each new state, and the error that led to it
 */

/** every is the delay in milliseconds before the next request, once all existing output has been read. */
const every = 1000

/**
 * follow passes new output to a follower until the task has ended or the returned function is called. It polls while the page is
 * visible, and keeps no connection open: all tabs of a browser together have only six connections to a server.
 * @param {string} task
 * @param {string} stream
 * @param {Follower} follower
 */
export function follow(task, stream, follower) {
  const abort = new AbortController()
  let tries = 0
  let resting = false // whether polling has stopped because the page is hidden
  /** @type {FollowState | ''} */
  let state = ''
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  const become = (/** @type {FollowState} */ next, /** @type {Error | null} */ error) => {
    if (next !== state || error) follower.become(next, error)
    state = next
  }
  const run = async () => {
    resting = document.hidden
    if (resting) return
    try {
      const wait = await ask()
      if (wait !== null && !abort.signal.aborted) timer = setTimeout(run, wait)
    } catch (e) {
      if (abort.signal.aborted) return
      const error = /** @type {import('./api.js').ApiError} */ (e)
      if (!mayPass(error) && error.status !== 401) return become('gone', error) // a 401 is retried, because the user may log in
      become('lost', error)
      timer = setTimeout(run, delayOf(++tries, error))
    }
  }
  /**
   * ask reads the next part. It returns the delay before the next request in milliseconds, or null if the task has ended.
   */
  const ask = async () => {
    const offset = follower.at()
    const part = await readPart(task, { stream, offset, limit: 4 * page }, abort.signal)
    if (abort.signal.aborted) return null
    tries = 0
    const emptied = part.size < offset
    if (emptied) follower.restart(0)
    else if (part.from > offset) follower.restart(part.from)
    if (!emptied && part.bytes.length) follower.take(part.bytes)
    const behind = emptied || part.size > part.from + part.bytes.length
    become(part.live || behind ? 'open' : 'ended', null)
    if (emptied || (behind && part.bytes.length)) return 0
    return behind || part.live ? every : null
  }
  const resume = () => {
    if (resting) void run()
  }
  document.addEventListener('visibilitychange', resume)
  void run()
  return () => {
    clearTimeout(timer)
    abort.abort()
    document.removeEventListener('visibilitychange', resume)
  }
}
