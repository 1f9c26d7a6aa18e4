// Parts of static/js that require no browser.
import '../lib/nobrowser.js'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { baseOf, localPath, within } from '../../static/js/lib/base.js'
import { curlLine } from '../../static/js/lib/curl.js'
import { ago, duration, moment, momentIn, size } from '../../static/js/lib/format.js'
import { match } from '../../static/js/lib/router.js'
import { matches, session } from '../../static/js/lib/session.js'
import { fill } from '../../static/js/lib/texts.js'
import { zoneFor } from '../../static/js/lib/zone.js'

test('a shell executes a curl line as intended, whatever characters it contains', () => {
  const words = (/** @type {string} */ line) => execFileSync('sh', ['-c', `curl() { for word; do printf '%s\\0' "$word"; done; }; TOKEN=secret; ${line}`], { encoding: 'utf8' }).split('\0').slice(0, -1)
  const body = { name: `it's "$(touch /tmp/x)" \`id\` $HOME \\ ! \n * ~ ; & |`, other: '作业\u202E' }
  const request = { method: 'POST', path: '/api/job/it%27s/trigger?a=b&c=$d', headers: { 'Idempotency-Key': "a'b" }, body }
  const sent = words(curlLine(request, 'http://h:1'))
  assert.deepEqual(sent, ['-X', 'POST', '-H', "Idempotency-Key: a'b", '-H', 'Content-Type: application/json', '-d', JSON.stringify(body), 'http://h:1/api/job/it%27s/trigger?a=b&c=$d'])
  assert.deepEqual(words(curlLine({ method: 'GET', path: '/api/jobs' }, 'http://h:1')), ['http://h:1/api/jobs'])
  session.set({ name: 'ann', kind: 'user', role: 'admin' })
  assert.deepEqual(words(curlLine({ method: 'GET', path: '/api/jobs' }, 'http://h:1')), ['-H', 'Authorization: Bearer secret', 'http://h:1/api/jobs'])
  session.set(null)
})

test('match finds the route of a path, and its parameters', () => {
  const load = async () => ({ default: () => null })
  const routes = ['/', '/jobs', '/jobs/new', '/jobs/:job', '/jobs/:job/edit'].map((pattern) => ({ pattern, load, section: '' }))
  for (const [path, pattern, params] of /** @type {[string, string | undefined, object?][]} */ ([
    ['/', '/', {}], ['/jobs', '/jobs', {}], ['/jobs/', '/jobs', {}], ['/jobs/new', '/jobs/new', {}], ['/jobs/a%2Fb', '/jobs/:job', { job: 'a/b' }],
    ['/jobs/a/edit', '/jobs/:job/edit', { job: 'a' }], ['/jobs/%', undefined], ['/none', undefined], ['/jobs/a/b/c', undefined],
  ])) {
    const found = match(routes, path)
    assert.equal(found?.route.pattern, pattern, path)
    if (params) assert.deepEqual(found?.params, params, path)
  }
})

test("patterns of apps are Go's", () => {
  for (const [pattern, name, fits] of /** @type {[string, string, boolean][]} */ ([
    ['*', 'a', true], ['mine-*', 'mine-a', true], ['mine-*', 'mine', false], ['mine-*', 'amine-a', false], ['a?c', 'abc', true], ['a?c', 'ac', false], ['a.c', 'abc', false],
    ['[a-c]x', 'bx', true], ['[a-c]x', 'dx', false], ['[^a-c]x', 'dx', true], ['[^a-c]x', 'ax', false], ['a\\*', 'a*', true], ['a\\*', 'ab', false], ['a+b', 'a+b', true], ['a+b', 'aab', false],
  ])) assert.equal(matches(pattern, name), fits, `${pattern} ${name}`)
})

test('texts are filled with values, and numbers with their noun', () => {
  assert.equal(fill('{name} leads', { name: '{other} $& <b>' }), '{other} $& <b> leads')
  assert.equal(fill('{n|shard|shards}', { n: 1 }), '1 shard')
  assert.equal(fill('{n|shard|shards}', { n: 1234 }), '1,234 shards')
  assert.equal(fill('{missing}', {}), '{missing}')
})

