import test from 'node:test'
import assert from 'node:assert/strict'
import { changeOf, getField, rebased, withField } from '../../static/js/lib/document.js'
import { parseObject } from '../../static/js/lib/json.js'
import { sendMany } from '../../static/js/lib/many.js'

test('an update contains the name, the fields that differ, and null for removed fields', () => {
  const stored = { jobName: 'a', cron: '0 0 3 * * ?', timeZone: 'UTC', env: { A: '1' }, misfire: false }
  assert.deepEqual(changeOf(stored, { jobName: 'a', cron: '0 0 4 * * ?', env: { A: '1' }, misfire: false, maxRetries: 3 }, 'jobName'), { jobName: 'a', cron: '0 0 4 * * ?', maxRetries: 3, timeZone: null })
  assert.deepEqual(changeOf(stored, stored, 'jobName'), { jobName: 'a' })
})

test('a change that another user made meanwhile is kept, unless the form changes the same field', () => {
  const base = { cron: 'a', misfire: false, jobParameter: 'p', timeZone: 'UTC' }
  const theirs = { cron: 'b', misfire: true, jobParameter: 'p', timeZone: 'UTC' }
  const mine = { cron: 'c', misfire: false, jobParameter: 'q' }
  assert.deepEqual(rebased(base, theirs, mine), { doc: { cron: 'c', misfire: true, jobParameter: 'q' }, both: ['cron'] })
  assert.deepEqual(rebased(base, theirs, { ...base, cron: 'b' }).both, [], 'the same change twice is none')
})

test('fields of maps have the map before the first dot', () => {
  const doc = { props: { 'email.host': 'h', own: 'x' } }
  assert.equal(getField(doc, 'props.email.host'), 'h')
  assert.deepEqual(withField(doc, 'props.email.host', undefined), { props: { own: 'x' } })
  assert.deepEqual(withField({ props: { a: '1' } }, 'props.a', undefined), {}, 'a map without entries is left out')
  assert.deepEqual(withField({}, 'env.A', '1'), { env: { A: '1' } })
  assert.deepEqual([465, false, { value: 'x', secret: true }].map((value) => withField({}, 'props.p', value)), [{ props: { p: '465' } }, { props: { p: 'false' } }, { props: { p: { value: 'x', secret: true } } }], 'the server takes texts there')
  assert.deepEqual(withField({ cron: 'x', a: 1 }, 'cron', undefined), { a: 1 })
})

test('errors in JSON have a line and a column', () => {
  /** @type {[text: string, what: string, line: number, column: number][]} */
  const wrong = [
    ['', 'end', 1, 1],
    ['{"a": 1', 'end', 1, 8],
    ['[]', 'object', 1, 1],
    ['{} x', 'object', 1, 4],
    ['{\n  "a": abc\n}', 'value', 2, 8],
    ['{\n  "a": 1,\n}', 'name', 3, 1],
    ['{\n  a: 1\n}', 'name', 2, 3],
    ['{"a" 1}', 'colon', 1, 6],
    ['{"a": 1 "b": 2}', 'comma', 1, 9],
    ['{"a": 01}', 'comma', 1, 8],
    ['{"a": "x\ny"}', 'string', 1, 7],
    ['{"😀": tru}', 'value', 1, 7],
    ['{"a": 1,\n "a": 2}', 'twice', 2, 2],
    ['{"a": [1,]}', 'value', 1, 10],
  ]
  for (const [text, what, line, column] of wrong) {
    const { problem } = parseObject(text)
    assert.deepEqual({ what: problem?.what, line: problem?.line, column: problem?.column }, { what, line, column }, JSON.stringify(text))
    if (what !== 'twice' && what !== 'object') assert.throws(() => JSON.parse(text))
  }
  const good = '{"a": [1, -2.5e3, true, null, {"b": "\\u00e4\\n"}], "": {}, "c": []}'
  assert.deepEqual(parseObject(good).value, JSON.parse(good))
})

test('at most four of many requests run at once, and each reports its result', async () => {
  let now = 0
  let most = 0
  /** @type {number[]} */
  const told = []
  const requests = Array.from({ length: 20 }, (_, i) => ({ method: 'POST', path: `/${i}` }))
  const outcomes = await sendMany(requests, (n) => told.push(n), {
    send: async ({ path }) => {
      most = Math.max(most, ++now)
      await new Promise((done) => setImmediate(done))
      now--
      if (path === '/7') throw new Error('no')
    },
  })
  assert.equal(most, 4)
  assert.deepEqual(told, requests.map((_, i) => i + 1))
  assert.deepEqual(outcomes.filter((o) => o.error).map((o) => o.request.path), ['/7'])
})

test('after a 401 nothing more is sent', async () => {
  let sent = 0
  const outcomes = await sendMany(Array.from({ length: 50 }, () => ({ method: 'POST', path: '/' })), () => {}, {
    send: async () => {
      sent++
      throw Object.assign(new Error('log in'), { status: 401 })
    },
  })
  assert.equal(sent, 4)
  assert.ok(outcomes.length === 50 && outcomes.every((o) => o.error))
})
