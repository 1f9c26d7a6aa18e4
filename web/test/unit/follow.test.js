// Following output, request by request.
import '../lib/nobrowser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as settled } from 'node:timers/promises'
import { follow } from '../../static/js/lib/follow.js'

const limit = 4 * (64 << 10)

/**
 * @param {import('node:test').TestContext} t
 * @param {number} at the offset at which following begins
 * @param {{text?: string, live?: boolean, status?: number, dropped?: number}} has the output and the answers of the server
 */
function stage(t, at, has) {
  const document = Object.assign(new EventTarget(), { hidden: false })
  Object.defineProperty(globalThis, 'document', { value: document, configurable: true })
  /** @type {{offset: number, limit: number}[]} the requests since the last call of seen */
  let asked = []
  /** @type {number[]} */
  let waits = []
  let next = () => {}
  const file = { text: '', live: /** @type {boolean | undefined} */ (true), status: 200, dropped: 0, ...has }
  t.mock.method(globalThis, 'setTimeout', (/** @type {() => void} */ f, /** @type {number} */ ms) => {
    waits.push(ms)
    next = f
  })
  t.mock.method(globalThis, 'fetch', async (/** @type {string} */ path) => {
    const query = new URL(path, 'http://h').searchParams
    const [offset, most] = [Number(query.get('offset')), Number(query.get('limit'))]
    asked.push({ offset, limit: most })
    if (file.status !== 200) return new Response('{"error":{"code":"no","message":"no"}}', { status: file.status })
    const from = Math.max(offset, file.dropped)
    const headers = { 'Elasticjob-Log-Size': String(file.text.length), 'Elasticjob-Log-Offset': String(from), ...(file.live === undefined ? {} : { 'Elasticjob-Log-Live': String(file.live) }) }
    return new Response(file.text.slice(from, offset + most), { headers })
  })
  /** @type {string[]} */
  let heard = []
  const stop = follow('task', 'stdout', {
    at: () => at,
    take: (bytes) => {
      at += bytes.length
      heard.push(new TextDecoder().decode(bytes).slice(0, 10))
    },
    restart: (to) => {
      at = to
      heard.push(`from ${to}`)
    },
    become: (state) => heard.push(state),
  })
  return {
    document, file, stop,
    /** The requests, calls and delays since the last call of seen. */
    async seen() {
      await settled()
      await settled()
      const seen = [asked.map((a) => a.offset), heard, waits]
      assert.ok(asked.every((a) => a.limit === limit))
      asked = []
      heard = []
      waits = []
      return seen
    },
    next: () => next(),
  }
}

test('output is requested by its offset, at once if there is more, until the task has ended', async (t) => {
  const { file, next, seen } = stage(t, 3, { text: 'abcdef' })
  assert.deepEqual(await seen(), [[3], ['def', 'open'], [1000]])
  next()
  assert.deepEqual(await seen(), [[6], [], [1000]])
  file.text += 'x'.repeat(limit + 1)
  file.live = false
  next()
  assert.deepEqual(await seen(), [[6], ['xxxxxxxxxx'], [0]])
  next()
  assert.deepEqual(await seen(), [[6 + limit], ['x', 'ended'], []])
})

test('a file that has begun again is read from its beginning', async (t) => {
  const { next, seen } = stage(t, 100, { text: 'new', live: undefined }) // an older leader does not say whether the task lives
  assert.deepEqual(await seen(), [[100], ['from 0', 'open'], [0]])
  next()
  assert.deepEqual(await seen(), [[0], ['new'], [1000]])
})

test('output that was dropped before it was read is left out', async (t) => {
  const { seen } = stage(t, 3, { text: 'abcdefghij', dropped: 5 })
  assert.deepEqual(await seen(), [[3], ['from 5', 'fghij', 'open'], [1000]])
})

test('nothing is requested while the page is hidden, and at once when it becomes visible', async (t) => {
  const { document, next, seen, stop } = stage(t, 0, {})
  await seen()
  document.hidden = true
  document.dispatchEvent(new Event('visibilitychange'))
  next()
  assert.deepEqual(await seen(), [[], [], []])
  document.hidden = false
  document.dispatchEvent(new Event('visibilitychange'))
  document.dispatchEvent(new Event('visibilitychange'))
  assert.deepEqual(await seen(), [[0], [], [1000]])
  stop()
  document.dispatchEvent(new Event('visibilitychange'))
  assert.deepEqual(await seen(), [[], [], []])
})

test('following continues at its offset after a failure and after a login, but not when the output is gone', async (t) => {
  const { file, next, seen } = stage(t, 0, { text: 'a', status: 503 })
  for (const status of [401, 200]) {
    const [asked, heard, [wait]] = await seen()
    assert.deepEqual([asked, heard], [[0], ['lost']])
    assert.ok(Number(wait) > 300, `it waits ${wait} ms`)
    file.status = status
    next()
  }
  assert.deepEqual(await seen(), [[0], ['a', 'open'], [1000]])
  file.status = 410
  next()
  assert.deepEqual(await seen(), [[1], ['gone'], []])
})