test('the times of a job without a time zone are in the server’s', () => {
  for (const [choice, job, server, zone] of /** @type {[Parameters<typeof zoneFor>[0], string | undefined, string, string][]} */ ([
    ['mine', 'Asia/Tokyo', 'Asia/Shanghai', ''], ['utc', 'Asia/Tokyo', 'Asia/Shanghai', 'UTC'], ['job', 'Asia/Tokyo', 'Asia/Shanghai', 'Asia/Tokyo'],
    ['job', '', 'Asia/Shanghai', 'Asia/Shanghai'], ['job', undefined, 'Asia/Shanghai', 'Asia/Shanghai'], ['job', '', '', 'UTC'],
  ])) assert.equal(zoneFor(choice, job, server), zone, `${choice} ${job} ${server}`)
})

test('a time that is typed in a zone is shown unchanged in that zone', () => {
  for (const [typed, zone, at] of /** @type {[string, string, string][]} */ ([
    ['2026-05-01T03:00', 'UTC', '2026-05-01T03:00:00Z'], ['2026-05-01T03:00:07', 'Asia/Shanghai', '2026-04-30T19:00:07Z'],
    ['2026-03-29T01:59:59', 'Europe/Berlin', '2026-03-29T00:59:59Z'], ['2026-03-29T03:00:00', 'Europe/Berlin', '2026-03-29T01:00:00Z'],
    ['2026-10-25T03:00:00', 'Europe/Berlin', '2026-10-25T02:00:00Z'], ['2026-03-08T03:00:00', 'America/New_York', '2026-03-08T07:00:00Z'],
    ['', 'UTC', ''], ['soon', 'Asia/Shanghai', ''],
  ])) assert.equal(momentIn(typed, zone), at, `${typed} ${zone}`)
})

test('durations, sizes and times are formatted for people', () => {
  for (const [ms, text] of /** @type {[number | null, string][]} */ ([
    [null, '–'], [0, '0 ms'], [420, '420 ms'], [999, '999 ms'], [1000, '1 s'], [3240, '3.2 s'], [59_949, '59.9 s'], [59_950, '1 min'], [250_000, '4 min 10 s'], [3_600_000, '1 h'], [11_100_000, '3 h 5 min'], [187_200_000, '2 d 4 h'],
  ])) assert.equal(duration(ms), text)
  for (const [bytes, text] of /** @type {[number, string][]} */ ([[0, '0 B'], [1023, '1,023 B'], [1536, '1.5 KiB'], [1 << 30, '1 GiB']])) assert.equal(size(bytes), text)
  const now = Date.parse('2026-05-01T12:00:00Z')
  for (const [at, text] of /** @type {[string, string][]} */ ([['2026-05-01T12:00:00.400Z', 'now'], ['2026-05-01T11:57:01Z', '2 min ago'], ['2026-05-01T12:00:20Z', 'in 20 s'], ['2026-05-01T09:30:00Z', '2 h ago']])) assert.equal(ago(Date.parse(at), now), text)
  assert.equal(moment('2026-05-01T01:00:00Z', 'Europe/Berlin'), '2026-05-01 03:00:00')
  assert.equal(moment('2026-05-01T22:00:00.042Z', 'Asia/Shanghai', { millis: true }), '2026-05-02 06:00:00.042')
  assert.equal(moment('never', 'UTC'), '–')
  assert.equal(moment('2026-05-01T00:00:00Z', 'Mars/Olympus'), '2026-05-01 00:00:00')
})

test('paths behind a proxy that serves the console below a path', () => {
  assert.equal(baseOf('https://h/static/0123/js/lib/base.js'), '')
  assert.equal(baseOf('https://h/jobs/static/0123/js/lib/base.js'), '/jobs')
  assert.equal(baseOf('https://h/a/b%20c/static/0123/js/lib/base.js'), '/a/b%20c')
  assert.equal(baseOf('file:///home/web/static/js/lib/base.js'), '')
  assert.equal(localPath('/jobs/job/x', ''), '/jobs/job/x')
  assert.equal(localPath('/', ''), '/')
  assert.equal(localPath('/jobs/', '/jobs'), '/')
  assert.equal(localPath('/jobs', '/jobs'), '/')
  assert.equal(localPath('/jobs/jobs/job/x', '/jobs'), '/jobs/job/x')
  assert.equal(localPath('/jobsite/x', '/jobs'), null)
  assert.equal(within('/api/x'), '/api/x')
  assert.equal(within('https://h/x'), 'https://h/x')
})
