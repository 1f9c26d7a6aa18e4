// One stream of what changes. It is closed while nobody looks at the page: a browser has six connections to a server, for
// all of its windows.
import { delayOf } from './retry.js'
import { signal } from './signal.js'

/** @typedef {{jobs: string[], executions: string[], apps: string[], cluster: boolean, all: boolean}} Change */
/** @typedef {{state: 'connecting' | 'open' | 'lost' | 'resting', since: number, server?: string}} Connection */

/** connection is how the stream does; since is the time of the last change of that, in milliseconds. */
export const connection = signal(/** @type {Connection} */ ({ state: 'connecting', since: Date.now() }))

/** summary is the newest numbers of the overview, null before the first. */
export const summary = signal(/** @type {any} */ (null))

/** @type {Set<(change: Change) => void>} */
const listeners = new Set()

/**
 * onChange calls f with each change until the function that it gives is called. After a time without a stream anything may
 * have changed: then `all` is set.
 * @param {(change: Change) => void} f
 */
export function onChange(f) {
  listeners.add(f)
  return () => void listeners.delete(f)
}

const everything = { jobs: [], executions: [], apps: [], cluster: true, all: true }

/** @param {Change} change */
function tell(change) {
  for (const f of [...listeners]) f(change)
}

/** @type {EventSource | null} */
let source = null
let tries = 0
let wanted = false
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer

/** @param {Connection['state']} state */
const become = (state) => {
  if (connection.get().state !== state) connection.set({ state, since: Date.now() })
}

function open() {
  clearTimeout(timer)
  source?.close()
  let greeted = false
  const s = new EventSource('/api/events')
  source = s
  s.addEventListener('hello', () => {
    greeted = true
    tries = 0
    become('open')
    tell(everything)
  })
  s.addEventListener('changed', (e) => tell(JSON.parse(e.data)))
  s.addEventListener('summary', (e) => summary.set(JSON.parse(e.data)))
  s.addEventListener('error', () => {
    if (source !== s) return
    s.close()
    source = null
    if (greeted || tries > 0) become('lost')
    tries++
    // A stream that ended with its leader's term is soon open at the next one.
    timer = setTimeout(open, delayOf(tries))
  })
}

function look() {
  clearTimeout(timer)
  if (!wanted) return
  if (document.hidden) {
    timer = setTimeout(() => {
      source?.close()
      source = null
      become('resting')
    }, 30_000)
  } else if (!source) {
    become('connecting')
    open()
  }
}

/** connect opens the stream, and keeps it open until disconnect. */
export function connect() {
  if (wanted) return
  wanted = true
  document.addEventListener('visibilitychange', look)
  look()
}

/** disconnect closes it. */
export function disconnect() {
  wanted = false
  clearTimeout(timer)
  document.removeEventListener('visibilitychange', look)
  source?.close()
  source = null
  tries = 0
  become('connecting')
}

/** reconnectNow tries at once what would be tried in some seconds. */
export function reconnectNow() {
  if (wanted && connection.get().state !== 'open') open()
}
