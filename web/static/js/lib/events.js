// The stream of events. It is read by fetch, because EventSource hides the answer's status and the heartbeats. A missing heartbeat
// is the only sign of a dead connection.
import { send } from './api.js'

/** @typedef {{event: string, data: any}} Event an event and its parsed JSON; for a comment, event is '' */

/** silence is the time without data in milliseconds after which a connection counts as dead. The server sends a comment every 15 s. */
const silence = 45_000

/**
 * events yields what GET /api/events sends until the answer ends. It throws ApiError, or an AbortError when the signal
 * aborts or the connection is dead.
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<Event, void>}
 */
export async function* events(signal) {
  const abort = new AbortController()
  const stop = () => abort.abort()
  signal.addEventListener('abort', stop)
  let timer = setTimeout(stop, silence)
  try {
    const answer = await send({ method: 'GET', path: '/api/events' }, { signal: abort.signal })
    const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).getReader()
    const decoder = new TextDecoder()
    let text = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      clearTimeout(timer)
      timer = setTimeout(stop, silence)
      const blocks = (text + decoder.decode(value, { stream: true })).split('\n\n')
      text = /** @type {string} */ (blocks.pop())
      for (const block of blocks) yield parsed(block)
    }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
    stop()
  }
}

/** @param {string} block @returns {Event} */
function parsed(block) {
  const lines = block.split('\n')
  const field = (/** @type {string} */ name) => lines.find((l) => l.startsWith(`${name}: `))?.slice(name.length + 2)
  return { event: field('event') ?? '', data: JSON.parse(field('data') ?? 'null') }
}
