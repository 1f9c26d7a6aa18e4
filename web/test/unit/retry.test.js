// Retries and their delays.
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { ApiError } from '../../static/js/lib/api.js'
import { delayOf, mayPass, patiently, pause } from '../../static/js/lib/retry.js'

const failure = (/** @type {number} */ status, retryAfter = 0) => new ApiError(status, 'code', 'message', [], retryAfter)

test('only a missing answer, too many requests and a failing server may pass', () => {
  assert.deepEqual([0, 400, 401, 403, 404, 409, 422, 429, 500, 503].filter((status) => mayPass(failure(status))), [0, 429, 500, 503])
  for (const error of [null, undefined, new TypeError('a mistake of ours')]) assert.equal(mayPass(error), false)
})

test('the delay grows with each try up to a limit, and follows Retry-After', () => {
  for (const [tries, most] of [[1, 625], [2, 1250], [5, 10_000], [1000, 10_000]]) {
    const wait = delayOf(tries)
    assert.ok(wait <= most && wait >= 0.6 * most, `${wait} after ${tries}`)
  }
  assert.equal(delayOf(1, failure(429, 60)), 60_000)
})

test('patiently tries again until there is an answer, and reports each failed try', async () => {
  /** @type {number[]} */
  const failed = []
  let asked = 0
  const ask = async () => (asked++ === 0 ? Promise.reject(failure(503)) : 'answer')
  assert.equal(await patiently(ask, new AbortController().signal, (e) => failed.push(e.status)), 'answer')
  assert.deepEqual([asked, failed], [2, [503]])
})

test('patiently ends at an error that does not pass, and when it is aborted', async () => {
  await assert.rejects(patiently(() => Promise.reject(failure(404)), new AbortController().signal), { status: 404 })
  const abort = new AbortController()
  await assert.rejects(patiently(() => Promise.reject(failure(0)), abort.signal, () => queueMicrotask(() => abort.abort())), { name: 'AbortError' })
})

test('a finished pause leaves no listener on its signal, which may live as long as the page', async () => {
  const { signal } = new AbortController()
  await pause(0, signal)
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})
