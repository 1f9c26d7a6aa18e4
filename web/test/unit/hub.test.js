// The hub, whose stream all tabs share.
import '../lib/nobrowser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as settled } from 'node:timers/promises'
import { ApiError } from '../../static/js/lib/api.js'
import { events } from '../../static/js/lib/events.js'
import { Hub } from '../../static/js/lib/hub.js'

/** @typedef {{say: (event: string, data?: unknown) => void, end: (error?: Error) => void, signal: AbortSignal}} Stream */

/** stage returns a hub whose streams and delays the test controls. */
function stage() {
  /** @type {Stream[]} */
  const streams = []
  /** @type {{ms: number, over: () => void, signal: AbortSignal}[]} */
  const waits = []
  async function* listen(/** @type {AbortSignal} */ signal) {
    /** @type {{event: string, data: any}[]} */
    const said = []
    /** @type {{error?: Error} | undefined} */
    let ended
    let wake = () => {}
    streams.push({
      signal,
      say: (event, data) => (said.push({ event, data }), wake()),
      end: (error) => ((ended = { error }), wake()),
    })
    for (;;) {
      yield* said.splice(0)
      if (ended?.error) throw ended.error
      if (ended) return
      if (!said.length) await new Promise((woken) => (wake = () => woken(null)))
    }
  }
  const wait = (/** @type {number} */ ms, /** @type {AbortSignal} */ signal) => new Promise((over, reject) => {
    waits.push({ ms, over: () => over(null), signal })
    signal.addEventListener('abort', () => reject(signal.reason))
  })
  const hub = new Hub(listen, wait)
  const tab = () => {
    /** @type {import('../../static/js/lib/hub.js').News[]} */
    const news = []
    const port = /** @type {any} */ ({ onmessage: null, postMessage: (/** @type {any} */ n) => news.push(structuredClone(n)) })
    hub.add(port)
    return {
      say: (/** @type {import('../../static/js/lib/hub.js').Wish} */ wish) => port.onmessage({ data: wish }),
      /** The messages since the last call of heard, in short form. */
      heard: async () => {
        await settled()
        return news.splice(0).map((n) => n.connection?.state ?? (n.changed?.all ? 'all' : n.changed ? n.changed.jobs.join() : Object.keys(n)[0]) ?? 'alive')
      },
    }
  }
  return { streams, waits, tab }
}

const job = (/** @type {string} */ name) => ({ jobs: [name], executions: [], apps: [], cluster: false, all: false })

test('all tabs share one stream, and a later tab is told that everything may have changed', async () => {
  const { streams, tab } = stage()
  const [one, other, later] = [tab(), tab(), tab()]
  one.say({ join: 'ann' })
  other.say({ join: 'ann' })
  assert.deepEqual(await one.heard(), ['connecting'])
  streams[0].say('hello')
  streams[0].say('summary', { jobs: 1 })
  streams[0].say('')
  assert.deepEqual([await one.heard(), await other.heard()], [['open', 'all', 'summary', 'alive'], ['connecting', 'open', 'all', 'summary', 'alive']])
  later.say({ join: 'ann' })
  assert.deepEqual(await later.heard(), ['open', 'all'])
  other.say({ leave: true })
  streams[0].say('changed', job('billing'))
  assert.deepEqual([await one.heard(), await other.heard(), await later.heard()], [['billing'], [], ['billing']])
  assert.equal(streams.length, 1)
})

test('the stream survives a moment without tabs, but not a time in which no tab is visible', async () => {
  const { streams, waits, tab } = stage()
  const [one, other] = [tab(), tab()]
  one.say({ join: 'ann' })
  streams[0].say('hello')
  await one.heard()
  one.say({ leave: true })
  other.say({ join: 'ann' })
  assert.deepEqual(await other.heard(), ['open', 'all'])
  assert.deepEqual([waits[0].signal.aborted, streams[0].signal.aborted], [true, false])
  other.say({ leave: true })
  waits[1].over()
  await other.heard()
  assert.equal(streams[0].signal.aborted, true)
  one.say({ join: 'ann' })
  assert.deepEqual(await one.heard(), ['connecting'])
  assert.equal(streams.length, 2)
})

