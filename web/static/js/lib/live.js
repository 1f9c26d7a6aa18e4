// The changes that this tab hears of from the hub, which all tabs of the browser share. A hidden tab is no member of the
// hub.
import { loginNeeded } from './api.js'
import { events } from './events.js'
import { Hub } from './hub.js'
import { learnSession } from './session.js'
import { signal } from './signal.js'

/** @typedef {import('./hub.js').Change} Change */

/** connection is how the stream does; since is the time of the last change of that, in milliseconds. */
export const connection = signal(/** @type {import('./hub.js').Connection} */ ({ state: 'connecting', since: Date.now() }))

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

// How long the hub may take to answer a join, and be silent afterwards, in milliseconds: it passes on the stream's
// heartbeat, every 15 s.
const answering = 5000
const silence = 30_000

const url = new URL('../worker.js', import.meta.url).href
/** The only script that a page may run as a worker: the trusted types policy ignores its argument. */
const { trustedTypes } = /** @type {any} */ (globalThis)
const script = trustedTypes?.createPolicy('worker', { createScriptURL: () => url }).createScriptURL('') ?? url

/** Who is here, empty for nobody. */
let person = ''
/** @type {MessagePort | null} of the hub */
let port = null
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer

const here = () => person !== '' && !document.hidden

/**
 * attach connects this tab to the hub in the SharedWorker, or, if the browser has none or could not load it, to a hub
 * in this page.
 * @param {boolean} [alone] the hub in this page is used
 */
function attach(alone) {
  port?.postMessage({ leave: true })
  port?.close()
  const next = alone ? hubOfPage() : hubOfBrowser()
  port = next
  next.onmessage = ({ data }) => next === port && hear(data)
  look()
}

/** @type {Hub | undefined} */
let own

function hubOfPage() {
  const { port1, port2 } = new MessageChannel()
  own ??= new Hub(events)
  own.add(port1)
  return port2
}

function hubOfBrowser() {
  try {
    const worker = new SharedWorker(script, { type: 'module', name: 'elasticjob' })
    worker.addEventListener('error', () => worker.port === port && attach(true))
    return worker.port
  } catch {
    return hubOfPage() // the browser has no SharedWorker, or forbids it
  }
}

/** @param {import('./hub.js').News} news */
function hear(news) {
  if (!here()) return // it was sent before the hub knew
  within(silence)
  if (news.connection) connection.set(news.connection)
  if ('summary' in news) summary.set(news.summary)
  if (news.changed) for (const f of [...listeners]) f(news.changed)
  if (news.refused) loginNeeded.set(true)
  if (news.session) void learnSession()
}

/**
 * within connects this tab to a hub again if it hears nothing for some time: the browser may run the worker in the
 * process of a tab, and nobody is told when that crashes. A worker that was only slow gets a second port of the same
 * tab.
 * @param {number} ms
 */
function within(ms) {
  clearTimeout(timer)
  timer = setTimeout(() => attach(), ms)
}

function look() {
  clearTimeout(timer)
  port?.postMessage(here() ? { join: person } : { leave: true })
  if (here()) within(answering)
}

/**
 * connect starts to listen for changes on behalf of a user, until disconnect.
 * @param {string} who
 */
export function connect(who) {
  person = who
  document.addEventListener('visibilitychange', look)
  if (port) look()
  else attach()
}

/** disconnect stops listening. */
export function disconnect() {
  person = ''
  document.removeEventListener('visibilitychange', look)
  look()
  connection.set({ state: 'connecting', since: Date.now() })
  summary.set(null)
}

/** reconnectNow tries at once what would be tried in some seconds. */
export const reconnectNow = () => port?.postMessage({ retry: true })
