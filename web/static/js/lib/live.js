// Changes that this tab receives from the hub, which all tabs of the browser share. A hidden tab is not a member of the hub.
import { loginNeeded } from './api.js'
import { events } from './events.js'
import { Hub } from './hub.js'
import { readSession } from './session.js'
import { signal } from './signal.js'

/** @typedef {import('./hub.js').Change} Change */

/** connection is the state of the stream. since is when the state last changed, in milliseconds. */
export const connection = signal(/** @type {import('./hub.js').Connection} */ ({ state: 'connecting', since: Date.now() }))

/** summary holds the newest numbers of the overview; null before the first. */
export const summary = signal(/** @type {any} */ (null))

/** @type {Set<(change: Change) => void>} */
const listeners = new Set()

/**
 * onChange calls f with each change until the returned function is called. After a time without a stream, anything may have
 * changed; the change then has `all` set.
 * @param {(change: Change) => void} f
 */
export function onChange(f) {
  listeners.add(f)
  return () => void listeners.delete(f)
}

// How long the hub may take to answer a join, and how long it may be silent afterwards, in milliseconds. It passes on the
// stream's heartbeats, which arrive every 15 s.
const joinTimeout = 5000
const silenceTimeout = 30_000

const url = new URL('../worker.js', import.meta.url).href
// The trusted types policy ignores its argument, so that a page can run no other script as a worker.
const { trustedTypes } = /** @type {any} */ (globalThis)
const script = trustedTypes?.createPolicy('worker', { createScriptURL: () => url }).createScriptURL('') ?? url

/** The user who is logged in; empty for none. */
let user = ''
/** @type {MessagePort | null} of the hub */
let port = null
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer

const isMember = () => user !== '' && !document.hidden

/**
 * attach connects this tab to the hub in the SharedWorker. If the browser has no SharedWorker or could not load it, attach uses
 * a hub in this page.
 * @param {boolean} [alone] use the hub in this page
 */
function attach(alone) {
  port?.postMessage({ leave: true })
  port?.close()
  const next = alone ? hubOfPage() : hubOfBrowser()
  port = next
  next.onmessage = ({ data }) => next === port && receive(data)
  sendMembership()
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
function receive(news) {
  if (!isMember()) return // the hub sent it before it knew that this tab has left
  expectNews(silenceTimeout)
  if (news.connection) connection.set(news.connection)
  if ('summary' in news) summary.set(news.summary)
  if (news.changed) for (const f of [...listeners]) f(news.changed)
  if (news.refused) loginNeeded.set(true)
  if (news.session) void readSession()
}

/**
 * expectNews connects this tab to a hub again if no message arrives in time. The browser may run the worker in the process of
 * another tab, and does not report when that process crashes. If the worker was only slow, it gets a second port of this tab.
 * @param {number} ms
 */
function expectNews(ms) {
  clearTimeout(timer)
  timer = setTimeout(() => attach(), ms)
}

/** sendMembership tells the hub whether this tab is a member. */
function sendMembership() {
  clearTimeout(timer)
  port?.postMessage(isMember() ? { join: user } : { leave: true })
  if (isMember()) expectNews(joinTimeout)
}

/**
 * connect receives changes on behalf of a user until disconnect is called.
 * @param {string} name
 */
export function connect(name) {
  user = name
  document.addEventListener('visibilitychange', sendMembership)
  if (port) sendMembership()
  else attach()
}

/** disconnect receives no more changes. */
export function disconnect() {
  user = ''
  document.removeEventListener('visibilitychange', sendMembership)
  sendMembership()
  connection.set({ state: 'connecting', since: Date.now() })
  summary.set(null)
}

/** reconnectNow opens a lost stream at once, instead of after the delay. */
export const reconnectNow = () => port?.postMessage({ retry: true })
