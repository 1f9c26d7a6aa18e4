// Reads a task's output: its end first, parts of it by offset, and what comes.
import { bodyOf, seg, send, withQuery } from './api.js'
import { delayOf, mayPass } from './retry.js'

/**
 * A part of the output; `live` says whether more may be written after `size`, `dropped` how much is gone at the begin.
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
 * @property {() => number} at where what comes next begins
 * @property {(bytes: Uint8Array) => void} take
 * @property {(at: number) => void} restart what comes next begins at another place: the job has emptied the file, or what comes between was dropped
 * @property {(state: FollowState, error: Error | null) => void} become
 */

/** every is the interval between two requests that found all there was, in milliseconds. */
const every = 1000

/**
 * follow passes new output to a follower until the task has ended, or the function that it returns is called. It polls
 * while the page is visible, and holds no connection: a browser has six to a server, for all of its tabs.
 * @param {string} task
 * @param {string} stream
 * @param {Follower} follower
 */
export function follow(task, stream, follower) {
  const abort = new AbortController()
  let tries = 0
  let resting = false
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
      if (!mayPass(error) && error.status !== 401) return become('gone', error) // after a login it goes on
      become('lost', error)
      timer = setTimeout(run, delayOf(++tries, error))
    }
  }
  /**
   * ask reads the next part. It returns the delay before the next request in milliseconds, null if the task has ended.
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
  const look = () => {
    if (resting) void run()
  }
  document.addEventListener('visibilitychange', look)
  void run()
  return () => {
    clearTimeout(timer)
    abort.abort()
    document.removeEventListener('visibilitychange', look)
  }
}