test('a stream that ends is reopened, sooner if a tab asks or joins; then everything may have changed', async () => {
  const { streams, waits, tab } = stage()
  const one = tab()
  one.say({ join: 'ann' })
  streams[0].end(new ApiError(0, 'no_answer', ''))
  assert.deepEqual(await one.heard(), ['connecting'], 'the first failure is not worth a word')
  waits[0].over()
  await one.heard()
  streams[1].say('hello')
  assert.deepEqual(await one.heard(), ['open', 'all'])
  streams[1].end()
  assert.deepEqual(await one.heard(), ['lost'])
  one.say({ retry: true })
  streams[2].end(new ApiError(503, 'no_leader', '', [], 60))
  assert.deepEqual(await one.heard(), ['lost'])
  assert.equal(waits.at(-1)?.ms, 60_000)
  const other = tab()
  other.say({ join: 'ann' })
  streams[3].say('hello')
  assert.deepEqual([await one.heard(), await other.heard()], [['open', 'all'], ['lost', 'open', 'all']])
  one.say({ retry: true })
  assert.equal(streams.length, 4)
})

test('without tabs, the stream is not reopened', async () => {
  const { streams, waits, tab } = stage()
  const one = tab()
  one.say({ join: 'ann' })
  streams[0].say('hello')
  await one.heard()
  one.say({ leave: true })
  streams[0].end()
  await one.heard()
  assert.deepEqual(waits.map((w) => w.ms), [30_000])
  one.say({ join: 'ann' })
  assert.deepEqual([await one.heard(), streams.length], [['connecting'], 2])
})

test('a stream belongs to one user: all tabs check the session when one names another user, or when none is logged in', async () => {
  const { streams, tab } = stage()
  const [one, other] = [tab(), tab()]
  one.say({ join: 'ann' })
  streams[0].say('hello')
  streams[0].say('summary', { jobs: 1 })
  assert.deepEqual(await one.heard(), ['connecting', 'open', 'all', 'summary'])
  other.say({ join: 'bob' })
  assert.deepEqual([await one.heard(), await other.heard()], [['session', 'connecting'], ['session', 'connecting', 'connecting']])
  assert.equal(streams[0].signal.aborted, true)
  streams[0].say('changed', job('of-ann'))
  streams[1].say('hello')
  assert.deepEqual(await other.heard(), ['open', 'all'])
  streams[1].end(new ApiError(401, 'unauthorized', ''))
  assert.deepEqual(await other.heard(), ['refused', 'lost'])
})

test('events are read however they are split, and a silent connection is abandoned', async (t) => {
  const bytes = new TextEncoder().encode('event: hello\ndata: {"leader":"作业"}\n\n: alive\n\nevent: changed\ndata: {"jobs":["a"]}\n\nevent: cut')
  t.mock.method(globalThis, 'fetch', async () => new Response(new ReadableStream({
    start(c) {
      for (const b of bytes) c.enqueue(Uint8Array.of(b))
      c.close()
    },
  })))
  const all = []
  for await (const e of events(new AbortController().signal)) all.push(e)
  assert.deepEqual(all, [{ event: 'hello', data: { leader: '作业' } }, { event: '', data: null }, { event: 'changed', data: { jobs: ['a'] } }])

  /** @type {(() => void)[]} */
  const timers = []
  t.mock.method(globalThis, 'setTimeout', (/** @type {() => void} */ f) => timers.push(f))
  t.mock.method(globalThis, 'fetch', (/** @type {string} */ _, /** @type {RequestInit} */ { signal }) => new Promise((__, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason))
  }))
  const silent = events(new AbortController().signal).next()
  await null
  timers[0]()
  await assert.rejects(silent, { name: 'AbortError' })
})
